// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// connectionTracking is the feature that sends every IP packet through conntrack once, and commits connections whose packets
// have passed all policy tables.
type connectionTracking struct{}

func registerConnectionTracking(c *core) { c.register("connection tracking", connectionTracking{}) }

func (connectionTracking) tables(Features) []tableSpec {
	return []tableSpec{
		{name: tableConntrackZone, stage: stageConntrackState},
		{name: tableConntrackState, stage: stageConntrackState},
		{name: tableConntrackCommit, stage: stageConntrackCommit},
	}
}

func (connectionTracking) baseFlows(g *generator) []of.Flow {
	const category = cookiePodConnectivity
	var flows []of.Flow
	for _, f := range g.families() {
		flows = append(flows,
			g.flow(category, tableConntrackZone, priorityNormal, matches(f.ethType),
				of.CT{Zone: f.ctZone, NAT: true, Table: g.id(tableConntrackState)}),
			g.flow(category, tableConntrackState, priorityNormal, matches(f.ethType, of.CTState("+inv+trk"))),
			// Known connections have already been load-balanced.
			g.flow(category, tableConntrackState, priorityLow, matches(f.ethType, of.CTState("-new+trk"), notServiceCT.match()),
				of.GotoTable{Table: g.firstOf(stageEgressSecurity)}),
			// The label says which rules have admitted the connection. The recirculated packet goes to Output, not to the next
			// table: no packet that has been recirculated after the policy tables may reach ONCacheMark (see oncache.go).
			g.flow(category, tableConntrackCommit, priorityNormal, matches(f.ethType, of.CTState("+new+trk"), notSNATCT.match()),
				of.CT{Commit: true, Zone: f.ctZone, Table: g.id(tableOutput), Exec: []of.Action{
					moveBits(packetSourceField, connSourceField),
					moveBits(ingressConjunctionID, ingressRuleCTLabel),
					moveBits(egressConjunctionID, egressRuleCTLabel),
				}}),
		)
	}
	return flows
}
