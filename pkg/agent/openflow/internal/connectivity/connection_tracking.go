// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// connectionTracking is the feature that sends every IP packet through conntrack once, and commits connections whose packets
// have passed all policy tables.
type connectionTracking struct{}

func RegisterConnectionTracking(c *pipeline.Core) {
	c.Register("connection tracking", connectionTracking{})
}

func (connectionTracking) Tables(pipeline.Features) []pipeline.TableSpec {
	return []pipeline.TableSpec{
		{Name: pipeline.TableConntrackZone, ID: 40, Stage: pipeline.StageConntrackState},
		{Name: pipeline.TableConntrackState, ID: 45, Stage: pipeline.StageConntrackState},
		{Name: pipeline.TableConntrackCommit, ID: 165, Stage: pipeline.StageConntrackCommit},
	}
}

func (connectionTracking) BaseFlows(g *pipeline.Generator) []of.Flow {
	const category = pipeline.CookiePodConnectivity
	var flows []of.Flow
	for _, f := range g.Families() {
		flows = append(flows,
			g.Flow(category, pipeline.TableConntrackZone, pipeline.PriorityNormal, pipeline.Matches(f.EthType),
				of.CT{Zone: f.CTZone, NAT: true, Table: g.ID(pipeline.TableConntrackState)}),
			g.Flow(category, pipeline.TableConntrackState, pipeline.PriorityNormal, pipeline.Matches(f.EthType, of.CTState("+inv+trk"))),
			// Known connections have already been load-balanced.
			g.Flow(category, pipeline.TableConntrackState, pipeline.PriorityLow, pipeline.Matches(f.EthType, of.CTState("-new+trk"), pipeline.NotServiceCT.Match()),
				of.GotoTable{Table: g.FirstOf(pipeline.StageEgressSecurity)}),
		)
		flows = append(flows, commitFlows(g, f)...)
	}
	return flows
}

// commitFlows commit the connections of packets that have passed all policy tables. The label says which rules have admitted the connection. The
// packet continues to Output, not to the next table, and is not recirculated: that would cost each connection one more lookup in the kernel's
// flows, among more masks.
//
// A Pod may have a connection to an Endpoint through a Service, or have closed one lately, and open another one to the Endpoint itself, from the same port:
// conntrack would refuse it. NAT without an address gives it another source port then.
//
// No new packet is invalid; that is matched because established packets are compared with it: the first packet to a Service then has their mask.
//
// With ONCache, nearly all packets match the same fields as packets of established connections in ONCacheMark, so that the kernel's flows of both have
// one mask.
func commitFlows(g *pipeline.Generator, f pipeline.Family) []of.Flow {
	commit := []of.Action{
		of.CT{Commit: true, Zone: f.CTZone, NATTo: &of.NATTo{Source: true}, Exec: []of.Action{
			pipeline.MoveBits(pipeline.PacketSourceField, pipeline.ConnSourceField),
			pipeline.MoveBits(pipeline.IngressConjunctionID, pipeline.IngressRuleCTLabel),
			pipeline.MoveBits(pipeline.EgressConjunctionID, pipeline.EgressRuleCTLabel),
		}}, pipeline.Committed.Load(),
	}
	flow := func(priority uint16, match ...of.Match) of.Flow {
		return g.Flow(pipeline.CookiePodConnectivity, pipeline.TableConntrackCommit, priority, append(match, f.EthType, of.CTState("+new-inv+trk")),
			append(slices.Clone(commit), g.ToTable(pipeline.TableOutput))...)
	}
	if !g.Features.ONCache {
		return []of.Flow{flow(pipeline.PriorityNormal, pipeline.NotSNATCT.Match())}
	}
	flows := []of.Flow{
		flow(pipeline.PriorityNormal, pipeline.ONCacheEpochField.Is(0).Match(), of.CTMark(0, pipeline.SNATCTField.Mask()|pipeline.L7CTField.Mask())),
		flow(pipeline.PriorityLow, pipeline.NotSNATCT.Match()),
	}
	if g.Features.Openings {
		flows = append(flows, openingFlow(g, f, commit))
	}
	return flows
}

// openingFlow also leads a packet to ONCacheMark if its connection is new and not translated, redirected or related, and if no rule that let it pass has
// logged it. There, conntrack's fields are gone, so a register says that it is such a packet. The packet is marked behind the commit: with a mark,
// it would not meet the flow that commits most packets.
func openingFlow(g *pipeline.Generator, f pipeline.Family, commit []of.Action) of.Flow {
	return g.Flow(pipeline.CookiePodConnectivity, pipeline.TableConntrackCommit, pipeline.PriorityHigh,
		pipeline.Matches(f.EthType, pipeline.ONCacheEpochField.Is(0).Match(), of.CTState("+new-est-rel-rpl-inv+trk"), of.CTMark(0, untouchedConnection),
			pipeline.NotLogged.Match()),
		append(slices.Clone(commit), pipeline.Opening.Load(), g.ToTable(pipeline.TableONCacheMark))...)
}

// untouchedConnection are the bits of ct_mark of which a connection to a Service, with a translated source, to itself, or through L7 rules has one.
const untouchedConnection = 0xf0
