// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Generator has what features need to make flows: the tables, the round, and the Node's addresses and ports. It does not change,
// sends nothing, and does not know the features.
type Generator struct {
	*pipeline
	Features Features
	Round    uint16
	Node     *config.NodeConfig
	// meters says that the switch's datapath can limit rates of packets, LimitsBandwidth that it can limit rates of bits.
	meters          bool
	LimitsBandwidth bool
	// RootActions are the features' actions for each IP packet that enters the pipeline.
	RootActions []of.Action
}

// Family has the differences between IPv4 and IPv6 in flows that exist for both.
type Family struct {
	EthType of.Match
	CTZone  uint16
	Src     func(netip.Prefix) of.Match
	Dst     func(netip.Prefix) of.Match
	// CTSrc matches the source of the packet that opened the connection.
	CTSrc func(netip.Prefix) of.Match
	// Gateway is the gateway's address.
	Gateway netip.Addr
	// PodCIDR is the local Pod network.
	PodCIDR netip.Prefix

	// SNATZone has the connections of which the bridge has translated the source.
	SNATZone uint16
	// ServiceSource is the source of Service connections that come from the gateway and return there.
	ServiceSource netip.Addr
	// NodePort is the address to which the host sends connections to NodePorts.
	NodePort netip.Addr
}

// Families returns the address families of the Node's Pods.
func (g *Generator) Families() []Family {
	var families []Family
	if g.Node.PodIPv4CIDR.IsValid() {
		families = append(families, Family{
			EthType: of.EthType(of.EthTypeIPv4),
			CTZone:  ctZone,
			Src:     of.IPv4Src,
			Dst:     of.IPv4Dst,
			CTSrc:   of.CTIPv4Src,
			Gateway: g.Node.Gateway.IPv4,
			PodCIDR: g.Node.PodIPv4CIDR,

			SNATZone:      CTZoneSNAT,
			ServiceSource: config.VirtualServiceIPv4,
			NodePort:      config.VirtualNodePortIPv4,
		})
	}
	if g.Node.PodIPv6CIDR.IsValid() {
		families = append(families, Family{
			EthType: of.EthType(of.EthTypeIPv6),
			CTZone:  CTZoneV6,
			Src:     of.IPv6Src,
			Dst:     of.IPv6Dst,
			CTSrc:   of.CTIPv6Src,
			Gateway: g.Node.Gateway.IPv6,
			PodCIDR: g.Node.PodIPv6CIDR,

			SNATZone:      CTZoneSNATV6,
			ServiceSource: config.VirtualServiceIPv6,
			NodePort:      config.VirtualNodePortIPv6,
		})
	}
	return families
}

// FamilyOf returns the family of addr, if the pipeline carries it.
func (g *Generator) FamilyOf(addr netip.Addr) (Family, bool) {
	for _, f := range g.Families() {
		if f.Contains(addr) {
			return f, true
		}
	}
	return Family{}, false
}

func (f Family) Contains(addr netip.Addr) bool { return addr.Is4() == f.Gateway.Is4() }

// Host is the prefix that contains only addr.
func Host(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }

func Matches(m ...of.Match) []of.Match { return m }

// ServiceMatch matches a protocol with ports and the destination port, under the mask. A mask of 0 is for all ports.
func ServiceMatch(protocol uint8, port, mask uint16) []of.Match {
	match := Matches(of.IPProto(protocol))
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

// SourcePortMatch matches the source port, under the mask, of a protocol with ports. A mask of 0 is for all ports.
func SourcePortMatch(protocol uint8, port, mask uint16) []of.Match {
	switch {
	case mask == 0:
		return nil
	case protocol == of.IPProtoTCP:
		return Matches(of.TCPSrc(port, mask))
	case protocol == of.IPProtoUDP:
		return Matches(of.UDPSrc(port, mask))
	}
	return Matches(of.SCTPSrc(port, mask))
}

func (g *Generator) Flow(category CookieCategory, table string, priority uint16, match []of.Match, actions ...of.Action) of.Flow {
	return of.Flow{
		Table:    g.ID(table),
		Priority: priority,
		Cookie:   Cookie(g.Round, category),
		Match:    match,
		Actions:  actions,
	}
}

// EgressException leads packets of local Pods to a network past the Pods' Egresses.
func (g *Generator) EgressException(f Family, network netip.Prefix) of.Flow {
	return g.Flow(CookieEgress, TableEgressMark, PriorityHigh, Matches(f.EthType, FromPod.Match(), f.Dst(network)),
		ToGateway.Load(), g.ToTable(TableL2ForwardingCalc))
}

// ToTable and ToNext are the usual last actions.
func (g *Generator) ToTable(name string) of.Action { return of.GotoTable{Table: g.ID(name)} }
func (g *Generator) ToNext(name string) of.Action  { return of.GotoTable{Table: g.Next(name)} }
