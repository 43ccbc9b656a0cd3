// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"

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

// LoggedPacket describes a packet for the audit log.
type LoggedPacket struct {
	Direction policy.Direction
	Action    policy.Action
	// Reference is the LogReference of the rule that decides; empty if none does.
	Reference string
	// Table is the table of the decision, Priority the priority of the flow of the rule that decides, 0 if none does.
	Table    string
	Priority uint16
	// PodPort is the OpenFlow port of the Pod whose policies have decided.
	PodPort uint32
}

// ParseLoggedPacket parses a packet that has come to PolicyLogController.
func ParseLoggedPacket(p *of.PacketIn) (LoggedPacket, error) {
	if len(p.UserData) < policyLogHeader || p.UserData[0] != policyLogCategory {
		return LoggedPacket{}, fmt.Errorf("packet-in with the user data %#x: want the category %d and a direction", p.UserData, policyLogCategory)
	}
	logged := LoggedPacket{Direction: policy.Direction(p.UserData[1]), Reference: string(p.UserData[policyLogHeader:])}
	switch logged.Direction {
	case policy.Egress:
		logged.PodPort = p.InPort()
	case policy.Ingress:
		logged.PodPort = p.Reg(uint8(pipeline.TargetOFPortField.Field - of.FieldReg0))
	default:
		return LoggedPacket{}, fmt.Errorf("packet-in with the user data %#x: %v is no direction", p.UserData, logged.Direction)
	}
	tables := tablesOf(logged.Direction)
	logged.Action, logged.Table = policy.Drop, tables.defaultRule
	if logged.Reference != "" { // only admittingFlows have one
		logged.Action, logged.Table, logged.Priority = policy.Allow, tables.rule, pipeline.PriorityLow
	}
	return logged, nil
}

// log is the action that sends a copy of the packet to the audit log.
func (g policyFlows) log(direction policy.Direction, reference string) of.Action {
	return g.ToAgent(PolicyLogController, pipeline.MeterPolicyLog, append([]byte{policyLogCategory, byte(direction)}, reference...)...)
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
	return []of.Flow{
		g.Flow(pipeline.CookieNetworkPolicy, tables.rule, pipeline.PriorityLow, first, note, g.log(r.Direction, r.LogReference), metric),
		g.Flow(pipeline.CookieNetworkPolicy, tables.rule, pipeline.PriorityLogged, hit, note, metric),
	}
}
