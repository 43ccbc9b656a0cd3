// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// dimension is the place of a flow in a conjunction. Flows of the default rule tables have no conjunction: only logged is used.
type dimension struct {
	clause, clauses uint8
	// logged is set if the packets that the flow drops are logged.
	logged bool
}

// policyState records which rules the switch holds, and which of them use each shared flow. The flows themselves are in the flow
// cache. It is changed within changes, under the feature's mu.
type policyState struct {
	rules map[uint32]*policy.Rule
	users map[clauseKey]users
	// conjunctions is the number of all users.
	conjunctions int
	// levels contains the levels of the rules that are not at level 0.
	levels map[uint32]Level
	// free maps a key at level 0 to the first level at which a flow may have room, unless that is level 0.
	free map[clauseKey]Level
	// counters maps a rule to the object id in the cookies of the flows that count for it. A rule that is removed and installed again
	// gets another id, which shows that its counters restarted from zero. nextCounter is the next id.
	counters    map[uint32]uint32
	nextCounter uint32
	// seats are the numbers of the ordered rules of each table, places the places of these rules, and seated the rules at each place.
	seats  map[string][]seat
	places map[uint32]tablePlace
	seated map[tablePlace]map[uint32]bool
	// former contains the priorities that a former agent has given to rules, by flow id. They are preferred, so that the flows stay the same.
	former map[uint32]uint16
	// formerClauses are the actions of the former agents' flows that rules share, and that isolate, by the flow's key; nil once these rules are
	// removed. borrowing are the flows of this round that have parts of them (former.go).
	formerClauses map[string][]of.Action
	borrowing     map[clauseKey]bool
	// maxUsers is MaxConjunctions, maxFlows MaxSharedFlows, and maxConjunctions MaxSharedConjunctions, except in tests.
	maxUsers, maxFlows, maxConjunctions int
}

func newPolicyState() *policyState {
	return &policyState{
		rules: map[uint32]*policy.Rule{}, users: map[clauseKey]users{}, levels: map[uint32]Level{}, free: map[clauseKey]Level{},
		counters: map[uint32]uint32{}, nextCounter: 1,
		seats: map[string][]seat{}, places: map[uint32]tablePlace{}, seated: map[tablePlace]map[uint32]bool{}, former: map[uint32]uint16{}, borrowing: map[clauseKey]bool{},
		maxUsers: MaxConjunctions, maxFlows: MaxSharedFlows, maxConjunctions: MaxSharedConjunctions,
	}
}

// policyChange is a change of several rules that has been computed but not yet made.
type policyChange struct {
	state *policyState
	g     policyFlows
	// users holds the flows whose users change, in their new state.
	users map[clauseKey]users
	// more and moreUsers are the numbers of flows and of their users by which the change makes them more.
	more, moreUsers int
	// rules holds the new state of changed rules; nil for removed ones.
	rules map[uint32]*policy.Rule
	// levels and free contain the new values of the state's changed ones.
	levels map[uint32]Level
	free   map[clauseKey]Level
	// numberings, places and seated contain the new values of the state's changed ones. moves counts the rules that get other priorities
	// because of others.
	numberings map[string]*numbering
	places     map[uint32]tablePlace
	seated     map[tablePlace]map[uint32]bool
	moves      int
	// replaces is set if the change removes the rules of former rounds. Otherwise borrowing reports for changed flows whether they have parts of
	// these rules.
	replaces  bool
	borrowing map[clauseKey]bool
	// affected are interfaces of Pods that the changed rules are or were applied to.
	affected map[string]bool
}

func (s *policyState) change(g policyFlows) *policyChange {
	return &policyChange{
		state: s, g: g, users: map[clauseKey]users{}, rules: map[uint32]*policy.Rule{}, levels: map[uint32]Level{}, free: map[clauseKey]Level{},
		affected: map[string]bool{}, numberings: map[string]*numbering{}, places: map[uint32]tablePlace{}, seated: map[tablePlace]map[uint32]bool{},
		borrowing: map[clauseKey]bool{},
	}
}

// rule returns the rule as it would be after the change.
func (c *policyChange) rule(id uint32) *policy.Rule {
	if r, changed := c.rules[id]; changed {
		return r
	}
	return c.state.rules[id]
}

// replace makes a change: it removes rules by id, and installs others, each in place of the rule with its id. After an error the change must be
// discarded.
func (c *policyChange) replace(install []*policy.Rule, remove []uint32) error {
	for _, id := range remove {
		if err := c.set(id, nil); err != nil {
			return err
		}
	}
	if err := c.takeSeats(install); err != nil {
		return err
	}
	for _, r := range install {
		if err := c.set(r.FlowID, r); err != nil {
			return err
		}
	}
	c.leaveSeats()
	return nil
}

// set replaces the rule with this id by r, which has a seat if it has an order; nil removes it. After an error the change must be discarded.
func (c *policyChange) set(id uint32, r *policy.Rule) error {
	old, from := c.rule(id), c.levelOf(id)
	delta := c.g.keyDelta(old, r)
	to, err := c.levelFor(id, old, r, delta)
	if err != nil {
		return err
	}
	if to != from && old != nil && r != nil {
		delta = &keyDelta{removed: c.g.keyDelta(old, nil).removed, added: c.g.keyDelta(nil, r).added, fixed: delta.fixed}
	}
	c.exchange(id, delta, from, to)
	if err := c.room(id, r, len(delta.added)-len(delta.removed)); err != nil {
		return err
	}
	c.affects(old, r, delta)
	c.rules[id], c.levels[id] = r, to
	if r == nil || !ordered(r) {
		c.sit(id, tablePlace{})
	}
	return nil
}

// levelFor returns the level for the rule r in place of old, which differs by delta. Either may be nil.
func (c *policyChange) levelFor(id uint32, old, r *policy.Rule, delta *keyDelta) (Level, error) {
	present := c.levelOf(id)
	switch {
	case r == nil:
		return 0, nil
	case ordered(r):
		return c.laneFor(old, r, present, delta)
	case baseKey(old) != baseKey(r):
		present = 0
	}
	if c.crowded(id, present, delta.added) == nil {
		return present, nil
	}
	return c.chooseLevel(r, present, c.g.keyDelta(nil, r).added)
}

// exchange removes a rule from flows at one level, and adds it to flows at another one.
func (c *policyChange) exchange(id uint32, delta *keyDelta, from, to Level) {
	for _, key := range delta.removed {
		c.removeUser(key.at(from), id)
		c.vacate(key, from)
	}
	for key, d := range delta.added {
		c.addUser(key.at(to), id, d)
	}
}

// affects notes the Pods whose connections a change of a rule can concern. A change of nothing but the peers of a rule with an order concerns
// no connection that has been let through, unless such connections are cut: no other packets come to the rules. With openings, the cache also
// knows how new connections are treated.
func (c *policyChange) affects(old, r *policy.Rule, delta *keyDelta) {
	peersOnly := old != nil && r != nil && ordered(r) && old.Effect == r.Effect && delta.fixed == 0 && !c.g.Features.CutConnections && !c.g.Features.Openings
	if peersOnly || delta.empty() && (old == nil || r == nil || old.Effect == r.Effect) {
		return
	}
	for _, rule := range []*policy.Rule{old, r} {
		if rule != nil {
			for _, pod := range rule.AppliedTo {
				c.affected[pod.InterfaceName] = true
			}
		}
	}
}

// plans returns the change as plans of the flow cache.
func (c *policyChange) plans(cache *flowstore.Cache) []flowstore.Plan {
	plans := make([]flowstore.Plan, 0, len(c.rules)+len(c.users))
	for _, id := range slices.Sorted(maps.Keys(c.rules)) {
		var flows []of.Flow
		if counter, counts := c.counter(id); counts {
			flows = mustKind(c.rules[id])(c.g, c.rules[id], baseKey(c.rules[id]).at(c.levelOf(id)).priority, counter)
		}
		plans = append(plans, cache.Plan(ruleObject(id), flows))
	}
	// Open vSwitch keeps flows that differ in nothing but their priority in a list, highest first (lib/classifier.c), and searches it from the
	// beginning for the place of each new one: an address at 1,000 places in the order costs it half a million steps if higher ones come first.
	for _, key := range slices.SortedFunc(maps.Keys(c.users), func(a, b clauseKey) int { return cmp.Compare(a.priority, b.priority) }) {
		plans = append(plans, cache.Plan(key.String(), c.sharedFlow(key, c.users[key])))
	}
	return plans
}

// sharedFlow returns the flow of a key, if it is to exist.
func (c *policyChange) sharedFlow(key clauseKey, u users) []of.Flow {
	exists, flow := len(u) > 0, of.Flow{}
	if c.replaces || c.state.formerClauses == nil {
		if exists {
			flow = c.g.clauseFlow(key, u)
		}
	} else {
		flow, c.borrowing[key], exists = c.keptFlow(key, u)
	}
	if !exists {
		return nil
	}
	return []of.Flow{flow}
}

// counter returns the object id of a changed rule's counters after the change; ok is false if it has no flows of its own.
func (c *policyChange) counter(id uint32) (counter uint32, ok bool) {
	if r := c.rules[id]; r == nil || c.g.layout(r) == (layout{}) {
		return 0, false
	}
	return cmp.Or(c.state.counters[id], c.state.nextCounter), true
}

// applyCounters records the counters of changed rules.
func (c *policyChange) applyCounters() {
	installed, removed := map[uint32]uint32{}, false
	for id := range c.rules {
		if counter, ok := c.counter(id); ok {
			installed[id] = counter
		} else if _, had := c.state.counters[id]; had {
			delete(c.state.counters, id)
			removed = true
		}
	}
	maps.Copy(c.state.counters, installed)
	if removed {
		c.state.nextCounter++
	}
}

// ruleObject names a rule's own flows in the flow cache.
func ruleObject(id uint32) string { return fmt.Sprintf("rule %d", id) }

// interfaces returns the affected interfaces, sorted.
func (c *policyChange) interfaces() []string { return slices.Sorted(maps.Keys(c.affected)) }

// apply records the change that the switch has accepted.
func (c *policyChange) apply() {
	for id, r := range c.rules {
		if r == nil {
			delete(c.state.rules, id)
		} else {
			c.state.rules[id] = r
		}
	}
	c.state.conjunctions += c.moreUsers
	for key, u := range c.users {
		if len(u) == 0 {
			delete(c.state.users, key)
		} else {
			c.state.users[key] = u
		}
	}
	c.applyLevels()
	c.applySeats()
	c.applyCounters()
	c.applyFormer()
}
