// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import "fmt"

// maxConjunctions is the maximum number of rules that share a flow: an OpenFlow message holds 4,090 conjunctions.
const maxConjunctions = 2000

// level is a priority of the rule tables. Rules that share an address, port or service share a flow, which has room for a limited
// number of them; the others go to the next level. All flows of a rule are at its level, because a conjunction has one priority. Rules
// of Kubernetes NetworkPolicies have no order, and other ones validatePolicyRule refuses. So any level will do: Open vSwitch tries lower
// priorities when no conjunction is complete at a higher one.
type level uint8

// levels is the number of levels: the lowest priority is 1, since 0 is the table's miss.
const levels = priorityNormal

func (t level) priority() uint16 { return priorityNormal - uint16(t) }

// at returns the key at a level. Drops stay at level 0: they have no conjunctions, so any number of rules can share one.
func (k clauseKey) at(t level) clauseKey {
	if !k.drop {
		k.level = t
	}
	return k
}

// levelOf returns the rule's level as it would be after the change.
func (c *policyChange) levelOf(id uint32) level {
	if t, changed := c.levels[id]; changed {
		return t
	}
	return c.state.levels[id]
}

// chooseLevel returns a level at which there is room for the rule's flows, if possible its current one.
func (c *policyChange) chooseLevel(id uint32, keys map[clauseKey]dimension) (level, error) {
	if c.rule(id) != nil {
		if t := c.levelOf(id); c.crowded(id, t, keys) == nil {
			return t, nil
		}
	}
	var first level
	for key := range keys {
		first = max(first, c.firstFree(key.at(0)))
	}
	var full clauseKey
	for t := first; t < levels; t++ {
		key := c.crowded(id, t, keys)
		if key == nil {
			return t, nil
		}
		full = *key
	}
	return 0, fmt.Errorf("policy rule %d finds no room in %d flows of %d rules each (the last was {%v}): at most %d rules can have an "+
		"address, Pod or service in common", id, levels, c.state.maxUsers, full, levels*c.state.maxUsers)
}

// crowded returns a key that has no room for the rule at the level, or nil.
func (c *policyChange) crowded(id uint32, t level, keys map[clauseKey]dimension) *clauseKey {
	for key := range keys {
		placed := key.at(t)
		u := c.usersAt(placed)
		if _, has := u[id]; has || key.drop || len(u) < c.state.maxUsers {
			continue
		}
		if base := key.at(0); c.firstFree(base) == t {
			c.free[base] = t + 1
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
func (c *policyChange) firstFree(base clauseKey) level {
	if t, changed := c.free[base]; changed {
		return t
	}
	return c.state.free[base]
}

// vacate notes that a flow has lost a user.
func (c *policyChange) vacate(key clauseKey) {
	if base := key.at(0); key.level < c.firstFree(base) {
		c.free[base] = key.level
	}
}

// applyLevels makes the state reflect that the switch has accepted the change.
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
