// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"maps"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// dimension is the place of a flow in a conjunction.
type dimension struct{ clause, clauses uint8 }

// users are the rules that share a flow, by flow id. In the default rule tables the dimension has no meaning.
type users map[uint32]dimension

// policyState is which rules the switch holds, and which of them use each shared flow. The flows themselves are in the flow
// cache. It is changed under the client's changeMu only.
type policyState struct {
	rules map[uint32]*PolicyRule
	users map[clauseKey]users
}

func newPolicyState() *policyState {
	return &policyState{rules: map[uint32]*PolicyRule{}, users: map[clauseKey]users{}}
}

// policyChange is a change of several rules that has been computed but not yet made.
type policyChange struct {
	state *policyState
	g     *generator
	// users holds the flows whose users change, in their new state.
	users map[clauseKey]users
	// rules holds the new state of changed rules; nil for removed ones.
	rules map[uint32]*PolicyRule
	// affected are interfaces of Pods that the changed rules are or were applied to.
	affected map[string]bool
}

func (s *policyState) change(g *generator) *policyChange {
	return &policyChange{state: s, g: g, users: map[clauseKey]users{}, rules: map[uint32]*PolicyRule{}, affected: map[string]bool{}}
}

// rule returns the rule as it would be after the change.
func (c *policyChange) rule(id uint32) *PolicyRule {
	if r, changed := c.rules[id]; changed {
		return r
	}
	return c.state.rules[id]
}

// set makes the rule with this id be r; nil removes it.
func (c *policyChange) set(id uint32, r *PolicyRule) {
	before, after := c.keys(c.rule(id)), c.keys(r)
	changed := false
	for key := range before {
		if _, stays := after[key]; !stays {
			delete(c.usersOf(key), id)
			changed = true
		}
	}
	for key, d := range after {
		if old, had := before[key]; !had || old != d {
			c.usersOf(key)[id] = d
			changed = true
		}
	}
	for _, rule := range []*PolicyRule{c.rule(id), r} {
		if rule != nil && changed {
			for _, pod := range rule.AppliedTo {
				c.affected[pod.InterfaceName] = true
			}
		}
	}
	c.rules[id] = r
}

// keys returns all shared flows that the rule uses.
func (c *policyChange) keys(r *PolicyRule) map[clauseKey]dimension {
	if r == nil {
		return nil
	}
	keys := map[clauseKey]dimension{}
	clauses := c.g.clauses(r)
	for i, clause := range clauses {
		for _, key := range clause {
			keys[key] = dimension{uint8(i + 1), uint8(len(clauses))}
		}
	}
	for _, key := range c.g.appliedClause(r, true) {
		keys[key] = dimension{}
	}
	return keys
}

// usersOf returns the users of a flow for changing.
func (c *policyChange) usersOf(key clauseKey) users {
	u, cloned := c.users[key]
	if !cloned {
		if u = maps.Clone(c.state.users[key]); u == nil {
			u = users{}
		}
		c.users[key] = u
	}
	return u
}

// plans returns the change as plans of the flow cache.
func (c *policyChange) plans(cache *flowCache) []plan {
	plans := make([]plan, 0, len(c.rules)+len(c.users))
	for _, id := range slices.Sorted(maps.Keys(c.rules)) {
		var flows []of.Flow
		if r := c.rules[id]; r != nil && c.g.clauses(r) != nil {
			flows = c.g.ruleFlows(r)
		}
		plans = append(plans, cache.plan(ruleObject(id), flows))
	}
	for key, u := range c.users {
		var flows []of.Flow
		if len(u) > 0 {
			flows = []of.Flow{c.g.clauseFlow(key, u.actions(key))}
		}
		plans = append(plans, cache.plan(key.String(), flows))
	}
	return plans
}

// ruleObject names a rule's own flows in the flow cache.
func ruleObject(id uint32) string { return fmt.Sprintf("rule %d", id) }

// actions are the conjunctions of a rule table's flow, in the order of ids; a flow of a default rule table drops.
func (u users) actions(key clauseKey) []of.Action {
	if key.drop {
		return nil
	}
	actions := make([]of.Action, 0, len(u))
	for _, id := range slices.Sorted(maps.Keys(u)) {
		actions = append(actions, of.Conjunction{ID: id, Clause: u[id].clause, NClauses: u[id].clauses})
	}
	return actions
}

// interfaces are the affected ones, sorted.
func (c *policyChange) interfaces() []string { return slices.Sorted(maps.Keys(c.affected)) }

// apply makes the state reflect that the switch has accepted the change.
func (c *policyChange) apply() {
	for id, r := range c.rules {
		if r == nil {
			delete(c.state.rules, id)
		} else {
			c.state.rules[id] = r
		}
	}
	for key, u := range c.users {
		if len(u) == 0 {
			delete(c.state.users, key)
		} else {
			c.state.users[key] = u
		}
	}
}
