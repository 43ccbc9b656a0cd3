// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// localPortRange is net.ipv4.ip_local_port_range, from which the kernel's VXLAN device takes outer source ports
// (udp_flow_src_port, include/net/udp_tunnel.h).
func localPortRange() (low, high uint16, err error) {
	const path = "/proc/sys/net/ipv4/ip_local_port_range"
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, fmt.Errorf("read sysctl: %w", err)
	}
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil {
		return 0, 0, fmt.Errorf("sysctl %s is %q; expected two port numbers: %w", path, b, err)
	}
	return low, high, nil
}

// neighbours remembers the MAC of every neighbour on the uplink, to tell a changed next hop from the kernel's routine
// reachability updates.
type neighbours map[netip.Addr]string

// changed takes one update and reports whether a known neighbour has another MAC now.
func (n neighbours) changed(ip net.IP, mac net.HardwareAddr) bool {
	addr, ok := netip.AddrFromSlice(ip)
	if !ok || len(mac) == 0 {
		return false
	}
	addr = addr.Unmap()
	old, known := n[addr]
	n[addr] = mac.String()
	return known && old != mac.String()
}

// watchUplink evicts everything when the kernel's way to the other Nodes changes: the cached headers were made for the
// old one. Open vSwitch is not involved: its tunnel asks the kernel for each packet.
func (m *Manager) watchUplink(stopCh <-chan struct{}) {
	for {
		err := recovery.Call(boundaryName, recovery.Part("ONCache uplink"), func() error { return m.watchUplinkOnce(stopCh) })
		if recovery.Is(err) {
			m.suspend(err) // until it has been looked at anew
		}
		select {
		case <-stopCh:
			return
		case <-time.After(retryInterval):
			klog.ErrorS(err, "Lost the netlink subscription, subscribing again")
		}
	}
}

func (m *Manager) watchUplinkOnce(stopCh <-chan struct{}) error {
	done := make(chan struct{})
	defer close(done)
	failed := make(chan error, 4)
	onError := func(err error) {
		select {
		case failed <- err:
		default:
		}
	}
	links := make(chan netlink.LinkUpdate, 64)
	addrs := make(chan netlink.AddrUpdate, 64)
	neighs := make(chan netlink.NeighUpdate, 64)
	routes := make(chan netlink.RouteUpdate, 64)
	if err := netlink.LinkSubscribeWithOptions(links, done, netlink.LinkSubscribeOptions{ErrorCallback: onError}); err != nil {
		return fmt.Errorf("subscribe to links: %w", err)
	}
	if err := netlink.AddrSubscribeWithOptions(addrs, done, netlink.AddrSubscribeOptions{ErrorCallback: onError}); err != nil {
		return fmt.Errorf("subscribe to addresses: %w", err)
	}
	if err := netlink.NeighSubscribeWithOptions(neighs, done, netlink.NeighSubscribeOptions{ErrorCallback: onError, ListExisting: true}); err != nil {
		return fmt.Errorf("subscribe to neighbours: %w", err)
	}
	if err := netlink.RouteSubscribeWithOptions(routes, done, netlink.RouteSubscribeOptions{ErrorCallback: onError}); err != nil {
		return fmt.Errorf("subscribe to routes: %w", err)
	}
	policies, err := subscribe(unix.NETLINK_XFRM, nl.XFRMNLGRP_POLICY, anyMessage, done, onError)
	if err != nil {
		return err
	}
	nexthops, err := subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_NEXTHOP, changesNexthop, done, onError)
	if err != nil {
		return err
	}
	// Whatever has changed before the subscription is not reported.
	usable := m.refreshUplink("watching the uplink")
	retry := time.NewTicker(retryInterval)
	defer retry.Stop()
	tick := time.NewTicker(m.config.Lease)
	defer tick.Stop()
	known := neighbours{}
	removed := false // one of the transport addresses
	mtu := 0
	// review says why the uplink must be looked at anew.
	review := func() string {
		switch {
		case !usable:
			return "trying again"
		case !m.uplinkInOrder():
			return "accelerated packets would bypass what others have set up"
		}
		return ""
	}
	// maintain reviews before it looks at the Nodes: one that IPsec covers must not be given an MTU, without which nothing goes there.
	maintain := func() (why string) {
		if why = review(); why == "" {
			m.maintainNodes()
		}
		return why
	}
	for {
		var why string
		select {
		case <-stopCh:
			return nil
		case err := <-failed:
			return err
		case <-retry.C:
			if !usable {
				why = review()
			}
		case <-m.nodesChanged:
			why = maintain()
		case <-tick.C:
			why = maintain()
		case <-policies:
			why = review()
		case <-nexthops:
			why = "nexthop object changed"
		case u, ok := <-links:
			if !ok {
				return errors.New("link updates ended")
			}
			if u.Link.Attrs().Name != m.config.Uplink {
				continue
			}
			if m.linkChanged(u) {
				why = "link changed"
			} else if u.Link.Attrs().MTU != mtu {
				why = maintain()
			}
			mtu = u.Link.Attrs().MTU
		case u, ok := <-addrs:
			if !ok {
				return errors.New("address updates ended")
			}
			// A lease or lifetime that is renewed reports an address that has been there all the time.
			if m.isTransport(u.LinkAddress.IP) && (!u.NewAddr || removed) {
				why, removed = "transport address changed", !u.NewAddr
			}
		case u, ok := <-neighs:
			if !ok {
				return errors.New("neighbour updates ended")
			}
			if u.LinkIndex == m.uplink.IfIndex && known.changed(u.IP, u.HardwareAddr) {
				why = "next hop changed its MAC"
			}
		case u, ok := <-routes:
			if !ok {
				return errors.New("route updates ended")
			}
			if m.routesNodes(u.Dst) {
				why = "route changed"
			}
		}
		if why != "" {
			usable = m.refreshUplink(why)
		}
	}
}

func (m *Manager) linkChanged(u netlink.LinkUpdate) bool {
	attrs := u.Link.Attrs()
	return attrs.Index != m.uplink.IfIndex || attrs.HardwareAddr.String() != m.uplink.MAC.String() ||
		u.Header.Type == unix.RTM_DELLINK || attrs.OperState == netlink.OperDown
}

func (m *Manager) isTransport(ip net.IP) bool {
	addr, ok := netip.AddrFromSlice(ip)
	return ok && (addr.Unmap() == m.config.UplinkIPv4 || addr.Unmap() == m.config.UplinkIPv6)
}

// routesNodes says whether a route decides how a remote Node is reached.
func (m *Manager) routesNodes(dst *net.IPNet) bool {
	for _, n := range m.dp.Nodes() {
		if dst == nil || dst.Contains(n.IP.AsSlice()) {
			return true
		}
	}
	return false
}

// refreshUplink describes the uplink anew and evicts all flows, and reports whether the uplink is usable. When it is not,
// the fast path is off until it is. It takes no lock that a slow Open vSwitch could hold.
func (m *Manager) refreshUplink(why string) (usable bool) {
	uplink, err := readUplink(m.config)
	if err == nil {
		err = m.dp.Attach(uplink.IfIndex, datapath.RoleUplink)
	}
	if err == nil && uplink.IfIndex != m.uplink.IfIndex {
		err = m.dp.Detach(m.uplink.IfIndex)
	}
	if err == nil {
		err = m.uplinkPassedBy(uplink.IfIndex)
	}
	m.mu.Lock()
	was := m.suspended
	m.mu.Unlock()
	if err != nil && was != nil && err.Error() == was.Error() {
		return false // nothing has changed since the last attempt
	}
	klog.InfoS("Evicting all ONCache flows", "why", why, "uplink", m.config.Uplink)
	if err != nil {
		klog.ErrorS(err, "The transport interface is not usable now, traffic takes the slow path (Open vSwitch)")
		m.suspend(err)
	} else {
		m.uplink = uplink
		m.dp.SetUplink(uplink, uint64(m.config.Lease))
	}
	m.dp.BumpUplink()
	m.uplinkEvictions.Add(1)
	m.maintainNodes()
	m.suspend(err)
	return err == nil
}

// suspend switches the fast path off for the reason, or on again.
func (m *Manager) suspend(reason error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspended = reason
	m.applyMode()
}

// uplinkPassedBy returns an error that names what others have set up for packets on the uplink and hits would pass by.
func (m *Manager) uplinkPassedBy(ifIndex int) error {
	found, err := m.dp.PassedBy(ifIndex, datapath.RoleUplink)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("on transport interface %s accelerated packets would bypass: %s", m.config.Uplink, strings.Join(found, "; "))
	}
	return m.ipsecOnTunnel(ifIndex)
}

// uplinkInOrder says whether the uplink's programs are where they must be and pass nothing by.
func (m *Manager) uplinkInOrder() bool {
	ok, err := m.dp.InPlace(m.uplink.IfIndex, datapath.RoleUplink)
	return err == nil && ok && m.uplinkPassedBy(m.uplink.IfIndex) == nil
}

// maintainNodes looks at the way to each remote Node: what may be sent at once, learned path MTU included, and whether
// Open vSwitch has gone over to another header without a netlink message that said so (a policy routing rule, a route in a
// table that nobody watches).
func (m *Manager) maintainNodes() {
	for _, n := range m.dp.Nodes() {
		m.dp.SetNodeMTU(n.Slot, m.pathMTU(n.IP))
		if n.Contradicted > n.Confirmed+m.config.Lease {
			klog.InfoS("Evicting the flows of a Node: its packets leave with another header now", "address", n.IP)
			m.dp.BumpNode(n.Slot)
		}
	}
}

// pathMTU is the MTU of the route to ip, or 0 when there is none.
func (m *Manager) pathMTU(ip netip.Addr) int {
	routes, err := netlink.RouteGet(ip.AsSlice())
	if err != nil || len(routes) == 0 {
		return 0
	}
	if routes[0].MTU > 0 {
		return routes[0].MTU
	}
	device, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return 0
	}
	return device.Attrs().MTU
}
