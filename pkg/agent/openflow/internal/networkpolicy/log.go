// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// PolicyLogController is the id of the connections that get the packets for the audit log of policies. It is this project's own:
// packets to a Service without Endpoints must not take the place of packets for the log.
const PolicyLogController uint16 = 62374

// The user data of these packets are policyLogCategory, which is Antrea's, a direction, and policy.Rule.LogReference of the rule that
// allows the packet, or nothing for a packet dropped for lack of a rule. So the log need not know the rules, which may have changed,
// or be another agent's, when the packet arrives.
const policyLogCategory byte = 1

// policyLogHeader is the number of bytes before the reference.
const policyLogHeader = 2

// logData are the user data of a packet for the audit log.
func logData(direction policy.Direction, reference string) []byte {
	return append([]byte{policyLogCategory, byte(direction)}, reference...)
}

func (*Policies) Meters(g *pipeline.Generator) []of.MeterEntry {
	return g.PacketInMeters(pipeline.MeterPolicyLog)
}

// hitFlows returns the flows for packets that a rule allows.
//
// Logging is for the first packet of a connection: later packets also come here until there is an answer, but their mark shows that
// the connection is committed. Packets dropped behind this table commit nothing, so each is logged.
func (g policyFlows) hitFlows(r *policy.Rule, f pipeline.Family) []of.Flow {
	tables := tablesOf(r.Direction)
	note, metric := tables.conjunctionID.Is(r.FlowID).Load(), g.ToTable(tables.metric)
	hit := pipeline.Matches(f.EthType, of.ConjID(r.FlowID))
	if r.LogReference == "" {
		return []of.Flow{g.Flow(pipeline.CookieNetworkPolicy, tables.rule, pipeline.PriorityLow, hit, note, metric)}
	}
	first := append(pipeline.Matches(pipeline.ConnSourceField.Is(0).Match()), hit...)
	logged := append(g.noteLogged(), metric)
	return []of.Flow{
		g.Flow(pipeline.CookieNetworkPolicy, tables.rule, pipeline.PriorityLow, first,
			slices.Concat([]of.Action{note}, g.ReportCopy(PolicyLogController, pipeline.MeterPolicyLog, logData(r.Direction, r.LogReference)...), logged)...),
		g.Flow(pipeline.CookieNetworkPolicy, tables.rule, pipeline.PriorityLogged, hit, slices.Concat([]of.Action{note}, logged)...),
	}
}

// noteLogged notes in a packet that a rule with logging has let it pass, where the cache would repeat the verdict for later connections: each of them
// has a line in the log.
func (g policyFlows) noteLogged() []of.Action {
	if !g.Features.Openings {
		return nil
	}
	return []of.Action{pipeline.Logged.Load()}
}
