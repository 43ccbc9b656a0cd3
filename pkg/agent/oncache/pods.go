// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// localPod is a Pod of the interface store. It is announced to the cache, or stays on Open vSwitch for a reason.
type localPod struct {
	Pod
	ifIndex int // 0 when it has no interface
	kind    string
	role    datapath.Role
	// attached is the index of the interface with the gateway's programs, 0 for others. withdrawals are the gateway's.
	attached    int
	withdrawals withdrawals
	// onOVS is the reason why its traffic takes the slow path; "" when it is announced. reason is the kind.
	onOVS  string
	reason stayReason
}

// stay notes why the Pod is not announced.
func (p *localPod) stay(err error) { p.onOVS, p.reason = err.Error(), reasonOf(err) }

// podAnnouncer decides which of the local Pods use the cache, and attaches the programs to their interfaces.
type podAnnouncer struct {
	config *Config
	// dp and ledger are set before the first Pod is added.
	dp     *datapath.Datapath
	ledger *ledger

	mu   sync.Mutex           // taken before the ledger's lock
	pods map[string]*localPod // by interface name
	// early are changes of the interface store before follow. stage decides the treatment of changes.
	early []podChange
	stage announcerStage
	// again asks watch for a review.
	again chan struct{}
	// held counts the holds that keep an interface's Pod on Open vSwitch.
	held map[string]int
	now  func() time.Time
}

// podChange is a change of the interface store; one of the two is not nil.
type podChange struct{ added, removed *Pod }

type announcerStage int

const (
	// starting: changes wait until the Pods that exist at start are announced.
	starting announcerStage = iota
	following
	// abandoned: the cache is not available, so changes are ignored.
	abandoned
)

func newPodAnnouncer(config *Config) *podAnnouncer {
	return &podAnnouncer{config: config, pods: map[string]*localPod{}, again: make(chan struct{}, 1), held: map[string]int{}, now: time.Now}
}

// begin adds the Pods that exist at start, and returns the indexes of the interfaces that programs are attached to.
func (a *podAnnouncer) begin(dp *datapath.Datapath, t *ledger, present []Pod) (attached []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dp, a.ledger = dp, t
	seen := readCaptures(a.config)
	for _, pod := range present {
		if p := a.add(pod, seen); p.onOVS == "" || p.Gateway {
			attached = append(attached, p.ifIndex)
		}
	}
	return attached
}

// follow makes the changes since the subscription, some of which begin may know already, and each later one at once.
func (a *podAnnouncer) follow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stage = following
	for _, c := range a.early {
		a.apply(c)
	}
	a.early = nil
}

// abandon ends the work of an announcer before follow.
func (a *podAnnouncer) abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stage, a.early = abandoned, nil
}

// changed is called for each change of the interface store.
func (a *podAnnouncer) changed(added, removed *Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := podChange{added, removed}
	switch a.stage {
	case starting:
		a.early = append(a.early, c)
	case following:
		a.apply(c)
	case abandoned:
	}
}

// apply makes a change. The caller holds mu.
func (a *podAnnouncer) apply(c podChange) {
	if c.removed != nil {
		a.remove(c.removed.InterfaceName)
	}
	if c.added != nil {
		a.add(*c.added, captures{})
	}
}

// add announces a Pod unless something prevents it. The caller holds mu.
func (a *podAnnouncer) add(pod Pod, seen captures) *localPod {
	p := &localPod{Pod: pod}
	a.pods[pod.InterfaceName] = p
	err := recovery.Call(boundaryName, problem.Subject{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}, func() error { return a.announce(p, seen) })
	if recovery.Is(err) {
		a.withdraw(p)
	}
	if err != nil {
		p.stay(err)
		if p.reason == stayFailure {
			a.ledger.failures.add(operationPod)
		}
		klog.InfoS("Pod stays on Open vSwitch", "pod", pod, "interface", pod.InterfaceName, "reason", err)
	}
	return p
}

// announce attaches to the Pod's interface and gives the Pod a slot. After an error nothing of the cache is left on the
// interface, except the programs of the gateway (gateway.go).
func (a *podAnnouncer) announce(p *localPod, seen captures) error {
	device, err := netlink.LinkByName(p.InterfaceName)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", p.InterfaceName, err)
	}
	p.ifIndex, p.kind = device.Attrs().Index, device.Type()
	if p.Gateway {
		if err := a.attachGateway(p); err != nil {
			return err
		}
	} else if p.role, err = podRole(device); err != nil {
		return stays(stayInterface, err)
	}
	// Pods without a slot are checked once per lease. That must not attach and detach programs each time.
	if err := a.ledger.room(p.InterfaceName); err != nil {
		return stays(stayRoom, err)
	}
	if err := cmp.Or(a.bypassed(p, seen), a.mayReturn(p)); err != nil {
		return err
	}
	if !p.Gateway {
		if err := a.dp.Attach(p.ifIndex, p.role); err != nil {
			return err
		}
	}
	if err := a.ledger.addEndpoint(p.Pod, p.kind, a.endpointOf(p)); err != nil {
		return errors.Join(err, a.detach(p))
	}
	return nil
}

// endpointOf describes a Pod, or the gateway, to the programs.
func (a *podAnnouncer) endpointOf(p *localPod) datapath.Endpoint {
	e := datapath.Endpoint{IfIndex: p.ifIndex, Gateway: p.Gateway, Netkit: p.role == datapath.RoleNetkitPod, MAC: p.MAC, GatewayMAC: a.config.GatewayMAC}
	if p.Gateway {
		e.GatewayMAC = a.config.VirtualMAC
	}
	for _, ip := range p.IPs {
		if ip.Is4() {
			e.IPv4 = ip
		} else {
			e.IPv6 = ip
		}
	}
	return e
}

// detach removes the programs from a Pod's interface. The gateway's programs stay.
func (a *podAnnouncer) detach(p *localPod) error {
	if p.Gateway || p.ifIndex == 0 {
		return nil
	}
	return a.dp.Detach(p.ifIndex)
}

// podRole returns how programs are attached to a Pod's interface. bpf_redirect_peer drops packets for a device without a peer, so only
// veth and netkit can be accelerated. The programs need Ethernet headers.
func podRole(device netlink.Link) (datapath.Role, error) {
	switch d := device.(type) {
	case *netlink.Veth:
		return datapath.RolePod, nil
	case *netlink.Netkit:
		if d.Mode != netlink.NETKIT_MODE_L2 || !d.IsPrimary() {
			return 0, errors.New("its netkit device is not the primary one of a pair in L2 mode")
		}
		return datapath.RoleNetkitPod, nil
	}
	return 0, fmt.Errorf("its interface is of kind %q, which has no peer device; want veth or netkit", device.Type())
}

// remove forgets a Pod. The caller holds mu.
func (a *podAnnouncer) remove(interfaceName string) {
	p := a.pods[interfaceName]
	delete(a.pods, interfaceName)
	if p != nil {
		a.withdraw(p)
	}
}

// withdraw evicts a Pod's flows and removes the programs from its interface. The endpoint of a deleted Pod is usually gone already,
// with the bundle that removed the Pod's flows.
func (a *podAnnouncer) withdraw(p *localPod) {
	a.ledger.removeEndpoint(p.InterfaceName)
	if err := a.detach(p); err != nil {
		a.ledger.failures.add(operationPod)
		klog.ErrorS(err, "Could not remove ONCache programs from an interface", "interface", p.InterfaceName)
	}
}

// bypassed returns an error that names objects that hits of the Pod would bypass. With an error its packets must take the slow path.
func (a *podAnnouncer) bypassed(p *localPod, seen captures) error {
	if err := seen.of(p); err != nil {
		return err
	}
	found, err := a.dp.Bypassed(p.ifIndex, p.role)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return stays(stayBypass, fmt.Errorf("accelerated packets would bypass: %s", strings.Join(found, "; ")))
	}
	// The last of the reasons: without it, the Pod would use the cache.
	if a.held[p.InterfaceName] > 0 {
		return errHeld
	}
	return nil
}

// reviewSoon asks watch for a review.
func (a *podAnnouncer) reviewSoon() {
	select {
	case a.again <- struct{}{}:
	default:
	}
}

// watch checks foreign programs on the Pods' interfaces, once per lease and on request. It waits for Open vSwitch, so it is not part
// of the uplink's watcher.
func (a *podAnnouncer) watch(stopCh <-chan struct{}) {
	tick := time.NewTicker(a.config.Lease)
	defer tick.Stop()
	for {
		select {
		case <-stopCh:
			return
		case <-tick.C:
		case <-a.again:
		}
		_ = recovery.Call(boundaryName, recovery.Part("ONCache Pods"), func() error { a.review(readCaptures(a.config)); return nil })
	}
}

// review withdraws Pods with a capture or a foreign program on their interface, announces them again once it is gone, and restores
// programs that were removed or are no longer last.
func (a *podAnnouncer) review(seen captures) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pods {
		if p.Gateway {
			a.keepGateway(p)
		}
		if p.onOVS != "" {
			if err := a.announce(p, seen); err != nil {
				p.stay(err)
				continue
			}
			klog.InfoS("Pod may use ONCache again", "pod", p.Pod, "interface", p.InterfaceName)
			p.onOVS = ""
			continue
		}
		err := a.bypassed(p, seen)
		if err == nil {
			err = a.keepInPlace(p.ifIndex, p.role)
		}
		if err != nil {
			klog.InfoS("Pod moves to Open vSwitch", "pod", p.Pod, "interface", p.InterfaceName, "reason", err)
			p.stay(err)
			a.withdraw(p)
			a.noteWithdrawal(p)
		}
	}
}

func (a *podAnnouncer) keepInPlace(ifIndex int, role datapath.Role) error {
	ok, err := a.dp.InPlace(ifIndex, role)
	if err != nil || ok {
		return err
	}
	klog.InfoS("Attaching ONCache programs again: they were removed, or others were attached behind them", "ifindex", ifIndex)
	return a.dp.Attach(ifIndex, role)
}
