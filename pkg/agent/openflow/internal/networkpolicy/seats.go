// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// tablePlace is a place in one of the tables that number their rules. The zero value is not a place.
type tablePlace struct {
	table string
	place place
}

func placeIn(r *policy.Rule, lane int) tablePlace {
	return tablePlace{tableOf(r), placeOf(r.Effect, lane)}
}

// placeOf returns the place of an ordered rule after the change so far; the zero value for others.
func (c *policyChange) placeOf(id uint32) tablePlace {
	if p, changed := c.places[id]; changed {
		return p
	}
	return c.state.places[id]
}

// seatedAt returns the rules at a place, for reading only.
func (c *policyChange) seatedAt(p tablePlace) map[uint32]bool {
	if ids, changed := c.seated[p]; changed {
		return ids
	}
	return c.state.seated[p]
}

// sit gives a rule a place, which must have a number, instead of its former one; the zero value removes it.
func (c *policyChange) sit(id uint32, p tablePlace) {
	former := c.placeOf(id)
	if former == p {
		return
	}
	for _, changed := range []tablePlace{former, p} {
		if _, cloned := c.seated[changed]; !cloned && changed != (tablePlace{}) {
			if c.seated[changed] = maps.Clone(c.state.seated[changed]); c.seated[changed] == nil {
				c.seated[changed] = map[uint32]bool{}
			}
		}
	}
	if former != (tablePlace{}) {
		delete(c.seated[former], id)
	}
	if p != (tablePlace{}) {
		c.seated[p][id] = true
	}
	c.places[id] = p
}

// numbering returns a table's numbering, for modification.
func (c *policyChange) numbering(table string) *numbering {
	n := c.numberings[table]
	if n == nil {
		n = &numbering{numberRange: numbersIn(table), table: table, seats: slices.Clone(c.state.seats[table])}
		c.numberings[table] = n
	}
	return n
}

// numbersIn returns the range of the numbers of a table.
func numbersIn(table string) *numberRange {
	if table == pipeline.TableEgressDefaultRule || table == pipeline.TableIngressDefaultRule {
		return &baselineNumbers
	}
	return &tierNumbers
}

// takeSeats gives all ordered rules of the change places with numbers, in one step for each table, and moves other rules as far as needed.
func (c *policyChange) takeSeats(install []*policy.Rule) error {
	wanted := map[string][]*policy.Rule{}
	former := map[tablePlace]uint16{}
	for _, r := range install {
		if !ordered(r) {
			continue
		}
		seat := placeIn(r, 0)
		if present := c.placeOf(r.FlowID); present.table == seat.table {
			if seat.place.lane = present.place.lane; seat == present {
				continue
			}
			seat.place.lane = 0
		}
		c.sit(r.FlowID, seat)
		wanted[seat.table] = append(wanted[seat.table], r)
		if number, known := c.state.former[r.FlowID]; known {
			former[seat] = max(former[seat], number)
		}
	}
	// Numbers that the change frees are free for its own rules.
	c.leaveSeats()
	for _, table := range slices.Sorted(maps.Keys(wanted)) {
		prefer := map[place]uint16{}
		for p, number := range former {
			if p.table == table {
				prefer[p.place] = number
			}
		}
		if err := c.numberRules(table, wanted[table], prefer); err != nil {
			return err
		}
	}
	return nil
}

// numberRules gives the places of rules numbers. In a table that is full, it first moves rules that close to the place reserved for them.
func (c *policyChange) numberRules(table string, rules []*policy.Rule, former map[place]uint16) error {
	places := func() (all []place) {
		for _, r := range rules {
			all = append(all, c.placeOf(r.FlowID).place)
		}
		return all
	}
	err := c.number(table, places(), former)
	if err == nil || !slices.ContainsFunc(rules, func(r *policy.Rule) bool { return r.Closes }) {
		return err
	}
	n := c.numbering(table)
	for _, r := range rules {
		if _, has := n.find(c.placeOf(r.FlowID).place); r.Closes && !has {
			c.sit(r.FlowID, closingPlace(r))
		}
	}
	return c.number(table, places(), former)
}

// closingPlace is the place reserved for rules that close.
func closingPlace(r *policy.Rule) tablePlace {
	return tablePlace{tableOf(r), place{order: policy.First(r.Effect.Order.Stage)}}
}

// number gives places numbers, and moves the rules of others.
func (c *policyChange) number(table string, places []place, former map[place]uint16) error {
	moves, err := c.numbering(table).insert(places, former)
	if err != nil {
		return err
	}
	for _, m := range moves {
		for id := range c.seatedAt(tablePlace{table, m.place}) {
			c.move(id, levelOf(m.from), levelOf(m.to))
		}
	}
	return nil
}

// levelOf returns the level of rules with a number.
func levelOf(number uint16) Level { return highestPriority - Level(number) }

// move changes the level of a rule whose place gets another number, if its flows are there. Nothing changes for packets, because the order
// of the rules stays the same, so no interface is affected.
func (c *policyChange) move(id uint32, from, to Level) {
	r := c.rule(id)
	if r == nil || c.levelOf(id) != from {
		return // the change installs it later
	}
	keys := c.g.keyDelta(nil, r).added
	for key := range keys {
		c.removeUser(key.at(from), id)
	}
	for key, d := range keys {
		c.addUser(key.at(to), id, d)
	}
	c.rules[id], c.levels[id] = r, to
	c.moves++
}

// leaveSeats frees the numbers of places that no rule has any more.
func (c *policyChange) leaveSeats() {
	for p, ids := range c.seated {
		if len(ids) > 0 {
			continue
		}
		c.numbering(p.table).remove(p.place)
	}
}

// laneFor returns the level of a rule that has sat down, in place of old, as firstLane does. A rule that closes also finds room elsewhere.
func (c *policyChange) laneFor(old, r *policy.Rule, present Level, delta *keyDelta) (Level, error) {
	level, err := c.firstLane(old, r, present, delta)
	if err != nil && r.Closes && !c.placeOf(r.FlowID).place.closes() {
		c.sit(r.FlowID, closingPlace(r))
		return c.firstLane(old, r, present, delta)
	}
	return level, err
}

// firstLane returns the level of a rule that has sat down, in place of old, at the first lane with room for its flows. present is the rule's
// level so far, delta the change if it stays there. A flow has a limited number of conjunctions, and rules with an order cannot go to a
// lower priority as others do; but rules of one place have no order among themselves, so a lane directly below does the same.
func (c *policyChange) firstLane(old, r *policy.Rule, present Level, delta *keyDelta) (Level, error) {
	p := c.placeOf(r.FlowID)
	n := c.numbering(p.table)
	level := levelOf(n.number(p.place))
	if old != nil && level == present && baseKey(old) == baseKey(r) && c.crowded(r.FlowID, level, delta.added) == nil {
		return level, nil
	}
	keys := delta.added
	if old != nil {
		keys = c.g.keyDelta(nil, r).added
	}
	for lane := 0; ; lane++ {
		p.place.lane = lane
		if _, exists := n.find(p.place); !exists {
			before := p
			before.place.lane--
			if lane > 0 && len(c.seatedAt(before)) == 0 {
				return 0, fmt.Errorf("policy rule %d has more equal addresses, Pods or services than a flow can hold", r.FlowID)
			}
			prefer := map[place]uint16{}
			if number, known := c.state.former[r.FlowID]; known {
				prefer[p.place] = number
			}
			if err := c.number(p.table, []place{p.place}, prefer); err != nil {
				return 0, fmt.Errorf("policy rule %d: %w", r.FlowID, err)
			}
		}
		if level = levelOf(n.number(p.place)); c.crowded(r.FlowID, level, keys) == nil {
			c.sit(r.FlowID, p)
			return level, nil
		}
	}
}

// applySeats records the change that the switch has accepted.
func (c *policyChange) applySeats() {
	for table, n := range c.numberings {
		c.state.seats[table] = n.seats
	}
	for id, p := range c.places {
		if p == (tablePlace{}) {
			delete(c.state.places, id)
		} else {
			c.state.places[id] = p
		}
		delete(c.state.former, id)
	}
	for p, ids := range c.seated {
		if len(ids) == 0 {
			delete(c.state.seated, p)
		} else {
			c.state.seated[p] = ids
		}
	}
}
