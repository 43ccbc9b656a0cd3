// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// directNetwork is a Pod network of an announced Node that is reached without the tunnel, at address.
type directNetwork struct {
	prefix  netip.Prefix
	address netip.Addr
}

// directNetworks holds the networks of the present Nodes, ordered by address. The ledger replaces them, others read them without its lock.
type directNetworks struct {
	present atomic.Pointer[[]directNetwork]
}

func (d *directNetworks) all() []directNetwork {
	if p := d.present.Load(); p != nil {
		return *p
	}
	return nil
}

// of returns the networks of one Node.
func (d *directNetworks) of(address netip.Addr) []directNetwork {
	all := d.all()
	first, _ := slices.BinarySearchFunc(all, address, func(n directNetwork, address netip.Addr) int { return n.address.Compare(address) })
	end := first
	for end < len(all) && all[end].address == address {
		end++
	}
	return all[first:end]
}

// routedBy returns the Nodes whose Pods a route to dst may concern.
func (d *directNetworks) routedBy(dst *net.IPNet) (nodes []netip.Addr) {
	if dst == nil {
		return nil // the default route: everything is evicted
	}
	bits, _ := dst.Mask.Size()
	to := netip.PrefixFrom(addrOf(dst.IP), bits)
	for _, n := range d.all() {
		if n.prefix.Overlaps(to) {
			nodes = append(nodes, n.address)
		}
	}
	return nodes
}

// noteDirect tells others the networks of the Nodes announced now.
func (l *ledger) noteDirect() {
	var all []directNetwork
	for _, n := range l.eachNode() {
		if n.Reach.Kind != reach.Direct {
			continue
		}
		for _, p := range n.PodCIDRs {
			all = append(all, directNetwork{p, n.Reach.Address})
		}
	}
	slices.SortStableFunc(all, func(a, b directNetwork) int { return a.address.Compare(b.address) })
	l.directNetworks.present.Store(&all)
}

// markDirect notes whether the gateway is an endpoint. Packets of Pods that pass through its interface may be marked only then: its programs remove the
// epoch from packets to other destinations. While hits would bypass filters or programs of others on that interface, the gateway is not an endpoint
// (datapath.Bypassed). The caller holds mu.
func (l *ledger) markDirect(may bool) {
	if !l.direct || l.directMarks == may {
		return
	}
	l.directMarks = may
	for _, e := range l.endpoints {
		if e.pod.Gateway {
			continue
		}
		if !may {
			l.publish(e, 0)
		}
		l.remark(e)
	}
}

// sharedBlock is in messages about filters that devices share (TCM_IFINDEX_MAGIC_BLOCK in include/uapi/linux/rtnetlink.h).
const sharedBlock = -1

// changesFilters reports whether a message is about a queueing discipline, or a filter, of the gateway's device: packets between Pods and Nodes that are
// reached without the tunnel pass it, and hits do not. Programs that are attached with TCX have no message.
func (k *uplinkKeeper) changesFilters(m syscall.NetlinkMessage) bool {
	if len(m.Data) < nl.SizeofTcMsg {
		return false
	}
	device := nl.DeserializeTcMsg(m.Data).Ifindex
	return device == k.gateway.Load() || device == sharedBlock
}

// findGateway finds the gateway's device. Later messages tell of another one.
func (k *uplinkKeeper) findGateway() {
	if device, err := netlink.LinkByName(k.config.Gateway.Name); err == nil {
		k.gateway.Store(int32(device.Attrs().Index))
	}
}

// pathToNode looks up how packets leave for a Node, and the address that was asked for: the Node's, or one of its Pods' where the host routes
// packets to these. If the ways to its Pod networks differ, it returns none.
func (k *uplinkKeeper) pathToNode(ip netip.Addr) (to path, asked netip.Addr) {
	for i, n := range k.direct.of(ip) {
		pod := n.prefix.Addr().Next()
		now := pathTo(pod)
		if i > 0 && (!now.leavesAs(&to) || now.mtu != to.mtu) {
			return path{}, ip
		}
		to, asked = now, pod
	}
	if asked.IsValid() {
		return to, asked
	}
	return pathTo(ip), ip
}

// largestTo returns the MTU of a path to a Node. Packets to one that is reached without the tunnel, and from it, also pass the gateway's device.
func (k *uplinkKeeper) largestTo(ip netip.Addr, to *path, devices *deviceMTUs) int {
	if len(k.direct.of(ip)) == 0 {
		return to.largest(devices)
	}
	return min(to.largest(devices), devices.gateway())
}

// directCoveredBy returns an error that names an IPsec policy which covers packets between Pods of this Node and of Nodes that are reached
// without the tunnel. The host forwards them, so policies for sent and for forwarded packets apply. This Node's Pods may have any address.
// In doubt a policy covers, as for the tunnel's packets.
func (d *directNetworks) directCoveredBy(policies []ipsecPolicy) error {
	policies = inOrder(policies)
	type direction struct {
		hook     netlink.Dir
		outgoing bool
	}
	for _, n := range d.all() {
		for _, way := range []direction{{netlink.XFRM_DIR_OUT, true}, {netlink.XFRM_DIR_FWD, true}, {netlink.XFRM_DIR_FWD, false}, {netlink.XFRM_DIR_OUT, false}} {
			for _, p := range policies {
				local, remote := p.src, p.dst
				if !way.outgoing {
					local, remote = p.dst, p.src
				}
				if p.direction != way.hook || p.interfaceID != 0 || !remote.Overlaps(n.prefix) {
					continue
				}
				if !p.passes {
					return fmt.Errorf("the IPsec policy %s covers packets of Pods in %v, which are reached without the tunnel; accelerated packets would bypass it", &p, n.prefix)
				}
				whole := local.Bits() == 0 && remote.Bits() <= n.prefix.Bits() && p.protocol == 0 && p.dstMask == 0
				if whole && !p.partial {
					break
				}
			}
		}
	}
	return nil
}
