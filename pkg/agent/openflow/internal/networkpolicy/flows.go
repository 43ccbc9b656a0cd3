// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// policyFlows makes the flows of policy rules.
type policyFlows struct{ *pipeline.Generator }

// policyTables are the tables and fields of one direction.
type policyTables struct {
	tiers, rule, defaultRule, metric string
	// conjunctionID is the register that keeps the id of the rule that matched, ctLabel its place in the connection label.
	conjunctionID, ctLabel pipeline.BitField
}

func tablesOf(d policy.Direction) policyTables {
	if d == policy.Ingress {
		return policyTables{pipeline.TableAntreaPolicyIngressRule, pipeline.TableIngressRule, pipeline.TableIngressDefaultRule, pipeline.TableIngressMetric, pipeline.IngressConjunctionID, pipeline.IngressRuleCTLabel}
	}
	return policyTables{pipeline.TableAntreaPolicyEgressRule, pipeline.TableEgressRule, pipeline.TableEgressDefaultRule, pipeline.TableEgressMetric, pipeline.EgressConjunctionID, pipeline.EgressRuleCTLabel}
}

// RuleTable returns the name of the table in which rules of a stage and direction decide.
func RuleTable(stage policy.Stage, d policy.Direction) string {
	switch {
	case stage == policy.StageBaseline:
		return tablesOf(d).defaultRule
	case stage != policy.StageTiers:
		return tablesOf(d).rule
	case d == policy.Ingress:
		return pipeline.TableAntreaPolicyIngressRule
	}
	return pipeline.TableAntreaPolicyEgressRule
}

// MetricTable returns the name of the table in which packets are counted and dropped that rules of the direction deny.
func MetricTable(d policy.Direction) string { return tablesOf(d).metric }

// clauseKey is the match of a flow in a rule or default rule table. Rules with a common address or port share the flow. Exactly one of
// ofPort, group, prefix and service is set, or none of them for any address.
type clauseKey struct {
	direction policy.Direction
	table     string
	priority  uint16
	// drop is set for flows that isolate. They have no conjunctions.
	drop bool
	// ofPort is the port that the packet leaves through, for Pods that ingress rules are applied to.
	ofPort uint32
	// group is the group that has chosen the Endpoint of a Service. With nodePort, only packets to a NodePort match.
	group    uint32
	nodePort bool
	// prefix holds the source if source is set, else the destination. With original, it is the source of the packet that opened the
	// connection, before any translation.
	prefix           netip.Prefix
	source, original bool
	service          service
	// v6 is the IP version of a service.
	v6 bool
}

// service is policy.Service as a key: types and codes of ICMP are values, or anyValue.
type service struct {
	protocol                           uint8
	port, mask, sourcePort, sourceMask uint16
	icmpType, icmpCode                 int16
}

const anyValue = -1

func serviceOf(s policy.Service) service {
	value := func(v *uint8) int16 {
		if v == nil {
			return anyValue
		}
		return int16(*v)
	}
	return service{s.Protocol, s.Port, s.Mask, s.SourcePort, s.SourceMask, value(s.ICMPType), value(s.ICMPCode)}
}

// matches returns the match of a service in one IP version.
func (s service) matches(f pipeline.Family) []of.Match {
	if s.protocol != of.IPProtoICMP {
		return append(pipeline.ServiceMatch(s.protocol, s.port, s.mask), pipeline.SourcePortMatch(s.protocol, s.sourcePort, s.sourceMask)...)
	}
	protocol, icmpType, icmpCode := of.IPProtoICMP, of.ICMPType, of.ICMPCode
	if f.Gateway.Is6() {
		protocol, icmpType, icmpCode = of.IPProtoICMPv6, of.ICMPv6Type, of.ICMPv6Code
	}
	match := pipeline.Matches(of.IPProto(uint8(protocol)))
	if s.icmpType != anyValue {
		match = append(match, icmpType(uint8(s.icmpType)))
	}
	if s.icmpCode != anyValue {
		match = append(match, icmpCode(uint8(s.icmpCode)))
	}
	return match
}

// String is unique: it names the flow in the flow cache.
func (k clauseKey) String() string {
	return fmt.Sprintf("%s priority=%d drop=%t port=%d group=%d,%t prefix=%v source=%t,%t service=%+v v6=%t", k.table, k.priority, k.drop, k.ofPort,
		k.group, k.nodePort, k.prefix, k.source, k.original, k.service, k.v6)
}

// clause is a rule's dimension: the packet must match one of its keys.
type clause []clauseKey

// appliedClause is the local end of the rule's connections. base is the rule's base key, or its isolation key.
func (g policyFlows) appliedClause(base clauseKey, r *policy.Rule) clause {
	var keys clause
	for _, group := range r.AppliedToServices {
		key := base
		key.group, key.nodePort = group, true
		keys = append(keys, key)
	}
	for _, pod := range r.AppliedTo {
		key := base
		if r.Direction == policy.Ingress {
			key.ofPort = pod.OFPort
			keys = append(keys, key)
			continue
		}
		for _, ip := range pod.IPs {
			if g.carries(ip) {
				key.prefix, key.source = pipeline.Host(ip), true
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// peer returns the key of a peer of rules with this base key.
func (k clauseKey) peer(peer netip.Prefix) clauseKey {
	k.prefix, k.source = peer, k.direction == policy.Ingress
	return k
}

// peerServices are the Services among the peers of a rule.
func (g policyFlows) peerServices(r *policy.Rule) clause {
	var keys clause
	for _, group := range r.PeerServices {
		key := baseKey(r)
		key.group = group
		keys = append(keys, key)
	}
	return keys
}

func (g policyFlows) serviceClause(r *policy.Rule) clause {
	var keys clause
	key := baseKey(r)
	for _, service := range r.Services {
		for _, f := range g.Families() {
			key.service, key.v6 = serviceOf(service), f.Gateway.Is6()
			keys = append(keys, key)
		}
	}
	return keys
}

// layout maps a rule's clauses to the dimensions of its conjunction. The zero value allows nothing.
type layout struct{ peers, applied, services dimension }

// layout numbers the dimensions of the rule: source, destination, service.
func (g policyFlows) layout(r *policy.Rule) layout {
	if r == nil || len(g.appliedClause(baseKey(r), r)) == 0 || g.peersOf(r).None() && len(r.PeerServices) == 0 {
		return layout{}
	}
	clauses := uint8(2)
	if len(r.Services) > 0 {
		clauses = 3
	}
	source, destination, service := dimension{clause: 1, clauses: clauses}, dimension{clause: 2, clauses: clauses}, dimension{clause: 3, clauses: clauses}
	if r.Direction == policy.Egress {
		return layout{peers: destination, applied: source, services: service}
	}
	return layout{peers: source, applied: destination, services: service}
}

// peersOf returns the peers of a rule, of the IP versions that the pipeline carries; no peers if the rule is nil.
func (g policyFlows) peersOf(r *policy.Rule) policy.Peers {
	return policy.PeersOf(r, g.Node.PodIPv4CIDR.IsValid(), g.Node.PodIPv6CIDR.IsValid())
}

// carries reports whether the pipeline has flows for the address's family.
func (g policyFlows) carries(addr netip.Addr) bool {
	_, ok := g.FamilyOf(addr)
	return ok
}

// clauseFlow returns the flow of the key with the conjunctions of its users, or the drop.
func (g policyFlows) clauseFlow(key clauseKey, u users) of.Flow {
	var actions []of.Action
	switch {
	case !key.drop:
		actions = u.conjunctions()
	case g.Features.RecordDenied && u.logged():
		actions = g.reportDenied(key.table, pipeline.DispositionDrop, OperationStore|OperationLog)
	case g.Features.RecordDenied:
		actions = g.reportDenied(key.table, pipeline.DispositionDrop, OperationStore)
	case u.logged():
		actions = g.Report(PolicyLogController, pipeline.MeterPolicyLog, logData(key.direction, "")...)
	}
	return g.Flow(pipeline.CookieNetworkPolicy, key.table, key.priority, g.clauseMatch(key), actions...)
}

func (g policyFlows) clauseMatch(key clauseKey) []of.Match {
	if key.ofPort != 0 {
		return pipeline.Matches(pipeline.TargetOFPortField.Is(key.ofPort).Match())
	}
	if key.group != 0 {
		match := pipeline.Matches(pipeline.ServiceGroupIDField.Is(key.group).Match())
		if key.nodePort {
			match = append(match, pipeline.NodePortAddress.Match())
		}
		return match
	}
	for _, f := range g.Families() {
		switch {
		case key.prefix.IsValid() && !f.Contains(key.prefix.Addr()):
		case key.prefix.IsValid() && key.original:
			return pipeline.Matches(f.EthType, of.CTState("+new+trk"), f.CTSrc(key.prefix))
		case key.prefix.IsValid() && key.source:
			return pipeline.Matches(f.EthType, f.Src(key.prefix))
		case key.prefix.IsValid():
			return pipeline.Matches(f.EthType, f.Dst(key.prefix))
		case key.v6 == f.Gateway.Is6():
			return append(pipeline.Matches(f.EthType), key.service.matches(f)...)
		}
	}
	panic(fmt.Sprintf("policy clause %v is of a family that the pipeline does not carry", key))
}

// admittingFlows returns the own flows of a rule that allows: the match of its conjunction, and its counters.
//
// The former writes the rule's id into a register, and ConntrackCommit copies it into the connection label. So a connection exists in
// conntrack only when both directions allow it, and no packet is recirculated between the policy tables. counter is the object id in
// the cookies of the flows that count.
func (g policyFlows) admittingFlows(r *policy.Rule, _ uint16, counter uint32) []of.Flow {
	var flows []of.Flow
	for _, f := range g.Families() {
		flows = append(flows, g.hitFlows(r, f)...)
		flows = append(flows, g.admittedFlows(r, f, counter)...)
	}
	return flows
}

// admittedFlows count what a rule allows.
func (g policyFlows) admittedFlows(r *policy.Rule, f pipeline.Family, counter uint32) []of.Flow {
	tables := tablesOf(r.Direction)
	counts := func(match ...of.Match) of.Flow {
		flow := g.Flow(pipeline.CookieNetworkPolicy, tables.metric, pipeline.PriorityNormal, append(pipeline.Matches(f.EthType), match...), g.ToNext(tables.metric))
		flow.Cookie |= uint64(counter)
		return flow
	}
	return []of.Flow{
		// A packet that opens a connection has no label yet, and packets of known connections bypass the rules.
		counts(of.CTState("+new"), tables.conjunctionID.Is(r.FlowID).Match()),
		counts(of.CTState("-new"), tables.ctLabel.Is(r.FlowID).Match()),
	}
}
