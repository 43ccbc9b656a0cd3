// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// generator has what features need to make flows: the tables, the round, and the Node's addresses and ports. It does not change,
// sends nothing, and does not know the features.
type generator struct {
	*pipeline
	features Features
	round    uint16
	node     *config.NodeConfig
	// meters says that the switch's datapath can limit rates of packets.
	meters bool
	// rootActions are the features' actions for each IP packet that enters the pipeline.
	rootActions []of.Action
}

// family has the differences between IPv4 and IPv6 in flows that exist for both.
type family struct {
	ethType of.Match
	ctZone  uint16
	src     func(netip.Prefix) of.Match
	dst     func(netip.Prefix) of.Match
	// gateway is the gateway's address.
	gateway netip.Addr
	// podCIDR is the local Pod network.
	podCIDR netip.Prefix

	// snatZone has the connections of which the bridge has translated the source.
	snatZone uint16
	// serviceSource is the source of Service connections that come from the gateway and return there.
	serviceSource netip.Addr
	// nodePort is where the host sends connections to NodePorts.
	nodePort netip.Addr
}

// families returns the address families that the pipeline carries: those of the Node's Pods.
func (g *generator) families() []family {
	var families []family
	if g.node.PodIPv4CIDR.IsValid() {
		families = append(families, family{
			ethType: of.EthType(of.EthTypeIPv4),
			ctZone:  ctZone,
			src:     of.IPv4Src,
			dst:     of.IPv4Dst,
			gateway: g.node.Gateway.IPv4,
			podCIDR: g.node.PodIPv4CIDR,

			snatZone:      ctZoneSNAT,
			serviceSource: config.VirtualServiceIPv4,
			nodePort:      config.VirtualNodePortIPv4,
		})
	}
	if g.node.PodIPv6CIDR.IsValid() {
		families = append(families, family{
			ethType: of.EthType(of.EthTypeIPv6),
			ctZone:  ctZoneV6,
			src:     of.IPv6Src,
			dst:     of.IPv6Dst,
			gateway: g.node.Gateway.IPv6,
			podCIDR: g.node.PodIPv6CIDR,

			snatZone:      ctZoneSNATV6,
			serviceSource: config.VirtualServiceIPv6,
			nodePort:      config.VirtualNodePortIPv6,
		})
	}
	return families
}

// familyOf returns the family of addr, if the pipeline carries it.
func (g *generator) familyOf(addr netip.Addr) (family, bool) {
	for _, f := range g.families() {
		if f.contains(addr) {
			return f, true
		}
	}
	return family{}, false
}

// contains tells whether addr is of this family.
func (f family) contains(addr netip.Addr) bool { return addr.Is4() == f.gateway.Is4() }

// host is the prefix that contains only addr.
func host(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }

func matches(m ...of.Match) []of.Match { return m }

// serviceMatch matches a protocol with ports and the destination port, under the mask. A mask of 0 is for all ports.
func serviceMatch(protocol uint8, port, mask uint16) []of.Match {
	match := matches(of.IPProto(protocol))
	if mask == 0 {
		return match
	}
	switch protocol {
	case of.IPProtoTCP:
		return append(match, of.TCPDst(port, mask))
	case of.IPProtoUDP:
		return append(match, of.UDPDst(port, mask))
	default:
		return append(match, of.SCTPDst(port, mask))
	}
}

func (g *generator) flow(category cookieCategory, table string, priority uint16, match []of.Match, actions ...of.Action) of.Flow {
	return of.Flow{
		Table:    g.id(table),
		Priority: priority,
		Cookie:   cookie(g.round, category),
		Match:    match,
		Actions:  actions,
	}
}

// toTable and toNext are the usual last actions.
func (g *generator) toTable(name string) of.Action { return of.GotoTable{Table: g.id(name)} }
func (g *generator) toNext(name string) of.Action  { return of.GotoTable{Table: g.next(name)} }
