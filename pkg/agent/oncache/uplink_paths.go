// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// paths describes how packets leave for the other Nodes, as far as the learned outer headers depend on it. Its size is the number of
// Nodes and their next hops, whatever neighbors and routes the host has besides. After messages of the kernel were lost, a new reading
// is compared with it.
type paths struct {
	nodes map[netip.Addr]path
	// macs are the MAC addresses of all next hops on the uplink: unread until the kernel has been asked, "" if it knew none then.
	macs map[netip.Addr]string
	// nexthops are all nexthop objects, as the kernel describes them; listed is false if it could not be asked.
	nexthops []string
	listed   bool
}

const unread = "unread"

// path describes how packets leave for one Node.
type path struct {
	// device is the index of the device, 0 without a route; mtu is the route's, 0 for the device's.
	device, mtu int
	// hop is the neighbor that gets them: a gateway, or the Node itself.
	hop, source netip.Addr
	// matched is the route with all its next hops; the rest is the kernel's present choice among these.
	matched netlink.Route
}

// pathTo looks up the kernel's present choice for a Node. matched is left out.
func pathTo(ip netip.Addr) path {
	routes, err := netlink.RouteGet(ip.AsSlice())
	if err != nil || len(routes) == 0 {
		return path{}
	}
	r := &routes[0]
	p := path{device: r.LinkIndex, mtu: r.MTU, hop: ip, source: addrOf(r.Src)}
	if via, ok := r.Via.(*netlink.Via); ok {
		p.hop = addrOf(via.Addr)
	}
	if len(r.Gw) > 0 {
		p.hop = addrOf(r.Gw)
	}
	return p
}

func addrOf(ip net.IP) netip.Addr {
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}

// leavesAs reports whether the kernel's choice is the same.
func (p *path) leavesAs(other *path) bool {
	return p.device == other.device && p.hop == other.hop && p.source == other.source
}

// largest returns the MTU of the route, or its device's; 0 without a route.
func (p *path) largest(devices *deviceMTUs) int {
	if p.device == 0 || p.mtu > 0 {
		return p.mtu
	}
	return devices.of(p.device)
}

// match fills in matched. If it cannot, it looks like another route at the next comparison.
func (p *path) match(ip netip.Addr) {
	routes, err := netlink.RouteGetWithOptions(ip.AsSlice(), &netlink.RouteGetOptions{FIBMatch: true})
	if err == nil && len(routes) > 0 {
		p.matched = routes[0]
	}
}

// note adds a Node's path.
func (p *paths) note(ip netip.Addr, to path, uplink int) {
	p.nodes[ip] = to
	if to.device != uplink {
		return
	}
	for _, hop := range to.hops() {
		if _, known := p.macs[hop]; !known {
			p.macs[hop] = unread
		}
	}
}

// hops returns all neighbors that may get packets for the Node: the kernel's choice may be another one for each flow.
func (p *path) hops() []netip.Addr {
	hops := []netip.Addr{p.hop}
	for _, n := range p.matched.MultiPath {
		if via, ok := n.Via.(*netlink.Via); ok {
			hops = append(hops, addrOf(via.Addr))
		} else if len(n.Gw) > 0 {
			hops = append(hops, addrOf(n.Gw))
		}
	}
	return hops
}

// prune forgets Nodes that are gone, and next hops that lead to none.
func (p *paths) prune(present map[netip.Addr]bool) {
	hops := map[netip.Addr]bool{}
	for ip, to := range p.nodes {
		if !present[ip] {
			delete(p.nodes, ip)
			continue
		}
		for _, hop := range to.hops() {
			hops[hop] = true
		}
	}
	for hop := range p.macs {
		if !hops[hop] {
			delete(p.macs, hop)
		}
	}
}

// moved takes one message about a neighbor on the uplink. It reports whether that is a next hop whose known MAC address has changed.
func (p *paths) moved(ip netip.Addr, mac net.HardwareAddr) bool {
	old, hop := p.macs[ip]
	if !hop || len(mac) == 0 {
		return false
	}
	p.macs[ip] = mac.String()
	return old != "" && old != mac.String()
}

// through returns the Nodes whose packets a next hop gets.
func (p *paths) through(hop netip.Addr) (nodes []netip.Addr) {
	for ip, to := range p.nodes {
		if slices.Contains(to.hops(), hop) {
			nodes = append(nodes, ip)
		}
	}
	return nodes
}

// resolve looks up MAC addresses that are unread: later the kernel reports them.
func (p *paths) resolve(uplink int) error {
	if !slices.Contains(slices.Collect(maps.Values(p.macs)), unread) {
		return nil
	}
	neighbors, err := rtnl.Dump(func() ([]netlink.Neigh, error) { return netlink.NeighList(uplink, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("list the neighbors of device %d: %w", uplink, err)
	}
	for _, n := range neighbors {
		if ip := addrOf(n.IP); p.macs[ip] == unread {
			p.moved(ip, n.HardwareAddr)
		}
	}
	for hop, mac := range p.macs {
		if mac == unread {
			p.macs[hop] = ""
		}
	}
	return nil
}

// readPaths reads the paths to all Nodes. Whatever cannot be read counts as different.
func (k *uplinkKeeper) readPaths() *paths {
	p := &paths{nodes: map[netip.Addr]path{}, macs: map[netip.Addr]string{}}
	for _, n := range k.dp.Nodes() {
		to, asked := k.pathToNode(n.IP)
		to.match(asked)
		p.note(n.IP, to, k.uplink.IfIndex)
	}
	err := p.resolve(k.uplink.IfIndex)
	nexthops, listErr := rtnl.Dump(nexthopObjects)
	p.nexthops, p.listed = nexthops, listErr == nil
	if err := errors.Join(err, listErr); err != nil {
		klog.ErrorS(err, "Could not read all that the paths to other Nodes depend on")
	}
	return p
}

// nexthopObjects lists all nexthop objects (RTM_GETNEXTHOP of rtnetlink(7); include/uapi/linux/nexthop.h). The kernel has them since Linux 5.3.
func nexthopObjects() (all []string, err error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETNEXTHOP, unix.NLM_F_DUMP)
	request.AddData(nexthopMessage{})
	messages, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEXTHOP)
	for _, m := range messages {
		all = append(all, string(m))
	}
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list nexthop objects: %w", err)
	}
	return all, nil
}

// nexthopMessage is struct nhmsg, all zero: all objects.
type nexthopMessage struct{}

func (nexthopMessage) Len() int          { return 8 }
func (nexthopMessage) Serialize() []byte { return make([]byte, 8) }

// remember keeps the MAC addresses of next hops that the kernel has forgotten: learned entries contain them, so the next address that
// the kernel reports must be compared with them.
func (p *paths) remember(before *paths) {
	for hop, mac := range p.macs {
		if mac == "" && before.macs[hop] != "" {
			p.macs[hop] = before.macs[hop]
		}
	}
}

// differing returns the Nodes whose packets leave otherwise than before. Those that are new, of which nothing was known, are among them.
func (p *paths) differing(before *paths) (nodes []netip.Addr) {
	same := p.listed && before.listed && slices.Equal(p.nexthops, before.nexthops)
	for ip, now := range p.nodes {
		was, known := before.nodes[ip]
		moved := slices.ContainsFunc(now.hops(), func(hop netip.Addr) bool {
			mac := p.macs[hop]
			return mac == unread || mac != "" && mac != before.macs[hop]
		})
		if !same || !known || !now.leavesAs(&was) || !now.matched.Equal(was.matched) || moved {
			nodes = append(nodes, ip)
		}
	}
	return nodes
}
