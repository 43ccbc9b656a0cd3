// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
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
		{Name: pipeline.TableConntrackZone, Stage: pipeline.StageConntrackState},
		{Name: pipeline.TableConntrackState, Stage: pipeline.StageConntrackState},
		{Name: pipeline.TableConntrackCommit, Stage: pipeline.StageConntrackCommit},
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
			// The label says which rules have admitted the connection. The recirculated packet goes to Output, not to the next
			// table: no packet that has been recirculated after the policy tables may reach ONCacheMark (see package mark).
			g.Flow(category, pipeline.TableConntrackCommit, pipeline.PriorityNormal, pipeline.Matches(f.EthType, of.CTState("+new+trk"), pipeline.NotSNATCT.Match()),
				of.CT{Commit: true, Zone: f.CTZone, Table: g.ID(pipeline.TableOutput), Exec: []of.Action{
					pipeline.MoveBits(pipeline.PacketSourceField, pipeline.ConnSourceField),
					pipeline.MoveBits(pipeline.IngressConjunctionID, pipeline.IngressRuleCTLabel),
					pipeline.MoveBits(pipeline.EgressConjunctionID, pipeline.EgressRuleCTLabel),
				}}),
		)
	}
	return flows
}
