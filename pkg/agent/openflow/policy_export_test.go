// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"maps"
	"testing"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// pretendTiers adds kinds for rules of tiers, with an order that is only good enough for tests.
func pretendTiers(t *testing.T) {
	t.Helper()
	before := maps.Clone(ruleKinds)
	t.Cleanup(func() { ruleKinds = before })
	ruleKinds = maps.Clone(before)
	table := func(d policy.Direction) string {
		if d == policy.Ingress {
			return tableAntreaPolicyIngressRule
		}
		return tableAntreaPolicyEgressRule
	}
	kind := func(hit func(g policyFlows, r *policy.Rule) []of.Action) ruleKind {
		return ruleKind{
			table:      table,
			priorities: func(o policy.Order) (uint16, level) { return 10_000 - uint16(o.Rule), 1 },
			own: func(g policyFlows, r *policy.Rule, _ uint32) (flows []of.Flow) {
				for _, f := range g.families() {
					flows = append(flows, g.flow(cookieNetworkPolicy, table(r.Direction), priorityLow, matches(f.ethType, of.ConjID(r.FlowID)), hit(g, r)...))
				}
				return flows
			},
		}
	}
	ruleKinds[kindKey{stage: policy.StageTiers, action: policy.Allow}] = kind(func(g policyFlows, r *policy.Rule) []of.Action {
		tables := tablesOf(r.Direction)
		return []of.Action{tables.conjunctionID.is(r.FlowID).load(), g.toTable(tables.metric)}
	})
	ruleKinds[kindKey{stage: policy.StageTiers, action: policy.Drop}] = kind(func(policyFlows, *policy.Rule) []of.Action { return nil })
	ruleKinds[kindKey{stage: policy.StageTiers, action: policy.Pass}] = kind(func(g policyFlows, r *policy.Rule) []of.Action {
		return []of.Action{g.toTable(tablesOf(r.Direction).rule)}
	})
}

// policyOwner is a client with this feature.
type policyOwner interface{ ownPolicies() *networkPolicy }

func (n *networkPolicy) ownPolicies() *networkPolicy { return n }

func policiesOf(c any) *policyState { return c.(policyOwner).ownPolicies().policy }

// ruleMap returns the rules by flow id.
func ruleMap(c any) map[uint32]*policy.Rule { return policiesOf(c).rules }

// clauseUsers returns the rules of each shared flow.
func clauseUsers(c any) any { return policiesOf(c).users }

func ruleLevels(c any) map[uint32]level { return policiesOf(c).levels }

func freeLevels(c any) any { return policiesOf(c).free }

func maxUsersOf(c any) int { return policiesOf(c).maxUsers }

// setMaxUsers replaces maxConjunctions. Call it before there are rules.
func setMaxUsers(c any, rules int) { policiesOf(c).maxUsers = rules }

// copyCounters gives rules the counters of another client.
func copyCounters(to, from any) { policiesOf(to).counters = maps.Clone(policiesOf(from).counters) }

// deltaOf returns the numbers of flows that the rule leaves and joins.
func deltaOf(g *generator, before, after *policy.Rule) (removed, added int) {
	delta := policyFlows{g}.keyDelta(before, after)
	return len(delta.removed), len(delta.added)
}

// peerClauses returns the number of clauses of the rule's conjunction.
func peerClauses(g *generator, r *policy.Rule) uint8 { return policyFlows{g}.layout(r).peers.clauses }
