// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// selectionFlows leads packets of new connections through the choice of an Endpoint.
func selectionFlows(g *pipeline.Generator) []of.Flow {
	const category = pipeline.CookieService
	flows := []of.Flow{
		g.Flow(category, pipeline.TableEndpointDNAT, pipeline.PriorityNormal, pipeline.Matches(pipeline.SvcNoEndpoint.Match()),
			g.Report(ServiceRejectController, pipeline.MeterServiceReject, ServiceRejectCategory)...),
		g.Flow(category, pipeline.TableEndpointDNAT, pipeline.PriorityNormal, pipeline.Matches(pipeline.ServiceElsewhere.Match())),
		// The Endpoint of the client's affinity no longer exists.
		g.Flow(category, pipeline.TableEndpointDNAT, pipeline.PriorityLow, pipeline.Matches(pipeline.ServiceSelected.Match()),
			pipeline.ServiceToSelect.Load(), of.Resubmit{Table: g.ID(pipeline.TableServiceLB)}),
	}
	classify := []string{pipeline.TableSessionAffinity, pipeline.TableServiceLB}
	if g.Features.ProxyAll {
		classify = append([]string{pipeline.TableNodePortMark}, classify...)
	}
	var resubmits []of.Action
	for _, table := range classify {
		resubmits = append(resubmits, of.Resubmit{Table: g.ID(table)})
	}
	for _, f := range g.Families() {
		flows = append(flows, g.Flow(category, pipeline.TablePreRoutingClassifier, pipeline.PriorityNormal, pipeline.Matches(f.EthType), resubmits...))
	}
	return flows
}

// hairpinFlows sends packets of hairpin connections back to where they have come from, past ingress policies: a Pod may reach itself.
func hairpinFlows(g *pipeline.Generator) []of.Flow {
	return []of.Flow{
		g.Flow(pipeline.CookieService, pipeline.TableIngressSecurityClassifier, pipeline.PriorityNormal, pipeline.Matches(pipeline.HairpinCT.Match()), g.ToTable(pipeline.TableConntrackCommit)),
		g.Flow(pipeline.CookieService, pipeline.TableOutput, pipeline.PriorityHigh, pipeline.Matches(pipeline.HairpinCT.Match()), of.OutputInPort{}),
	}
}

// errorOfClient matches ICMP errors about packets from the server, which are related to a known connection, in its direction.
var errorOfClient = of.CTState("-new+rel-rpl+trk")

// translatedFlows routes packets of connections that conntrack translates.
func translatedFlows(g *pipeline.Generator, f pipeline.Family) []of.Flow {
	const category = pipeline.CookieService
	gatewayMAC := of.SetEthDst{MAC: g.Node.Gateway.MAC}
	var flows []of.Flow
	if g.Features.AntreaPolicy {
		// Answers of the agent to packets that policies reject. Such a connection ends with them, so it cannot be established.
		flows = append(flows, g.Flow(category, pipeline.TableConntrackState, pipeline.PriorityNormal+1,
			pipeline.Matches(f.EthType, of.CTState("-new+rpl+trk"), pipeline.ServiceCT.Match(), pipeline.GeneratedReject.Match()),
			pipeline.RewriteMAC.Load(), of.GotoTable{Table: g.FirstOf(pipeline.StageEgressSecurity)}))
	}
	return append(flows,
		// Each end sees the other behind the gateway.
		g.Flow(category, pipeline.TableConntrackState, pipeline.PriorityLow, pipeline.Matches(f.EthType, of.CTState("-new+trk"), pipeline.ServiceCT.Match()),
			pipeline.RewriteMAC.Load(), of.GotoTable{Table: g.FirstOf(pipeline.StageEgressSecurity)}),
		// ICMP errors from the client's side. The kernel translates these only with commit (nf_ct_nat in net/netfilter/nf_nat_ovs.c), which
		// commits nothing: the connection is known. They come back to this table, which drops them if their connection has ended. The client
		// is behind a Pod or the gateway, never behind the tunnel, whose packets have RewriteMAC from the beginning.
		g.Flow(category, pipeline.TableConntrackState, pipeline.PriorityLow+1, pipeline.Matches(f.EthType, errorOfClient, pipeline.ServiceCT.Match(), pipeline.NoRewriteMAC.Match()),
			pipeline.RewriteMAC.Load(), of.CT{Commit: true, Zone: f.CTZone, NAT: true, Table: g.ID(pipeline.TableConntrackState)}),
		// EndpointDNAT must enter a connection into conntrack before the policy tables. ConntrackCommit or SNATMark write the source into
		// the mark when they have let the connection pass. Without this flow, an Endpoint could answer a connection that policies have
		// refused, and so establish it.
		g.Flow(category, pipeline.TableConntrackState, pipeline.PriorityNormal, pipeline.Matches(f.EthType, of.CTState("-new+trk"), pipeline.ServiceCT.Match(), pipeline.ConnSourceField.Is(0).Match())),
		// An Endpoint that is neither a Pod nor on this Node, for a client behind the gateway.
		g.Flow(category, pipeline.TableL3Forwarding, pipeline.PriorityLow, pipeline.Matches(f.EthType, pipeline.ServiceCT.Match(), pipeline.FromGateway.Match(), pipeline.RewriteMAC.Match()),
			gatewayMAC, pipeline.ToGateway.Load(), g.ToTable(pipeline.TableL3DecTTL)),
		// To a Pod of this Node without flows, at the start of an agent: the host would send the packet back to the bridge, which would see a
		// new connection of the translated addresses and give it another source port, so that the other end would reset it. Packets that
		// open connections take that way, so that a client hears from the host that an Endpoint is gone.
		g.Flow(category, pipeline.TableL3Forwarding, pipeline.PriorityLow+1,
			pipeline.Matches(f.EthType, of.CTState("-new+trk"), pipeline.ServiceCT.Match(), pipeline.RewriteMAC.Match(), f.Dst(f.PodCIDR))),
	)
}

// sourceTranslationFlows translates the source of new connections whose replies would otherwise not return through this bridge.
// SNATMark marks them in their zone. SNAT translates them in a second zone, which contains a connection for each, with the same marks:
// the tables behind it see only that zone's. UnSNAT undoes the translation for replies.
func sourceTranslationFlows(g *pipeline.Generator, f pipeline.Family) []of.Flow {
	const category = pipeline.CookieService
	toSNAT := func(priority uint16, match []of.Match, source netip.Addr, marks ...pipeline.FieldValue) of.Flow {
		return g.Flow(category, pipeline.TableSNAT, priority, append(match, f.EthType, of.CTState("+new+trk")),
			translateSource(f, g.Next(pipeline.TableSNAT), source, marks...))
	}
	var flows []of.Flow
	for _, t := range gatewayTranslations(f) {
		flows = append(flows, g.Flow(category, pipeline.TableSNATMark, pipeline.PriorityNormal, t.match, g.MarkSNAT(f, t.marks...)))
	}
	flows = append(flows,
		toSNAT(pipeline.PriorityNormal, pipeline.Matches(pipeline.HairpinCT.Match(), pipeline.FromGateway.Match()), f.ServiceSource, pipeline.HairpinCT),
		toSNAT(pipeline.PriorityNormal, pipeline.Matches(pipeline.HairpinCT.Match(), pipeline.FromPod.Match()), f.Gateway, pipeline.HairpinCT),
		toSNAT(pipeline.PriorityLow, pipeline.Matches(pipeline.SNATCT.Match(), pipeline.FromGateway.Match()), f.Gateway),
		g.Flow(category, pipeline.TableSNAT, pipeline.PriorityNormal, pipeline.Matches(f.EthType, of.CTState("-new-rpl+trk"), pipeline.SNATCT.Match()),
			of.CT{Zone: f.SNATZone, NAT: true, Table: g.Next(pipeline.TableSNAT)}),
		g.Flow(category, pipeline.TableSNAT, pipeline.PriorityHigh, pipeline.Matches(f.EthType, errorOfClient, pipeline.SNATCT.Match()),
			of.CT{Commit: true, Zone: f.SNATZone, NAT: true, Table: g.Next(pipeline.TableSNAT)}),
	)
	for _, source := range []netip.Addr{f.ServiceSource, f.Gateway} {
		flows = append(flows, g.Flow(category, pipeline.TableUnSNAT, pipeline.PriorityNormal, pipeline.Matches(f.EthType, f.Dst(pipeline.Host(source))),
			of.CT{Zone: f.SNATZone, NAT: true, Table: g.Next(pipeline.TableUnSNAT)}))
	}
	return flows
}

// sourceTranslation says how the sources of some new connections from the gateway are translated.
type sourceTranslation struct {
	match  []of.Match
	source netip.Addr
	// marks belong to the connection, besides the mark of all translated connections.
	marks []pipeline.FieldValue
}

func gatewayTranslations(f pipeline.Family) []sourceTranslation {
	to := func(destination pipeline.FieldValue, more ...of.Match) []of.Match {
		return append(pipeline.Matches(f.EthType, of.CTState("+new+trk"), pipeline.ServiceCT.Match(), pipeline.FromGateway.Match(), destination.Match()), more...)
	}
	return []sourceTranslation{
		{to(pipeline.ToGateway), f.ServiceSource, []pipeline.FieldValue{pipeline.HairpinCT}},
		{to(pipeline.ToTunnel, pipeline.ExternalAddress.Match(), pipeline.DSRField.Is(0).Match()), f.Gateway, nil},
	}
}

// translateSource enters the translated connection into the second zone.
func translateSource(f pipeline.Family, next uint8, source netip.Addr, marks ...pipeline.FieldValue) of.CT {
	return of.CT{Commit: true, Zone: f.SNATZone, Table: next, NATTo: &of.NATTo{Source: true, First: source}, Exec: pipeline.Loads(append(marks, pipeline.ServiceCT, pipeline.SNATCT))}
}
