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

// table is the deterministic core of the cache's coherency: it turns changes of forwarding state into generations and
// epochs of slots. All entries of the cache refer to slots, so one store evicts any number of flows.
//
// The rule (docs/design/oncache.md, "Coherency"): a change and the next epoch of every endpoint that it affects go to Open
// vSwitch in one atomic bundle. After the barrier, generation and epoch are published in one store.
type table struct {
	mu  sync.Mutex // held from Begin to its end: changes are serialized
	dp  slots
	now func() time.Time

	endpoints map[string]*endpoint // by interface name
	nodes     map[string][]*node   // by Node name; one for each transport address in use
	slotPods  [datapath.MaxEndpoints]*endpoint
	slotNodes [datapath.MaxNodes]*node
	// nodeSerial is the serial of the Node announced last.
	nodeSerial uint64

	// needMarks are the endpoints whose mark flows must be written again before they may learn.
	needMarks map[string]bool
	// leftMarks are the interfaces without endpoint that may have mark flows. Those flows choose a queue for packets to the interface, where
	// nobody removes it any more: a queueing discipline would take it for one of its classes.
	leftMarks map[string]bool
	// wake tells the worker that needMarks or leftMarks has grown. It must not block.
	wake func()

	// doubted are the endpoints that were concerned by refused changes since the switch last accepted everything. It may have made such a change,
	// and then sending everything undoes it.
	doubted map[*endpoint]bool

	// former are the epochs of removed endpoints by Pod address. A Pod that gets the address soon after must not use epochs
	// that megaflows of the earlier Pod may still carry.
	former     map[netip.Addr]*epochs
	firstEpoch uint32

	evictions api.Evictions
	// rewrites tells whether a Node may be told keys.
	rewrites func(name string) bool
	// failures are shared with the Manager. delays has how long Pods could not learn.
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
	// pausedAt is when the Pod has begun to learn nothing; zero while it learns.
	pausedAt time.Time
	// serial changes whenever the mark flows change. Marks written for another serial prove nothing.
	serial uint64
}

// newTable makes a table without Pods and Nodes. former are the last epochs of Pods that an earlier agent knew: megaflows
// may still carry them. Other Pods begin after epoch first (0..511), which should be random for the same reason.
func newTable(dp slots, now func() time.Time, wake func(), former map[netip.Addr]uint32, first uint32) *table {
	t := &table{
		dp: dp, now: now, wake: wake, firstEpoch: first,
		endpoints: map[string]*endpoint{},
		nodes:     map[string][]*node{},
		needMarks: map[string]bool{},
		leftMarks: map[string]bool{},
		doubted:   map[*endpoint]bool{},
		former:    map[netip.Addr]*epochs{},
		rewrites:  func(string) bool { return false },
		failures:  &failures{},
		delays:    newDelays(),
	}
	for ip, last := range former {
		e := &epochs{last: last}
		e.retire(now())
		t.former[ip] = e
	}
	return t
}

var _ coherency.Interceptor = (*table)(nil)

// Begin implements coherency.Interceptor.
func (t *table) Begin(c coherency.Change) ([]coherency.Mark, func(error)) {
	t.mu.Lock()
	begun := false
	defer func() {
		if !begun { // a panic
			t.mu.Unlock()
		}
	}()
	removed := t.named(c.RemovedInterfaces)
	changed := t.named(c.Interfaces)
	// A stale megaflow may still send to the Node's old address. Only a new epoch of every endpoint keeps the cache
	// from learning that.
	if c.All || t.changesNodes(c) {
		changed = slices.Collect(maps.Values(t.endpoints))
	}
	changed = except(changed, removed)
	affected := changed
	if c.Replay {
		changed = append(changed, except(except(slices.Collect(maps.Keys(t.doubted)), changed), removed)...)
		affected = except(slices.Collect(maps.Values(t.endpoints)), removed)
	}
	sortBySlot(changed)
	sortBySlot(affected)
	marks := make([]coherency.Mark, len(affected))
	for i, e := range affected {
		marks[i] = t.nextMark(e)
	}
	begun = true
	return marks, func(err error) {
		defer t.mu.Unlock()
		if err != nil {
			t.refused(append(changed, removed...), affected)
			return
		}
		if c.Replay {
			clear(t.doubted)
		}
		for i, e := range affected {
			t.publish(e, uint32(marks[i].Epoch))
			if marks[i].Epoch == 0 {
				t.remark(e)
			}
		}
		t.stamp(affected...)
		for _, e := range removed {
			t.remove(e)
		}
		t.applyNodes(c)
		t.applyServices(c)
		if c.All || c.Replay {
			t.evictions.All++
			t.dp.BumpAll()
		}
	}
}

// applyServices tells the programs which addresses lead to Pods. Without, connections to them stay on Open vSwitch.
func (t *table) applyServices(c coherency.Change) {
	for address, toPods := range c.Services {
		apply := t.dp.RemoveServiceAddress
		if toPods {
			apply = t.dp.AddServiceAddress
		}
		if err := apply(address); err != nil {
			t.failures.add(operationService)
			klog.ErrorS(err, "Connections to the address of a Service may stay on Open vSwitch", "address", address)
		}
	}
}

// refused evicts after a bundle whose fate is unknown. Neither the old nor the new rules of those that have changed can be vouched for, so
// nothing is learned until new mark flows have been written. The rules of the others that were marked are the same: their entries stay, but
// Open vSwitch may write another epoch now. Stamps stay: nobody has been told that the new rules are in force, and while Open vSwitch is
// away, packets with another stamp would match none of the kernel's flows and be lost.
func (t *table) refused(changed, marked []*endpoint) {
	for _, e := range changed {
		t.publish(e, 0)
		t.remark(e)
		t.doubted[e] = true
	}
	for _, e := range marked {
		if !slices.Contains(changed, e) {
			t.remark(e)
		}
	}
}

// except returns endpoints without others.
func except(endpoints, others []*endpoint) []*endpoint {
	return slices.DeleteFunc(endpoints, func(e *endpoint) bool { return slices.Contains(others, e) })
}

func sortBySlot(endpoints []*endpoint) {
	slices.SortFunc(endpoints, func(a, b *endpoint) int { return a.slot - b.slot })
}

func (t *table) named(interfaces []string) []*endpoint {
	var out []*endpoint
	for _, name := range interfaces {
		if e := t.endpoints[name]; e != nil && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// nextMark moves the endpoint to an epoch that no megaflow can carry, or to 0 while none is free.
func (t *table) nextMark(e *endpoint) coherency.Mark {
	e.serial++
	epoch := e.epochs.next(t.now())
	if epoch != 0 {
		t.dp.NoteEpoch(e.slot, uint32(epoch))
	}
	return coherency.Mark{InterfaceName: e.pod.InterfaceName, OFPort: e.pod.OFPort, Epoch: epoch}
}

// publish makes an epoch current and voids all entries of the endpoint.
func (t *table) publish(e *endpoint, epoch uint32) {
	e.generation++
	t.evictions.Endpoint++
	e.epoch = epoch
	t.dp.PublishEndpoint(e.slot, e.generation, epoch)
	switch {
	case epoch == 0 && e.pausedAt.IsZero():
		e.pausedAt = t.now()
	case epoch != 0 && !e.pausedAt.IsZero():
		t.delays.Observe(t.now().Sub(e.pausedAt).Seconds())
		e.pausedAt = time.Time{}
	}
}

// stamp records that one change, which is on the switch, affects the endpoints.
func (t *table) stamp(endpoints ...*endpoint) {
	if len(endpoints) == 0 {
		return
	}
	change := t.nextChange()
	for _, e := range endpoints {
		e.change = change
		t.dp.StampEndpoint(e.slot, change)
	}
}

// nextChange returns the number of a change. Numbers wrap around, and a Pod that no change concerns keeps its own for any time: its megaflows, and
// those between it and other Pods, are in use. So its number is left out. With as many Pods as numbers none may be left; then the last one has to do.
func (t *table) nextChange() (change uint32) {
	var used [datapath.StampValues]bool
	for _, e := range t.endpoints {
		used[e.change%datapath.StampValues] = true
	}
	for range datapath.StampValues {
		if change = t.dp.NextChange(); !used[change%datapath.StampValues] {
			break
		}
	}
	return change
}

// renewStamps gives all endpoints another stamp, for changes that the table was not told of because it did not intercept them yet.
func (t *table) renewStamps() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stamp(slices.Collect(maps.Values(t.endpoints))...)
}

func (t *table) remark(e *endpoint) {
	e.serial++
	t.needMarks[e.pod.InterfaceName] = true
	t.wake()
}

// room returns an error when there is no slot for another Pod.
func (t *table) room(interfaceName string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.endpoints[interfaceName] != nil || slices.Contains(t.slotPods[:], nil) {
		return nil
	}
	return t.noRoom(interfaceName)
}

func (t *table) noRoom(interfaceName string) error {
	return fmt.Errorf("interface %s: all %d endpoint slots are taken; the Pod stays on Open vSwitch", interfaceName, len(t.slotPods))
}

// addEndpoint gives a Pod a slot; kind is the kind of its interface. The Pod learns nothing until its mark flows are
// written.
func (t *table) addEndpoint(pod Pod, kind string, d datapath.Endpoint) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.endpoints[pod.InterfaceName]; old != nil {
		t.remove(old)
	}
	slot := slices.Index(t.slotPods[:], nil)
	if slot < 0 {
		return t.noRoom(pod.InterfaceName)
	}
	generation, _ := t.dp.EndpointState(slot)
	e := &endpoint{pod: pod, kind: kind, ifIndex: d.IfIndex, slot: slot, generation: generation, epochs: t.epochsFor(pod.IPs)}
	t.publish(e, 0)
	t.stamp(e)
	if err := t.dp.SetEndpoint(slot, d); err != nil {
		return errors.Join(err, t.dp.ClearEndpoint(slot))
	}
	t.dp.NoteEpoch(slot, e.epochs.last)
	t.slotPods[slot], t.endpoints[pod.InterfaceName] = e, e
	delete(t.leftMarks, pod.InterfaceName)
	t.remark(e)
	return nil
}

// removeEndpoint forgets a Pod, which may stay on Open vSwitch. An unknown Pod is not an error.
func (t *table) removeEndpoint(interfaceName string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.endpoints[interfaceName]; e != nil {
		t.remove(e)
		t.leftMarks[interfaceName] = true
		t.wake()
	}
}

func (t *table) remove(e *endpoint) {
	t.publish(e, 0)
	if err := t.dp.ClearEndpoint(e.slot); err != nil {
		t.failures.add(operationPod)
		klog.ErrorS(err, "Could not withdraw the interface from ONCache; its generation is over, so no packet is accelerated by what is left", "interface", e.pod.InterfaceName)
	}
	e.epochs.retire(t.now())
	for _, ip := range e.pod.IPs {
		t.former[ip] = e.epochs
	}
	t.slotPods[e.slot] = nil
	delete(t.endpoints, e.pod.InterfaceName)
	delete(t.needMarks, e.pod.InterfaceName)
	delete(t.doubted, e)
}

// epochsFor continues the epochs of the Pod that had one of the addresses before, if that was recently.
func (t *table) epochsFor(ips []netip.Addr) *epochs {
	maps.DeleteFunc(t.former, func(_ netip.Addr, e *epochs) bool { return e.over(t.now()) })
	for _, ip := range ips {
		if e := t.former[ip]; e != nil {
			return e
		}
	}
	return &epochs{last: t.firstEpoch}
}

// pendingMarks returns new marks for every endpoint that needs them, with the serials that they belong to.
func (t *table) pendingMarks() (marks []coherency.Mark, serials map[string]uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	serials = map[string]uint64{}
	for _, name := range slices.Sorted(maps.Keys(t.needMarks)) {
		e := t.endpoints[name]
		if m := t.nextMark(e); m.Epoch != 0 {
			marks = append(marks, m)
			serials[name] = e.serial
		}
	}
	return marks, serials
}

// marksWritten lets endpoints learn if their marks are on the switch and no other change has overtaken them. Of interfaces that were
// removed meanwhile, the mark flows came too late.
func (t *table) marksWritten(marks []coherency.Mark, serials map[string]uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var written []*endpoint
	for _, m := range marks {
		e := t.endpoints[m.InterfaceName]
		if e == nil {
			t.leftMarks[m.InterfaceName] = true
			continue
		}
		if e.serial != serials[m.InterfaceName] {
			continue
		}
		t.publish(e, uint32(m.Epoch))
		delete(t.needMarks, m.InterfaceName)
		written = append(written, e)
	}
	t.stamp(written...)
}

// uselessMarks returns the interfaces whose mark flows are to be removed.
func (t *table) uselessMarks() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.leftMarks))
}

// marksRemoved notes that interfaces have no mark flows any more. Those of an endpoint that was added meanwhile may be among them.
func (t *table) marksRemoved(interfaceNames []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range interfaceNames {
		delete(t.leftMarks, name)
		if e := t.endpoints[name]; e != nil {
			t.remark(e)
		}
	}
}

// podCount is the number of endpoints that are Pods. The caller holds mu.
func (t *table) podCount() (n int) {
	for _, e := range t.endpoints {
		if !e.pod.Gateway {
			n++
		}
	}
	return n
}

// unmarked returns the number of endpoints that still wait for mark flows, and of interfaces that still have useless ones.
func (t *table) unmarked() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.needMarks) + len(t.leftMarks)
}
