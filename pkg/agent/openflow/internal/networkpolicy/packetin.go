// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// PolicyOperations tells the agent how to handle a packet that policies have decided about: bits of reg0[25-31]. The values are Antrea's.
type PolicyOperations uint8

const (
	// OperationLog writes a line of the audit log.
	OperationLog PolicyOperations = 1 << iota
	// OperationReject answers the packet, which is dropped.
	OperationReject
	// OperationStore records the refused connection for the FlowExporter.
	OperationStore
)

// PolicyPacket is a packet that policies have decided about, with what the pipeline knows about it.
type PolicyPacket struct {
	Operations PolicyOperations
	Direction  policy.Direction
	Action     policy.Action
	// FlowID is the rule that decides; 0 if none does, because the Pod is isolated.
	FlowID uint32
	// Rule is this rule if it is on the switch, nil otherwise.
	Rule *policy.Rule
	// Reference is the LogReference of the rule; empty if no rule decides, or if the rule is no longer known.
	Reference string
	// Table is the name of the table of the decision, Priority the priority of the flow with the action of the rule; 0 if it is unknown.
	Table    string
	Priority uint16
	// PodPort is the OpenFlow port of the Pod whose policies have decided.
	PodPort uint32
	// InPort and OutPort are OpenFlow ports. OutPort is 0 if the destination is not known yet.
	InPort, OutPort uint32
	// Translated says that the pipeline of this Node has chosen the destination among the Endpoints of a Service.
	Translated bool
	// Generated says that the agent itself has sent the packet, as the answer to a rejected one.
	Generated bool
	// Frame is the packet from its Ethernet header on.
	Frame []byte
}

// Has reports whether the agent shall do all of the operations.
func (p *PolicyPacket) Has(operations PolicyOperations) bool {
	return p.Operations&operations == operations
}

func (n *Policies) ParsePolicyPacket(p *of.PacketIn) (PolicyPacket, error) {
	g := n.socket.Generator()
	if g == nil {
		return PolicyPacket{}, pipeline.ErrNotInitialized
	}
	parsed, err := parsePolicyPacket(p, g.Names())
	if err != nil {
		return parsed, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if parsed.Rule = n.policy.rules[parsed.FlowID]; parsed.Rule != nil {
		parsed.Priority = n.policy.actionPriority(parsed.Rule)
		if parsed.Reference == "" {
			parsed.Reference = parsed.Rule.LogReference
		}
	}
	return parsed, nil
}

// actionPriority returns the priority of the flow that carries out the action of an installed rule.
func (s *policyState) actionPriority(r *policy.Rule) uint16 {
	if r.Effect.Order.Stage == policy.StageKubernetes {
		return pipeline.PriorityLow
	}
	return baseKey(r).at(s.levels[r.FlowID]).priority
}

// parsePolicyPacket reads what the packet itself says. names are the names of the tables.
//
// Flows of rules with an order send a packet with the user data policyLogCategory and operations; everything else is in the registers. Flows of
// rules of Kubernetes policies send it with the user data policyLogCategory, a direction, and the LogReference of the rule.
func parsePolicyPacket(p *of.PacketIn, names map[uint8]string) (PolicyPacket, error) {
	if len(p.UserData) < policyLogHeader || p.UserData[0] != policyLogCategory {
		return PolicyPacket{}, fmt.Errorf("packet-in with the user data %#x: want the category %d and another byte", p.UserData, policyLogCategory)
	}
	r := pipeline.Registers{Packet: p}
	parsed := PolicyPacket{
		InPort: p.InPort(), OutPort: r.Value(pipeline.TargetOFPortField), Translated: r.Holds(pipeline.ServiceSelected),
		Generated: r.Holds(pipeline.GeneratedReject), Operations: PolicyOperations(r.Value(pipeline.PacketInOperationField)), Frame: p.Data,
	}
	var err error
	if parsed.Operations == 0 {
		err = parsed.ofRuleFlow(p.UserData, r)
	} else {
		err = parsed.ofOrderedRule(names[uint8(r.Value(pipeline.PacketInTableField))], r)
	}
	if err != nil {
		return PolicyPacket{}, err
	}
	parsed.PodPort = parsed.InPort
	if parsed.Direction == policy.Ingress {
		parsed.PodPort = parsed.OutPort
	}
	return parsed, nil
}

// ofRuleFlow completes a packet that a flow of a Kubernetes policy has sent by itself: the flow of a rule that allows, which notes the rule's
// id before, or a flow that isolates.
func (p *PolicyPacket) ofRuleFlow(userData []byte, r pipeline.Registers) error {
	p.Operations, p.Direction, p.Reference = OperationLog, policy.Direction(userData[1]), string(userData[policyLogHeader:])
	if p.Direction != policy.Ingress && p.Direction != policy.Egress {
		return fmt.Errorf("packet-in with the user data %#x: %v is not a direction", userData, p.Direction)
	}
	tables := tablesOf(p.Direction)
	p.Action, p.Table = policy.Drop, tables.defaultRule
	if p.Reference != "" {
		p.Action, p.Table, p.FlowID, p.Priority = policy.Allow, tables.rule, r.Value(tables.conjunctionID), pipeline.PriorityLow
	}
	return nil
}

// ofOrderedRule completes a packet that the flow of a rule with an order has sent.
func (p *PolicyPacket) ofOrderedRule(table string, r pipeline.Registers) error {
	direction, known := decisionTables[table]
	if !known {
		return fmt.Errorf("packet-in with operations %d of policies, from the table %q: policies do not decide there", p.Operations, table)
	}
	p.Direction, p.Table = direction, table
	denied := r.Holds(pipeline.APDeny)
	switch disposition := r.Value(pipeline.APDispositionField); {
	case disposition == pipeline.DispositionReject.Value:
		p.Action = policy.Reject
	case denied || disposition == pipeline.DispositionDrop.Value:
		p.Action = policy.Drop
	case disposition == pipeline.DispositionPass.Value:
		p.Action = policy.Pass
	default:
		p.Action = policy.Allow
	}
	switch {
	case denied: // Before a decision the register has the address of an Endpoint.
		p.FlowID = r.Value(pipeline.APDenyConjunctionID)
	case p.Action == policy.Allow || p.Action == policy.Pass:
		p.FlowID = r.Value(tablesOf(direction).conjunctionID)
	}
	return nil
}

// decisionTables maps the tables in which policies decide to their directions.
var decisionTables = map[string]policy.Direction{
	pipeline.TableAntreaPolicyEgressRule: policy.Egress, pipeline.TableEgressRule: policy.Egress, pipeline.TableEgressDefaultRule: policy.Egress,
	pipeline.TableAntreaPolicyIngressRule: policy.Ingress, pipeline.TableIngressRule: policy.Ingress, pipeline.TableIngressDefaultRule: policy.Ingress,
}
