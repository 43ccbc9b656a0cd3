// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// generator turns configuration into flows. It holds no state and sends nothing: equal input gives equal flows in equal
// order.
type generator struct {
	*pipeline
	features Features
	round    uint16
	node     *config.NodeConfig
}

// family is what differs between IPv4 and IPv6 in flows that exist for both.
type family struct {
	ethType of.Match
	ctZone  uint16
	src     func(netip.Prefix) of.Match
	dst     func(netip.Prefix) of.Match
	// gateway is the gateway's address.
	gateway netip.Addr
	// podCIDR is the local Pod network.
	podCIDR netip.Prefix
	// checked is the table after SpoofGuard.
	checked uint8
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
			checked: g.firstOf(stageConntrackState),
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
			checked: g.id(tableIPv6),
		})
	}
	return families
}

// contains tells whether addr is of this family.
func (f family) contains(addr netip.Addr) bool { return addr.Is4() == f.gateway.Is4() }

// host is the prefix that contains only addr.
func host(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }

func matches(m ...of.Match) []of.Match { return m }

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

// base returns the flows that exist whatever Pods and Nodes there are.
func (g *generator) base() []of.Flow {
	flows := g.missFlows()
	flows = append(flows, g.classifierFlows()...)
	flows = append(flows, g.gatewayFlows()...)
	flows = append(flows, g.ipv6Flows()...)
	flows = append(flows, g.tunnelFlows()...)
	flows = append(flows, g.forwardingFlows()...)
	flows = append(flows, g.conntrackFlows()...)
	return append(flows, g.policyBypassFlows()...)
}

// missFlows returns the flow of lowest priority of every table.
func (g *generator) missFlows() []of.Flow {
	var flows []of.Flow
	for _, spec := range g.tables {
		var actions []of.Action
		switch spec.miss {
		case missNext:
			actions = []of.Action{g.toNext(spec.name)}
		case missToGateway:
			actions = []of.Action{toGateway.load(), g.toTable(tableL2ForwardingCalc)}
		case missDrop:
		}
		flows = append(flows, g.flow(cookieDefault, spec.name, priorityMiss, nil, actions...))
	}
	return flows
}

// classifierFlows separates the protocols that the pipeline knows; others are dropped.
func (g *generator) classifierFlows() []of.Flow {
	flows := []of.Flow{
		g.flow(cookieDefault, tablePipelineRootClassifier, priorityNormal, matches(of.EthType(of.EthTypeARP)),
			g.toTable(tableARPSpoofGuard)),
	}
	for _, f := range g.families() {
		flows = append(flows, g.flow(cookieDefault, tablePipelineRootClassifier, priorityNormal, matches(f.ethType),
			append(g.stampActions(), g.toTable(tableClassifier))...))
	}
	return flows
}
