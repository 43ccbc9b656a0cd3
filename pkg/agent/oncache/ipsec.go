// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	"github.com/antrea-oncache/antrea/pkg/nlattr"
)

// ipsecPolicy is an IPsec policy (xfrm) for packets that the Node sends or receives. A prefix of length 0 stands for any
// address of the family.
type ipsecPolicy struct {
	direction netlink.Dir
	src, dst  netip.Prefix
	protocol  uint8 // 0: any
	// dstPort is compared under dstMask: 0 is any. Source ports of tunnel packets vary.
	dstPort, dstMask uint16
	ifIndex          int    // 0: any interface
	interfaceID      uint32 // of an xfrm interface; 0: packets that are not routed through one
	// partial is set when a match depends on more than these fields (source port, interface, mark, sub policy).
	partial  bool
	priority uint32 // the smallest one decides
	// passes is set when packets that match the policy go unchanged.
	passes bool
}

// tunnelPackets are the packets between this Node and the others, in the terms of a policy.
type tunnelPackets struct {
	local, remote []netip.Addr
	protocol      uint8
	port          uint16
	// ifIndexes contains the index of the uplink and, if it is enslaved, its master's.
	ifIndexes []int
}

// way is one direction between two Nodes.
type way struct {
	direction netlink.Dir
	src, dst  netip.Addr
}

// ways lists the directions that policies decide about. Policies for forwarded packets do not apply: tunnel packets are delivered to
// this Node.
func (p *tunnelPackets) ways() (out []way) {
	for _, local := range p.local {
		for _, remote := range p.remote {
			if local.Is4() == remote.Is4() {
				out = append(out, way{netlink.XFRM_DIR_OUT, local, remote}, way{netlink.XFRM_DIR_IN, remote, local})
			}
		}
	}
	return out
}

// coveredBy returns an error that names a policy which covers tunnel packets, that is, does anything but pass them
// unchanged. In doubt a policy covers: one that matches only some of the packets covers them all, and one that passes only
// some of them does not keep the next policy from covering.
func (p *tunnelPackets) coveredBy(policies []ipsecPolicy) error {
	policies = inOrder(policies)
	for _, w := range p.ways() {
		for _, policy := range policies {
			if !policy.mayMatch(w, p) {
				continue
			}
			if !policy.passes {
				return fmt.Errorf("the IPsec policy %s covers tunnel packets from %v to %v; accelerated packets would bypass it", &policy, w.src, w.dst)
			}
			if !policy.partial {
				break
			}
		}
	}
	return nil
}

// inOrder returns the policies in the order in which the kernel looks for one that matches.
func inOrder(policies []ipsecPolicy) []ipsecPolicy {
	return slices.SortedStableFunc(slices.Values(policies), func(a, b ipsecPolicy) int {
		// Among equal ones the age decides, and it is unknown here: doubt.
		return cmp.Or(cmp.Compare(a.priority, b.priority), compareBool(a.passes, b.passes))
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// mayMatch reports whether the policy matches any tunnel packets in this direction.
func (p *ipsecPolicy) mayMatch(w way, packets *tunnelPackets) bool {
	return p.direction == w.direction && p.src.Contains(w.src) && p.dst.Contains(w.dst) &&
		(p.protocol == 0 || p.protocol == packets.protocol) &&
		(packets.port^p.dstPort)&p.dstMask == 0 &&
		(p.ifIndex == 0 || slices.Contains(packets.ifIndexes, p.ifIndex)) &&
		p.interfaceID == 0
}

func (p *ipsecPolicy) String() string {
	direction := map[netlink.Dir]string{netlink.XFRM_DIR_IN: "in", netlink.XFRM_DIR_OUT: "out", netlink.XFRM_DIR_FWD: "fwd"}[p.direction]
	return fmt.Sprintf("src %v dst %v dir %s priority %d", p.src, p.dst, direction, p.priority)
}

// ipsecOnTunnel returns an error that names an IPsec policy which hits would bypass. The kernel applies policies where it
// routes and delivers packets, and the fast path does neither.
func (k *uplinkKeeper) ipsecOnTunnel(ifIndex int) error {
	policies, err := readIPsecPolicies()
	if err != nil || len(policies) == 0 {
		return err
	}
	if err := k.direct.directCoveredBy(policies); err != nil {
		return err
	}
	device, err := netlink.LinkByIndex(ifIndex)
	if err != nil {
		return fmt.Errorf("find interface index %d: %w", ifIndex, err)
	}
	packets := tunnelPackets{protocol: unix.IPPROTO_UDP, port: k.config.TunnelPort, ifIndexes: []int{ifIndex}}
	if master := device.Attrs().MasterIndex; master != 0 {
		packets.ifIndexes = append(packets.ifIndexes, master)
	}
	for _, ip := range []netip.Addr{k.config.UplinkIPv4, k.config.UplinkIPv6} {
		if ip.IsValid() {
			packets.local = append(packets.local, ip)
		}
	}
	for _, n := range k.dp.Nodes() {
		packets.remote = append(packets.remote, n.IP)
	}
	if err := packets.coveredBy(policies); err != nil || !k.config.Rewrite {
		return err
	}
	packets.port = k.config.RewritePort
	for _, packets.protocol = range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		if err := packets.coveredBy(policies); err != nil {
			return err
		}
	}
	return nil
}

// readIPsecPolicies lists the policies of this network namespace for packets that it sends, receives and forwards. Policies of
// sockets are left out. A default that blocks is returned as policies of the lowest priority. Policies that are offloaded
// to a device (packet offload) are listed like all others.
func readIPsecPolicies() (policies []ipsecPolicy, err error) {
	messages, err := rtnl.Dump(func() ([][]byte, error) {
		request := nl.NewNetlinkRequest(nl.XFRM_MSG_GETPOLICY, unix.NLM_F_DUMP)
		request.AddData(nl.NewIfInfomsg(netlink.FAMILY_ALL))
		return request.Execute(unix.NETLINK_XFRM, nl.XFRM_MSG_NEWPOLICY)
	})
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil // this kernel has no IPsec
	}
	if err != nil {
		return nil, fmt.Errorf("list IPsec policies: %w", err)
	}
	for _, m := range messages {
		p, err := parseIPsecPolicy(m)
		if err != nil {
			return nil, err
		}
		if p.direction == netlink.XFRM_DIR_IN || p.direction == netlink.XFRM_DIR_OUT || p.direction == netlink.XFRM_DIR_FWD {
			policies = append(policies, p)
		}
	}
	defaults, err := readIPsecDefault()
	return append(policies, defaults...), err
}

// parseIPsecPolicy reads struct xfrm_userpolicy_info and its attributes. netlink.XfrmPolicyList does not return the masks
// of ports, and it guesses the address family.
func parseIPsecPolicy(message []byte) (p ipsecPolicy, err error) {
	if len(message) < nl.SizeofXfrmUserpolicyInfo {
		return p, fmt.Errorf("the kernel's message of an IPsec policy has %d bytes, want at least %d", len(message), nl.SizeofXfrmUserpolicyInfo)
	}
	info := nl.DeserializeXfrmUserpolicyInfo(message)
	p = ipsecPolicy{
		direction: netlink.Dir(info.Dir), protocol: info.Sel.Proto, ifIndex: int(info.Sel.Ifindex), priority: info.Priority,
		dstPort: nl.Swap16(info.Sel.Dport), dstMask: nl.Swap16(info.Sel.DportMask),
		partial: info.Sel.SportMask != 0 || info.Sel.Ifindex != 0,
	}
	if p.src, err = selectorPrefix(info.Sel.Saddr, info.Sel.PrefixlenS, info.Sel.Family); err == nil {
		p.dst, err = selectorPrefix(info.Sel.Daddr, info.Sel.PrefixlenD, info.Sel.Family)
	}
	if err != nil {
		return p, err
	}
	attributes, err := nlattr.Parse(message[nl.SizeofXfrmUserpolicyInfo:])
	if err != nil {
		return p, fmt.Errorf("attributes of the IPsec policy %s: %w", &p, err)
	}
	templates := false
	for _, a := range attributes {
		switch a.Attr.Type {
		case nl.XFRMA_TMPL:
			templates = templates || len(a.Value) > 0
		case nl.XFRMA_MARK:
			if len(a.Value) < nl.SizeofXfrmMark {
				return p, fmt.Errorf("the mark of the IPsec policy %s has %d bytes, want %d", &p, len(a.Value), nl.SizeofXfrmMark)
			}
			p.partial = p.partial || nl.DeserializeXfrmMark(a.Value).Mask != 0
		case nl.XFRMA_POLICY_TYPE:
			if len(a.Value) == 0 {
				return p, fmt.Errorf("the type of the IPsec policy %s has no bytes, want at least 1", &p)
			}
			p.partial = p.partial || a.Value[0] != 0 // XFRM_POLICY_TYPE_SUB: the main one is consulted as well
		case nl.XFRMA_IF_ID:
			if p.interfaceID, err = nlattr.Uint32(a); err != nil {
				return p, fmt.Errorf("the interface id of the IPsec policy %s: %w", &p, err)
			}
		}
	}
	p.passes = netlink.PolicyAction(info.Action) == netlink.XFRM_POLICY_ALLOW && !templates
	return p, nil
}

func selectorPrefix(address nl.XfrmAddress, bits uint8, family uint16) (netip.Prefix, error) {
	var ip netip.Addr
	switch family {
	case unix.AF_INET:
		ip = netip.AddrFrom4([4]byte(address[:4]))
	case unix.AF_INET6:
		ip = netip.AddrFrom16(address)
	default:
		return netip.Prefix{}, fmt.Errorf("an IPsec policy is of address family %d, want %d (IPv4) or %d (IPv6)", family, unix.AF_INET, unix.AF_INET6)
	}
	prefix, err := ip.Prefix(int(bits))
	if err != nil {
		return prefix, fmt.Errorf("the selector of an IPsec policy: %w", err)
	}
	return prefix, nil
}

// Constants of include/uapi/linux/xfrm.h that package nl lacks.
const (
	xfrmMsgGetDefault   = 0x28
	xfrmUserpolicyBlock = 1
)

// readIPsecDefault asks how the kernel treats packets that no policy matches (since Linux 5.14; older kernels pass them). A
// default that blocks is returned as two policies of the lowest priority, one for each address family.
func readIPsecDefault() (policies []ipsecPolicy, err error) {
	request := nl.NewNetlinkRequest(xfrmMsgGetDefault, 0)
	request.AddRawData(make([]byte, 4)) // struct xfrm_userpolicy_default: in, fwd, out
	messages, err := request.Execute(unix.NETLINK_XFRM, xfrmMsgGetDefault)
	if errors.Is(err, unix.EINVAL) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the default of IPsec policies: %w", err)
	}
	if len(messages) != 1 || len(messages[0]) < 3 {
		return nil, fmt.Errorf("the kernel returned the default of IPsec policies as %v, want one message of at least 3 bytes", messages)
	}
	for _, d := range []struct {
		direction netlink.Dir
		action    byte
	}{{netlink.XFRM_DIR_IN, messages[0][0]}, {netlink.XFRM_DIR_FWD, messages[0][1]}, {netlink.XFRM_DIR_OUT, messages[0][2]}} {
		if d.action != xfrmUserpolicyBlock {
			continue
		}
		for _, ip := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
			every := netip.PrefixFrom(ip, 0)
			policies = append(policies, ipsecPolicy{direction: d.direction, src: every, dst: every, priority: math.MaxUint32})
		}
	}
	return policies, nil
}
