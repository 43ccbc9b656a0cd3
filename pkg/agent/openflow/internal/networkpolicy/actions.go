// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// allowingFlows are the own flows of a rule with an order that allows. See admittingFlows for the label of the connection.
func (g policyFlows) allowingFlows(r *policy.Rule, priority uint16, counter uint32) []of.Flow {
	tables := tablesOf(r.Direction)
	actions := []of.Action{tables.conjunctionID.Is(r.FlowID).Load()}
	if r.LogReference != "" {
		actions = slices.Concat(actions, g.report(r, pipeline.DispositionAllow, OperationLog), reported())
	}
	var flows []of.Flow
	for _, f := range g.Families() {
		flows = append(flows, g.hit(r, priority, pipeline.Matches(f.EthType), slices.Concat(actions, []of.Action{g.ToTable(tables.metric)})))
		flows = append(flows, g.admittedFlows(r, f, counter)...)
	}
	return flows
}

// denyingFlows are the own flows of a rule that drops or rejects. The first action decides: the metric table drops every packet with
// APDeny, whether the flow that counts for the rule is there or not (see deniedFlows).
func (g policyFlows) denyingFlows(r *policy.Rule, priority uint16, counter uint32) []of.Flow {
	tables := tablesOf(r.Direction)
	actions := []of.Action{pipeline.APDenyConjunctionID.Is(r.FlowID).Load(), pipeline.APDeny.Load()}
	operations, disposition := PolicyOperations(0), pipeline.DispositionDrop
	if r.LogReference != "" {
		operations |= OperationLog
	}
	if r.Effect.Action == policy.Reject {
		operations, disposition = operations|OperationReject, pipeline.DispositionReject
	}
	if g.Features.RecordDenied {
		operations |= OperationStore
	}
	if operations != 0 {
		actions = append(actions, g.report(r, disposition, operations)...)
	}
	counts := g.Flow(pipeline.CookieNetworkPolicy, tables.metric, pipeline.PriorityNormal,
		pipeline.Matches(pipeline.APDeny.Match(), pipeline.APDenyConjunctionID.Is(r.FlowID).Match()))
	counts.Cookie |= uint64(counter)
	return []of.Flow{g.hit(r, priority, nil, append(actions, g.ToTable(tables.metric))), counts}
}

// passingFlows are the own flows of a rule that leaves the decision to the rules of Kubernetes policies, and these to the baseline. It is noted
// only while the packet is reported: if no other rule decides, none has let the connection pass.
func (g policyFlows) passingFlows(r *policy.Rule, priority uint16, _ uint32) []of.Flow {
	tables := tablesOf(r.Direction)
	var actions []of.Action
	if r.LogReference != "" {
		note := tables.conjunctionID
		actions = slices.Concat([]of.Action{note.Is(r.FlowID).Load()}, g.report(r, pipeline.DispositionPass, OperationLog), reported(),
			[]of.Action{note.Is(0).Load()})
	}
	return []of.Flow{g.hit(r, priority, nil, append(actions, g.ToTable(tables.rule)))}
}

// hit is the flow for packets that match the whole conjunction of a rule.
func (g policyFlows) hit(r *policy.Rule, priority uint16, match []of.Match, actions []of.Action) of.Flow {
	return g.Flow(pipeline.CookieNetworkPolicy, tableOf(r), priority, append(match, of.ConjID(r.FlowID)), actions...)
}

// report sends a copy of the packet to the agent, as far as the meter has room, with what the agent must know in registers. The packet itself
// continues with the next action: nothing that the copy meets can change the verdict. Antrea sends it through a group and the table Output
// instead. A flow would vanish with its group, and in Output a packet of a hairpin connection would leave the bridge.
func (g policyFlows) report(r *policy.Rule, disposition pipeline.FieldValue, operations PolicyOperations) []of.Action {
	return g.reportFrom(tableOf(r), disposition, operations)
}

// reportFrom is report for a decision in the table.
func (g policyFlows) reportFrom(table string, disposition pipeline.FieldValue, operations PolicyOperations) []of.Action {
	return []of.Action{
		disposition.Load(), pipeline.PacketInOperationField.Is(uint32(operations)).Load(),
		pipeline.PacketInTableField.Is(uint32(g.ID(table))).Load(),
		g.ToAgent(PolicyLogController, pipeline.MeterPolicyLog, policyLogCategory, byte(operations)),
	}
}

// reported undoes the loads of report for a packet that continues: another rule may report it.
func reported() []of.Action {
	return []of.Action{pipeline.DispositionAllow.Load(), pipeline.PacketInOperationField.Is(0).Load()}
}

// deniedFlows drop every denied packet that the flow of no rule counts. So a rule that denies needs no flow but its own hit.
func deniedFlows(g *pipeline.Generator) (flows []of.Flow) {
	if !g.Features.AntreaPolicy {
		return nil
	}
	for _, d := range []policy.Direction{policy.Egress, policy.Ingress} {
		flows = append(flows, g.Flow(pipeline.CookieNetworkPolicy, tablesOf(d).metric, pipeline.PriorityLow, pipeline.Matches(pipeline.APDeny.Match())))
	}
	return flows
}
