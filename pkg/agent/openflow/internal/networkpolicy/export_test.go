// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"testing"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// PretendTiers adds kinds for rules of tiers, with an order that is only good enough for tests.
func PretendTiers(t *testing.T) {
	t.Helper()
	before := maps.Clone(ruleKinds)
	t.Cleanup(func() { ruleKinds = before })
	ruleKinds = maps.Clone(before)
	table := func(d policy.Direction) string {
		if d == policy.Ingress {
			return pipeline.TableAntreaPolicyIngressRule
		}
		return pipeline.TableAntreaPolicyEgressRule
	}
	kind := func(hit func(g policyFlows, r *policy.Rule) []of.Action) ruleKind {
		return ruleKind{
			table:      table,
			priorities: func(o policy.Order) (uint16, Level) { return 10_000 - uint16(o.Rule), 1 },
			own: func(g policyFlows, r *policy.Rule, _ uint32) (flows []of.Flow) {
				for _, f := range g.Families() {
					flows = append(flows, g.Flow(pipeline.CookieNetworkPolicy, table(r.Direction), pipeline.PriorityLow, pipeline.Matches(f.EthType, of.ConjID(r.FlowID)), hit(g, r)...))
				}
				return flows
			},
		}
	}
	ruleKinds[kindKey{stage: policy.StageTiers, action: policy.Allow}] = kind(func(g policyFlows, r *policy.Rule) []of.Action {
		tables := tablesOf(r.Direction)
		return []of.Action{tables.conjunctionID.Is(r.FlowID).Load(), g.ToTable(tables.metric)}
	})
	ruleKinds[kindKey{stage: policy.StageTiers, action: policy.Drop}] = kind(func(policyFlows, *policy.Rule) []of.Action { return nil })
	ruleKinds[kindKey{stage: policy.StageTiers, action: policy.Pass}] = kind(func(g policyFlows, r *policy.Rule) []of.Action {
		return []of.Action{g.ToTable(tablesOf(r.Direction).rule)}
	})
}

// policyOwner is a client with this feature.
type policyOwner interface{ ownPolicies() *Policies }

func (n *Policies) ownPolicies() *Policies { return n }

func policiesOf(c any) *policyState { return c.(policyOwner).ownPolicies().policy }

// RuleMap returns the rules by flow id.
func RuleMap(c any) map[uint32]*policy.Rule { return policiesOf(c).rules }

// ClauseUsers returns the rules of each shared flow.
func ClauseUsers(c any) any { return policiesOf(c).users }

func RuleLevels(c any) map[uint32]Level { return policiesOf(c).levels }

func FreeLevels(c any) any { return policiesOf(c).free }

func MaxUsersOf(c any) int { return policiesOf(c).maxUsers }

// SetMaxUsers replaces MaxConjunctions. Call it before there are rules.
func SetMaxUsers(c any, rules int) { policiesOf(c).maxUsers = rules }

// CopyCounters gives rules the counters of another client.
func CopyCounters(to, from any) { policiesOf(to).counters = maps.Clone(policiesOf(from).counters) }

// DeltaOf returns the numbers of flows that the rule leaves and joins.
func DeltaOf(g *pipeline.Generator, before, after *policy.Rule) (removed, added int) {
	delta := policyFlows{g}.keyDelta(before, after)
	return len(delta.removed), len(delta.added)
}

// PeerClauses returns the number of clauses of the rule's conjunction.
func PeerClauses(g *pipeline.Generator, r *policy.Rule) uint8 {
	return policyFlows{g}.layout(r).peers.clauses
}
