// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// localPod is a Pod that the store has shown. It is announced to the cache, or stays on Open vSwitch for a reason.
type localPod struct {
	Pod
	ifIndex int // 0 when it has no interface
	kind    string
	role    datapath.Role
	// onOVS is why its traffic takes Open vSwitch; "" when it is announced.
	onOVS string
}

func (m *Manager) podChanged(added, removed *Pod) {
	m.podsMu.Lock()
	defer m.podsMu.Unlock()
	if removed != nil {
		m.removePod(removed.InterfaceName)
	}
	if added != nil {
		m.addPod(*added, captures{})
	}
}

// addPod announces a Pod if nothing speaks against it. The caller holds podsMu.
func (m *Manager) addPod(pod Pod, seen captures) *localPod {
	p := &localPod{Pod: pod}
	m.pods[pod.InterfaceName] = p
	err := recovery.Call(boundaryName, problem.Subject{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}, func() error { return m.announce(p, seen) })
	if recovery.Is(err) {
		m.withdraw(p)
	}
	if err != nil {
		p.onOVS = err.Error()
		klog.InfoS("Pod stays on Open vSwitch", "pod", klog.KRef(pod.Namespace, pod.Name), "interface", pod.InterfaceName, "reason", err)
	}
	return p
}

// announce attaches to the Pod's interface and gives it a slot. On error nothing of the cache is left on the interface.
func (m *Manager) announce(p *localPod, seen captures) error {
	device, err := netlink.LinkByName(p.InterfaceName)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", p.InterfaceName, err)
	}
	p.ifIndex, p.kind = device.Attrs().Index, device.Type()
	if p.role, err = podRole(device); err != nil {
		return err
	}
	// Pods without a slot are looked at once per lease: that must not attach and detach programs each time.
	if err := m.table.room(p.InterfaceName); err != nil {
		return err
	}
	if err := m.bypass(p, seen); err != nil {
		return err
	}
	e := datapath.Endpoint{IfIndex: p.ifIndex, MAC: p.MAC, GatewayMAC: m.config.GatewayMAC}
	for _, ip := range p.IPs {
		if ip.Is4() {
			e.IPv4 = ip
		} else {
			e.IPv6 = ip
		}
	}
	if err := m.dp.Attach(p.ifIndex, p.role); err != nil {
		return err
	}
	if err := m.table.addEndpoint(p.Pod, p.kind, e); err != nil {
		return errors.Join(err, m.dp.Detach(p.ifIndex))
	}
	return nil
}

// podRole says how programs are attached to a Pod's interface. bpf_redirect_peer drops packets for a device that has no
// peer, so nothing but veth and netkit can be accelerated; the programs need Ethernet headers.
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

// removePod forgets a Pod. The caller holds podsMu.
func (m *Manager) removePod(interfaceName string) {
	p := m.pods[interfaceName]
	delete(m.pods, interfaceName)
	if p != nil {
		m.withdraw(p)
	}
}

// withdraw evicts a Pod's flows and removes the programs from its interface. The endpoint is usually gone already when the
// Pod is deleted: the bundle that removed the Pod's flows said so.
func (m *Manager) withdraw(p *localPod) {
	m.table.removeEndpoint(p.InterfaceName)
	if p.ifIndex == 0 {
		return
	}
	if err := m.dp.Detach(p.ifIndex); err != nil {
		klog.ErrorS(err, "Could not remove ONCache programs from an interface", "interface", p.InterfaceName)
	}
}

// bypass returns an error that says what a hit of the Pod would pass by: then its packets must take Open vSwitch.
func (m *Manager) bypass(p *localPod, seen captures) error {
	if err := seen.of(p); err != nil {
		return err
	}
	found, err := m.dp.PassedBy(p.ifIndex, p.role)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("accelerated packets would bypass: %s", strings.Join(found, "; "))
	}
	return nil
}

// watchPods looks once per lease at what others do to the Pods' interfaces. It waits for Open vSwitch, so it is not part of
// the uplink's watcher.
func (m *Manager) watchPods(stopCh <-chan struct{}) {
	tick := time.NewTicker(m.config.Lease)
	defer tick.Stop()
	for {
		select {
		case <-stopCh:
			return
		case <-tick.C:
			_ = recovery.Call(boundaryName, recovery.Part("ONCache Pods"), func() error { m.reviewPods(m.readCaptures()); return nil })
		}
	}
}

// reviewPods withdraws Pods whose packets must be seen on the way, announces those again of which that is over, and puts
// programs back that somebody has removed or has put others behind.
func (m *Manager) reviewPods(seen captures) {
	m.podsMu.Lock()
	defer m.podsMu.Unlock()
	for _, p := range m.pods {
		if p.onOVS != "" {
			if err := m.announce(p, seen); err != nil {
				p.onOVS = err.Error()
				continue
			}
			klog.InfoS("Pod may use ONCache again", "pod", klog.KRef(p.Namespace, p.Name), "interface", p.InterfaceName)
			p.onOVS = ""
			continue
		}
		err := m.bypass(p, seen)
		if err == nil {
			err = m.keepInPlace(p.ifIndex, p.role)
		}
		if err != nil {
			klog.InfoS("Pod goes over to Open vSwitch", "pod", klog.KRef(p.Namespace, p.Name), "interface", p.InterfaceName, "reason", err)
			p.onOVS = err.Error()
			m.withdraw(p)
		}
	}
}

func (m *Manager) keepInPlace(ifIndex int, role datapath.Role) error {
	ok, err := m.dp.InPlace(ifIndex, role)
	if err != nil || ok {
		return err
	}
	klog.InfoS("Attaching ONCache programs again: they were removed, or others were attached behind them", "ifindex", ifIndex)
	return m.dp.Attach(ifIndex, role)
}
