// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"net"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Types of ICMPv6 messages (RFC 4861, section 4).
const (
	icmpv6RouterAdvertisement   = 134
	icmpv6NeighborSolicitation  = 135
	icmpv6NeighborAdvertisement = 136
	icmpv6Redirect              = 137
)

var (
	ipv6Multicast = netip.MustParsePrefix("ff00::/8")

	NoMAC = net.HardwareAddr{0, 0, 0, 0, 0, 0}
)

// ipv6Flows are the flows for neighbor discovery and multicast, which the bridge forwards like a learning switch. Router
// advertisements and redirects from Pods are dropped, and neighbor discovery that neighborFlows does not admit: with false
// messages a Pod could attract the traffic of others (CVE-2020-10749).
func ipv6Flows(g *pipeline.Generator) []of.Flow {
	if !g.Features.IPv6 {
		return nil
	}
	const category = pipeline.CookiePodConnectivity
	flows := []of.Flow{
		g.Flow(category, pipeline.TableIPv6, pipeline.PriorityLow, pipeline.Matches(of.EthType(of.EthTypeIPv6), of.IPv6Dst(ipv6Multicast)), of.Normal{}),
	}
	for _, t := range []uint8{icmpv6NeighborSolicitation, icmpv6NeighborAdvertisement} {
		flows = append(flows, g.Flow(category, pipeline.TableIPv6, pipeline.PriorityHigh,
			append(icmpv6(t), of.ICMPv6Code(0), pipeline.FromGateway.Match()), of.Normal{}))
	}
	for t := uint8(icmpv6RouterAdvertisement); t <= icmpv6Redirect; t++ {
		flows = append(flows, g.Flow(category, pipeline.TableIPv6, pipeline.PriorityNormal, append(icmpv6(t), pipeline.FromPod.Match())))
	}
	return flows
}

// neighborFlows lets a Pod use its link-local address and take part in neighbor discovery: it may send solicitations with its
// own MAC address, and advertise its own addresses with its own MAC address. An advertisement that answers a unicast solicitation
// need not repeat the MAC address (RFC 4861, section 7.2.4). The code is matched although it is always 0, because Open vSwitch
// reads the options of messages with this code only (CVE-2023-5366).
//
// If Open vSwitch cannot read the options of a message, such as one with two link-layer addresses, the message has neither
// target nor link-layer address for it, and matches none of these flows.
func neighborFlows(g *pipeline.Generator, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) []of.Flow {
	const category = pipeline.CookiePodConnectivity
	linkLocal := LinkLocalAddress(mac)
	flows := []of.Flow{
		g.Flow(category, pipeline.TableSpoofGuard, pipeline.PriorityNormal,
			pipeline.Matches(of.EthType(of.EthTypeIPv6), of.InPort(ofPort), of.EthSrc(mac), of.IPv6Src(pipeline.Host(linkLocal))), g.ToTable(pipeline.TableIPv6)),
		g.Flow(category, pipeline.TableIPv6, pipeline.PriorityHigh,
			append(icmpv6(icmpv6NeighborSolicitation), of.ICMPv6Code(0), of.InPort(ofPort), of.NDSLL(mac)), of.Normal{}),
	}
	for _, target := range append([]netip.Addr{linkLocal}, ips...) {
		if target.Is4() {
			continue
		}
		for _, tll := range []net.HardwareAddr{mac, NoMAC} {
			flows = append(flows, g.Flow(category, pipeline.TableIPv6, pipeline.PriorityHigh,
				append(icmpv6(icmpv6NeighborAdvertisement), of.ICMPv6Code(0), of.InPort(ofPort), of.NDTarget(target), of.NDTLL(tll)),
				of.Normal{}))
		}
	}
	return flows
}

func icmpv6(messageType uint8) []of.Match {
	return pipeline.Matches(of.EthType(of.EthTypeIPv6), of.IPProto(of.IPProtoICMPv6), of.ICMPv6Type(messageType))
}

// LinkLocalAddress is the link-local address with the interface identifier of mac (RFC 4291, appendix A). The CNI server
// makes Pods use it, regardless of the Node's default for new interfaces.
func LinkLocalAddress(mac net.HardwareAddr) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80,
		8: mac[0] ^ 0x02, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]})
}
