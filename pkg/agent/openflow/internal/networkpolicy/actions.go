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
		actions = slices.Concat(actions, g.reportLogged(r, pipeline.DispositionAllow))
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
		actions = append(actions, g.reportDenied(tableOf(r), disposition, operations)...)
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
	if r.LogReference == "" {
		return []of.Flow{g.hit(r, priority, nil, []of.Action{g.ToTable(tables.rule)})}
	}
	note := tables.conjunctionID
	actions := slices.Concat([]of.Action{note.Is(r.FlowID).Load()}, g.reportLogged(r, pipeline.DispositionPass),
		[]of.Action{note.Is(0).Load(), g.ToTable(tables.rule)})
	var flows []of.Flow
	for _, f := range g.Families() {
		flows = append(flows, g.hit(r, priority, pipeline.Matches(f.EthType), actions))
	}
	return flows
}

// hit is the flow for packets that match the whole conjunction of a rule.
func (g policyFlows) hit(r *policy.Rule, priority uint16, match []of.Match, actions []of.Action) of.Flow {
	return g.Flow(pipeline.CookieNetworkPolicy, tableOf(r), priority, append(match, of.ConjID(r.FlowID)), actions...)
}

// reportDenied sends a copy of a packet that a rule denies, or isolation in the table, to the agent, with what the agent must know in registers.
// The packet is dropped whatever the copy meets. Antrea sends it through a group and the table Output instead. A flow would vanish with its group,
// and in Output a packet of a hairpin connection would leave the bridge.
func (g policyFlows) reportDenied(table string, disposition pipeline.FieldValue, operations PolicyOperations) []of.Action {
	return append(g.decision(table, disposition, operations), g.Report(PolicyLogController, pipeline.MeterPolicyLog, policyLogCategory, byte(operations))...)
}

// reportLogged sends a copy of an IP packet that continues to the audit log. It undoes its loads: another rule may report the packet.
func (g policyFlows) reportLogged(r *policy.Rule, disposition pipeline.FieldValue) []of.Action {
	return slices.Concat(g.decision(tableOf(r), disposition, OperationLog),
		g.ReportCopy(PolicyLogController, pipeline.MeterPolicyLog, policyLogCategory, byte(OperationLog)),
		[]of.Action{pipeline.DispositionAllow.Load(), pipeline.PacketInOperationField.Is(0).Load()}, g.noteLogged())
}

// decision notes a decision in the table.
func (g policyFlows) decision(table string, disposition pipeline.FieldValue, operations PolicyOperations) []of.Action {
	return []of.Action{
		disposition.Load(), pipeline.PacketInOperationField.Is(uint32(operations)).Load(), pipeline.PacketInTableField.Is(uint32(g.ID(table))).Load(),
	}
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
