// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// MaxConjunctions is the maximum number of rules that share a flow: an OpenFlow message holds 4,090 conjunctions.
const MaxConjunctions = 2000

const (
	// MaxSharedFlows is the maximum number of flows that rules share, one for each address, Pod and service at each place in the order of rules. A
	// flow takes 1 KB of the agent and 1.2 KB of Open vSwitch.
	MaxSharedFlows = 500_000
	// MaxSharedConjunctions is the maximum number of rules of all these flows: a flow names each rule that shares it, and is sent again when one of
	// them comes or goes. A conjunction takes some 40 bytes of the agent.
	MaxSharedConjunctions = 5_000_000
	// smallRule is the number of flows up to which a rule is never refused for the number of all: a rule that isolates must find room.
	smallRule = 100
)

// Level is the distance of a rule's flows from the highest priority of its kind. Rules that share an address, port or service share a
// flow, which has room for a limited number of them; the others use the next level. All flows of a rule are at its level, because a
// conjunction has one priority. Rules without an order, such as the rules of Kubernetes NetworkPolicies, may be at any level: Open
// vSwitch tries lower priorities when no conjunction is complete at a higher one. The level of a rule with an order is given by its place (see
// seats.go); a lane of the place has room instead of a level.
type Level uint16

// Levels is the number of levels of rules without an order: their lowest priority is 1, since 0 is the table's miss.
const Levels = pipeline.PriorityNormal

// at returns a key of level 0 at another level. Drops stay at level 0: they have no conjunctions, so any number of rules can share one.
func (k clauseKey) at(t Level) clauseKey {
	if !k.drop {
		k.priority -= uint16(t)
	}
	return k
}

// levelOf returns the rule's level as it would be after the change.
func (c *policyChange) levelOf(id uint32) Level {
	if t, changed := c.levels[id]; changed {
		return t
	}
	return c.state.levels[id]
}

// chooseLevel returns a level at which there is room for the rule's flows, if possible the present one. keys are at level 0.
func (c *policyChange) chooseLevel(r *policy.Rule, present Level, keys map[clauseKey]dimension) (Level, error) {
	id := r.FlowID
	if c.rule(id) != nil && c.crowded(id, present, keys) == nil {
		return present, nil
	}
	var first Level
	for key := range keys {
		first = max(first, c.firstFree(key))
	}
	var full clauseKey
	for t := first; t < Levels; t++ {
		key := c.crowded(id, t, keys)
		if key == nil {
			return t, nil
		}
		full = *key
	}
	return 0, fmt.Errorf("policy rule %d finds no room in %d flows of %d rules each (the last was {%v}): at most %d rules can have an "+
		"address, Pod or service in common", id, Levels, c.state.maxUsers, full, Levels*c.state.maxUsers)
}

// crowded returns a key that has no room for the rule at the level, or nil. keys are at level 0.
func (c *policyChange) crowded(id uint32, t Level, keys map[clauseKey]dimension) *clauseKey {
	for key := range keys {
		placed := key.at(t)
		u := c.usersAt(placed)
		if key.drop || len(u) < c.state.maxUsers || u.has(id) {
			continue
		}
		if c.firstFree(key) == t {
			c.free[key] = t + 1
		}
		return &placed
	}
	return nil
}

// usersAt returns the users of a flow, for reading only.
func (c *policyChange) usersAt(key clauseKey) users {
	if u, changed := c.users[key]; changed {
		return u
	}
	return c.state.users[key]
}

// firstFree returns the first level at which the key may have room.
func (c *policyChange) firstFree(base clauseKey) Level {
	if t, changed := c.free[base]; changed {
		return t
	}
	return c.state.free[base]
}

// vacate notes that the flow of a key of level 0 has lost a user at a level.
func (c *policyChange) vacate(base clauseKey, t Level) {
	if !base.drop && t < c.firstFree(base) {
		c.free[base] = t
	}
}

// applyLevels records the change that the switch has accepted.
func (c *policyChange) applyLevels() {
	for id, t := range c.levels {
		if t == 0 {
			delete(c.state.levels, id)
		} else {
			c.state.levels[id] = t
		}
	}
	for base, t := range c.free {
		if t == 0 {
			delete(c.state.free, base)
		} else {
			c.state.free[base] = t
		}
	}
}

// room returns an error if a rule, which joins a number of flows more than it leaves, makes the flows of rules, or the rules of all flows, too many.
// Rules that close and rules that only isolate always have room.
func (c *policyChange) room(id uint32, r *policy.Rule, joined int) error {
	if joined <= smallRule || r.Closes || c.g.layout(r) == (layout{}) {
		return nil
	}
	if total := len(c.state.users) + c.more; total > c.state.maxFlows {
		return fmt.Errorf("policy rule %d joins %d flows, and the rules of this Node have %d with it, but at most %d: each address of a group is "+
			"a flow at each place in the order of rules; want fewer rules of different priority with such groups, or smaller groups", id, joined, total, c.state.maxFlows)
	}
	if total := c.state.conjunctions + c.moreUsers; total > c.state.maxConjunctions {
		return fmt.Errorf("policy rule %d joins %d flows, and the flows of this Node name %d rules with it, but at most %d: each address of a group names "+
			"each rule with the group; want fewer rules with such groups, or smaller groups", id, joined, total, c.state.maxConjunctions)
	}
	return nil
}
