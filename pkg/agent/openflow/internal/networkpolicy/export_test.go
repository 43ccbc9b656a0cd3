// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"testing"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

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

// Numbers returns the priorities of the places of a table with rules, the first one first.
func Numbers(c any, table string) (numbers []uint16) {
	for _, s := range policiesOf(c).seats[table] {
		numbers = append(numbers, s.number)
	}
	return numbers
}

// SetMaxUsers replaces MaxConjunctions. Call it before there are rules.
func SetMaxUsers(c any, rules int) { policiesOf(c).maxUsers = rules }

// SetMaxFlows replaces MaxSharedFlows.
func SetMaxFlows(c any, flows int) { policiesOf(c).maxFlows = flows }

// SetMaxConjunctions replaces MaxSharedConjunctions.
func SetMaxConjunctions(c any, conjunctions int) { policiesOf(c).maxConjunctions = conjunctions }

// Conjunctions returns the number of rules of all shared flows, as it is counted and as it is.
func Conjunctions(c any) (counted, present int) {
	for _, u := range policiesOf(c).users {
		present += len(u)
	}
	return policiesOf(c).conjunctions, present
}

// SharedFlows returns the number of flows that rules share.
func SharedFlows(c any) int { return len(policiesOf(c).users) }

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

// ShrinkNumbers limits the tables of tiers to size priorities.
func ShrinkNumbers(t *testing.T, size uint16) {
	t.Helper()
	before := tierNumbers
	t.Cleanup(func() { tierNumbers = before })
	tierNumbers.bottom = tierNumbers.top - reserved - size + 1
}
