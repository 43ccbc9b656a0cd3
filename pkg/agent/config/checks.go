// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net/netip"
)

// Networks of one Node that are shorter than these are taken for a mistake: a route to it would swallow other networks.
const (
	minPodCIDRBits4 = 8
	minPodCIDRBits6 = 32
)

// noPodNetworks cannot be routed to Pods (RFC 6890).
var noPodNetworks = []struct {
	network netip.Prefix
	what    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "addresses of no host"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback addresses"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local addresses"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast addresses"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("::/96"), "the unspecified and the loopback address"},
	{netip.PrefixFrom(VirtualServiceIPv6, 127).Masked(), "addresses of every Node's pipeline"}, // and VirtualNodePortIPv6
	{netip.MustParsePrefix("fe80::/10"), "link-local addresses"},
	{netip.MustParsePrefix("ff00::/8"), "multicast addresses"},
}

// CheckPodCIDR says why a network cannot be the Pod network of any Node. All agents must come to the same result: it depends on
// nothing but the network.
func CheckPodCIDR(cidr netip.Prefix) error {
	if cidr.Addr().Is4In6() {
		return fmt.Errorf("%s is an IPv4 network written as an IPv6 one, want the form 10.0.0.0/24", cidr)
	}
	shortest, longest := minPodCIDRBits4, 31
	if cidr.Addr().Is6() {
		shortest, longest = minPodCIDRBits6, 127
	}
	if cidr.Bits() < shortest || cidr.Bits() > longest {
		return fmt.Errorf("%s has a prefix of %d bits, want %d to %d: a gateway and Pods must have room, others their own networks",
			cidr, cidr.Bits(), shortest, longest)
	}
	for _, n := range noPodNetworks {
		if n.network.Overlaps(cidr) {
			return fmt.Errorf("%s has in it %s (%s), want a network that can be routed to", cidr, n.what, n.network)
		}
	}
	return nil
}

// CheckNodeAddress says why no Node can be reached by an address, whoever asks.
func CheckNodeAddress(addr netip.Addr) error {
	if what := NoHostAddress(addr); what != "" {
		return fmt.Errorf("%s is %s, want one that other Nodes reach the Node by", addr, what)
	}
	return nil
}

// NoHostAddress says what an address is that no host can be reached by from another one. It is empty for other addresses.
func NoHostAddress(addr netip.Addr) string {
	switch addr = addr.Unmap(); {
	case !addr.IsValid(), addr.IsUnspecified(), addr.Is4() && addr.As4()[0] == 0:
		return "the address of no host"
	case IsVirtual(addr):
		return "an address of every Node's pipeline"
	case addr.IsLoopback():
		return "a loopback address"
	case addr.IsMulticast():
		return "a multicast address"
	case addr.IsLinkLocalUnicast():
		return "a link-local address"
	case addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "the broadcast address"
	case addr.Zone() != "":
		return "an address with a zone"
	}
	return ""
}
