// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"k8s.io/klog/v2"
)

// ledger is the deterministic core of the cache's coherency: it turns changes of forwarding state into generations and
// epochs of slots. All entries of the cache refer to slots, so one store evicts any number of flows.
//
// The rule (docs/design/oncache.md, "Coherency"): a change and the next epoch of every endpoint that it affects go to Open
// vSwitch in one atomic bundle. After the barrier, generation and epoch are published in one store.
type ledger struct {
	mu  sync.Mutex // held from Begin to its end: changes are serialized
	dp  slots
	now func() time.Time

	endpoints map[string]*endpoint // by interface name
	nodes     map[string][]*node   // by Node name; one for each transport address in use
	// plain are the Nodes' Pod networks that are reached without the tunnel, to which there are no hits.
	plain map[string][]coherency.Node
	// direct: Nodes that are reached directly are announced as well. directMarks: Open vSwitch marks packets to and from them, see
	// markDirect.
	direct, directMarks bool
	// directNetworks are told to others.
	directNetworks *directNetworks
	slotPods       [datapath.MaxEndpoints]*endpoint
	slotNodes      [datapath.MaxNodes]*node
	// nodeSerial is the serial of the Node announced last.
	nodeSerial uint64

	// needMarks are the endpoints whose mark flows must be written again before they may learn.
	needMarks map[string]bool
	// leftMarks are the interfaces without endpoint that may have mark flows. Those flows choose a queue for packets to the interface,
	// where the queue is no longer removed: a queueing discipline would mistake it for one of its classes.
	leftMarks map[string]bool
	// wake tells the worker that needMarks or leftMarks has grown. It must not block.
	wake func()

	// doubted are the endpoints of changes refused since the switch last accepted everything. It may have made such a change, and then
	// sending everything undoes it.
	doubted map[*endpoint]bool

	// former are the epochs of removed endpoints by Pod address. A Pod that gets the address soon after must not use epochs
	// that megaflows of the earlier Pod may still carry.
	former     map[netip.Addr]*epochs
	firstEpoch uint32

	evictions api.Evictions
	// rewrites reports whether a Node may be told keys.
	rewrites func(name string) bool
	// openings: Open vSwitch marks packets of Pods that open connections.
	openings bool
	// failures are shared with the Manager. delays records how long Pods could not learn.
	failures *failures
	delays   prometheus.Histogram
}

type endpoint struct {
	pod        Pod
	kind       string // of its interface: veth or netkit
	ifIndex    int
	slot       int
	generation uint32
	epoch      uint32 // the published one
	epochs     *epochs
	// change is the number of the last change that concerned the Pod, which its packets have in their stamps.
	change uint32
	// pausedAt is the time since which the Pod has learned nothing; zero while it learns.
	pausedAt time.Time
	// serial changes whenever the mark flows change. Marks written for another serial prove nothing.
	serial uint64
}

// newLedger makes a ledger without Pods and Nodes. former are the last epochs of Pods that an earlier agent knew: megaflows
// may still carry them. Other Pods begin after epoch first (0..511), which should be random for the same reason.
func newLedger(dp slots, now func() time.Time, wake func(), former map[netip.Addr]uint32, first uint32) *ledger {
	t := &ledger{
		dp: dp, now: now, wake: wake, firstEpoch: first,
		endpoints:      map[string]*endpoint{},
		nodes:          map[string][]*node{},
		plain:          map[string][]coherency.Node{},
		needMarks:      map[string]bool{},
		leftMarks:      map[string]bool{},
		doubted:        map[*endpoint]bool{},
		former:         map[netip.Addr]*epochs{},
		rewrites:       func(string) bool { return false },
		directNetworks: &directNetworks{},
		failures:       &failures{},
		delays:         newDelays(),
	}
	for ip, last := range former {
		e := &epochs{last: last}
		e.retire(now())
		t.former[ip] = e
	}
	return t
}

var _ coherency.Interceptor = (*ledger)(nil)

// Begin implements coherency.Interceptor.
func (l *ledger) Begin(c coherency.Change) ([]coherency.Mark, func(error)) {
	l.mu.Lock()
	begun := false
	defer func() {
		if !begun { // a panic
			l.mu.Unlock()
		}
	}()
	removed := l.named(c.RemovedInterfaces)
	changed := l.named(c.Interfaces)
	// A stale megaflow may still send to the Node's old address, or to a Pod whose address has become a Service's. Only a new epoch of
	// every endpoint keeps the cache from learning that.
	if c.All || l.changesNodes(c) || l.redirects(c) {
		changed = slices.Collect(maps.Values(l.endpoints))
	}
	changed = except(changed, removed)
	affected := changed
	if c.Replay {
		changed = append(changed, except(except(slices.Collect(maps.Keys(l.doubted)), changed), removed)...)
		affected = except(slices.Collect(maps.Values(l.endpoints)), removed)
	}
	sortBySlot(changed)
	sortBySlot(affected)
	marks := make([]coherency.Mark, len(affected))
	for i, e := range affected {
		marks[i] = l.nextMark(e)
	}
	begun = true
	return marks, func(err error) {
		defer l.mu.Unlock()
		if err != nil {
			l.refused(append(changed, removed...), affected)
			return
		}
		if c.Replay {
			clear(l.doubted)
		}
		for i, e := range affected {
			l.publish(e, uint32(marks[i].Epoch))
			if marks[i].Epoch == 0 {
				l.remark(e)
			}
		}
		l.stamp(affected...)
		for _, e := range removed {
			l.remove(e)
		}
		l.applyNodes(c)
		l.applyServices(c)
		if c.All || c.Replay {
			l.evictions.All++
			l.dp.BumpAll()
		}
	}
}

// applyServices tells the programs which addresses lead to Pods. Connections to other addresses stay on Open vSwitch.
func (l *ledger) applyServices(c coherency.Change) {
	for address, toPods := range c.Services {
		apply := l.dp.RemoveServiceAddress
		if toPods {
			apply = l.dp.AddServiceAddress
		}
		if err := apply(address); err != nil {
			l.failures.add(operationService)
			klog.ErrorS(err, "Connections to the address of a Service may stay on Open vSwitch", "address", address)
		}
	}
}

// refused evicts after a bundle whose fate is unknown. Neither the old nor the new rules of changed endpoints can be vouched for, so
// nothing is learned until new mark flows have been written. The rules of other marked endpoints are the same: their entries stay, but
// Open vSwitch may write another epoch now. Stamps stay: no caller has been told that the new rules are in force, and while Open
// vSwitch is away, packets with another stamp would match none of the kernel's flows and be lost.
func (l *ledger) refused(changed, marked []*endpoint) {
	for _, e := range changed {
		l.publish(e, 0)
		l.remark(e)
		l.doubted[e] = true
	}
	for _, e := range marked {
		if !slices.Contains(changed, e) {
			l.remark(e)
		}
	}
}

func except(endpoints, others []*endpoint) []*endpoint {
	return slices.DeleteFunc(endpoints, func(e *endpoint) bool { return slices.Contains(others, e) })
}

func sortBySlot(endpoints []*endpoint) {
	slices.SortFunc(endpoints, func(a, b *endpoint) int { return a.slot - b.slot })
}

func (l *ledger) named(interfaces []string) []*endpoint {
	var out []*endpoint
	for _, name := range interfaces {
		if e := l.endpoints[name]; e != nil && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// nextMark moves the endpoint to an epoch that no megaflow can carry, or to 0 while none is free.
func (l *ledger) nextMark(e *endpoint) coherency.Mark {
	e.serial++
	epoch := e.epochs.next(l.now())
	if epoch != 0 {
		l.dp.NoteEpoch(e.slot, uint32(epoch))
	}
	return coherency.Mark{InterfaceName: e.pod.InterfaceName, OFPort: e.pod.OFPort, Epoch: epoch, Openings: l.openings && !e.pod.Gateway,
		Direct: l.directMarks && !e.pod.Gateway}
}

// publish makes an epoch current and voids all entries of the endpoint.
func (l *ledger) publish(e *endpoint, epoch uint32) {
	e.generation++
	l.evictions.Endpoint++
	e.epoch = epoch
	l.dp.PublishEndpoint(e.slot, e.generation, epoch)
	switch {
	case epoch == 0 && e.pausedAt.IsZero():
		e.pausedAt = l.now()
	case epoch != 0 && !e.pausedAt.IsZero():
		l.delays.Observe(l.now().Sub(e.pausedAt).Seconds())
		e.pausedAt = time.Time{}
	}
}

func (l *ledger) remark(e *endpoint) {
	e.serial++
	l.needMarks[e.pod.InterfaceName] = true
	l.wake()
}

// room returns an error when there is no slot for another Pod.
func (l *ledger) room(interfaceName string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endpoints[interfaceName] != nil || slices.Contains(l.slotPods[:], nil) {
		return nil
	}
	return l.noRoom(interfaceName)
}

func (l *ledger) noRoom(interfaceName string) error {
	return fmt.Errorf("interface %s: all %d endpoint slots are taken; the Pod stays on Open vSwitch", interfaceName, len(l.slotPods))
}

// addEndpoint gives a Pod a slot; kind is the kind of its interface. The Pod learns nothing until its mark flows are
// written.
func (l *ledger) addEndpoint(pod Pod, kind string, d datapath.Endpoint) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.endpoints[pod.InterfaceName]; old != nil {
		l.remove(old)
	}
	slot := slices.Index(l.slotPods[:], nil)
	if slot < 0 {
		return l.noRoom(pod.InterfaceName)
	}
	generation, _ := l.dp.EndpointState(slot)
	e := &endpoint{pod: pod, kind: kind, ifIndex: d.IfIndex, slot: slot, generation: generation, epochs: l.epochsFor(pod.IPs)}
	l.publish(e, 0)
	l.stamp(e)
	if err := l.dp.SetEndpoint(slot, d); err != nil {
		return errors.Join(err, l.dp.ClearEndpoint(slot))
	}
	l.dp.NoteEpoch(slot, e.epochs.last)
	l.slotPods[slot], l.endpoints[pod.InterfaceName] = e, e
	delete(l.leftMarks, pod.InterfaceName)
	l.remark(e)
	if pod.Gateway {
		l.markDirect(true)
	}
	return nil
}

// removeEndpoint forgets a Pod, which may stay on Open vSwitch. An unknown Pod is not an error.
func (l *ledger) removeEndpoint(interfaceName string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.endpoints[interfaceName]; e != nil {
		l.remove(e)
		l.leftMarks[interfaceName] = true
		l.wake()
	}
}

func (l *ledger) remove(e *endpoint) {
	l.publish(e, 0)
	if err := l.dp.ClearEndpoint(e.slot); err != nil {
		l.failures.add(operationPod)
		klog.ErrorS(err, "Could not withdraw the interface from ONCache; its generation has ended, so no packet is accelerated by what is left", "interface", e.pod.InterfaceName)
	}
	e.epochs.retire(l.now())
	for _, ip := range e.pod.IPs {
		l.former[ip] = e.epochs
	}
	l.slotPods[e.slot] = nil
	delete(l.endpoints, e.pod.InterfaceName)
	delete(l.needMarks, e.pod.InterfaceName)
	delete(l.doubted, e)
	if e.pod.Gateway {
		l.markDirect(false)
	}
}

// epochsFor continues the epochs of the Pod that had one of the addresses before, if that was recently.
func (l *ledger) epochsFor(ips []netip.Addr) *epochs {
	maps.DeleteFunc(l.former, func(_ netip.Addr, e *epochs) bool { return e.over(l.now()) })
	for _, ip := range ips {
		if e := l.former[ip]; e != nil {
			return e
		}
	}
	return &epochs{last: l.firstEpoch}
}

// podCount is the number of endpoints that are Pods. The caller holds mu.
func (l *ledger) podCount() (n int) {
	for _, e := range l.endpoints {
		if !e.pod.Gateway {
			n++
		}
	}
	return n
}
