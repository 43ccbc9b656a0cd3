// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// place orders the rules of one table. Rules with equal places share the priority of their flows.
type place struct {
	order policy.Order
	// strictness sorts rules whose order is undefined (see policy.Effect.Strictness).
	strictness int
	// lane tells rules apart that have no order among themselves, and of which a flow cannot hold all conjunctions.
	lane int
}

func placeOf(e policy.Effect, lane int) place { return place{e.Order, e.Strictness(), lane} }

// closes reports whether only rules that close have the place.
func (p place) closes() bool { return p.strictness == 0 && p.order == policy.First(p.order.Stage) }

// compare returns a negative number if p precedes other: it has the higher priority.
func (p place) compare(other place) int {
	return cmp.Or(p.order.Compare(other.order), cmp.Compare(p.strictness, other.strictness), cmp.Compare(p.lane, other.lane))
}

// reserved is the number of the highest priorities of each table that only rules that close may have, one for each lane of policy.First: a
// table that is full must not keep a refused policy from being closed.
const reserved = 2

// numberRange are the priorities that the ordered rules of a table may have, both ends and the reserved ones included, and a first guess for
// a place: top minus tier, policy and rule times these factors.
type numberRange struct {
	bottom, top  uint16
	tier, policy float64
	// defaultTier is a tier with another factor for policies, because most policies are in it.
	defaultTier   int32
	defaultPolicy float64
}

var (
	// tierNumbers end below the flows of established connections, which bypass all rules.
	tierNumbers = numberRange{bottom: 100, top: 64989, tier: 200, policy: 20, defaultTier: 250, defaultPolicy: 100}
	// baselineNumbers are below the flows that isolate Pods, which are in the same table.
	baselineNumbers = numberRange{bottom: 10, top: 180, policy: 10, defaultTier: policy.TierBaseline, defaultPolicy: 10}
)

// highest is the highest number that is not reserved, size the number of those.
func (r *numberRange) highest() int { return int(r.top) - reserved }
func (r *numberRange) size() int    { return r.highest() - int(r.bottom) + 1 }

// guess returns a number for a place, which depends on nothing else. Many sets of policies get the same numbers in whatever order they come.
func (r *numberRange) guess(p place) int {
	perPolicy := r.policy
	if p.order.Tier == r.defaultTier {
		perPolicy = r.defaultPolicy
	}
	below := r.tier*float64(p.order.Tier) + perPolicy*p.order.Policy + float64(p.order.Rule)
	return max(min(int(r.top)-int(min(max(below, 0), math.MaxUint16)), r.highest()), int(r.bottom))
}

// seat is a place with its number, which is the priority of the flows of its rules.
type seat struct {
	place  place
	number uint16
}

// seatMove is another number for a place.
type seatMove struct {
	place    place
	from, to uint16
}

// numbering has the seats of one table, in ascending order of places and therefore in descending order of numbers; but for the places of
// rules that close, whose numbers are reserved. It is a value without locks, which decides by its content alone.
type numbering struct {
	*numberRange
	table string
	seats []seat
}

func comparePlace(s seat, p place) int { return s.place.compare(p) }

func (n *numbering) find(p place) (index int, found bool) {
	return slices.BinarySearchFunc(n.seats, p, comparePlace)
}

// number returns the number of a place, which must have one.
func (n *numbering) number(p place) uint16 {
	if p.closes() {
		return n.top - uint16(p.lane)
	}
	i, found := n.find(p)
	if !found {
		panic(fmt.Sprintf("table %s has no number for %+v", n.table, p))
	}
	return n.seats[i].number
}

// remove frees the number of a place.
func (n *numbering) remove(p place) {
	if i, found := n.find(p); found {
		n.seats = slices.Delete(n.seats, i, i+1)
	}
}

// insert gives numbers to places that have none, and returns the changes of the numbers of others. former contains numbers to prefer. After an error n must be discarded.
func (n *numbering) insert(places []place, former map[place]uint16) (moves []seatMove, err error) {
	if slices.ContainsFunc(places, func(p place) bool { return p.closes() && p.lane >= reserved }) {
		return nil, fmt.Errorf("table %s has %d priorities for rules that close Pods, and all flows with these are full", n.table, reserved)
	}
	added := slices.DeleteFunc(slices.Clone(places), place.closes)
	slices.SortFunc(added, place.compare)
	added = slices.CompactFunc(added, func(a, b place) bool { return a.compare(b) == 0 })
	added = slices.DeleteFunc(added, func(p place) bool { _, found := n.find(p); return found })
	if free := n.size() - len(n.seats); len(added) > free {
		return nil, fmt.Errorf("table %s has %d priorities (%d to %d) for different places of rules (tier, priority of the policy, index of the rule), and %d are "+
			"taken: %d more find no room; give policies equal priorities, or merge rules", n.table, n.size(), n.bottom, n.highest(), len(n.seats), len(added))
	}
	before := map[place]uint16{}
	for len(added) > 0 {
		at, _ := n.find(added[0])
		run := len(added)
		if at < len(n.seats) {
			run, _ = slices.BinarySearchFunc(added, n.seats[at].place, place.compare)
		}
		n.insertRun(at, added[:run], former, before)
		added = added[run:]
	}
	for p, from := range before {
		if to := n.number(p); to != from {
			moves = append(moves, seatMove{p, from, to})
		}
	}
	slices.SortFunc(moves, func(a, b seatMove) int { return a.place.compare(b.place) })
	return moves, nil
}

// numberAt returns the number of the seat with an index; beyond the ends, the number next to the range.
func (n *numbering) numberAt(index int) int {
	switch {
	case index < 0:
		return n.highest() + 1
	case index >= len(n.seats):
		return int(n.bottom) - 1
	}
	return int(n.seats[index].number)
}

// insertRun inserts places before the seat with an index. It enters the former numbers of seats that move into before.
func (n *numbering) insertRun(at int, run []place, former, before map[place]uint16) {
	seats := make([]seat, len(run))
	for i, p := range run {
		seats[i].place = p
	}
	if len(run) < n.numberAt(at-1)-n.numberAt(at) {
		n.fill(seats, n.numberAt(at-1), n.numberAt(at), former)
		n.seats = slices.Insert(n.seats, at, seats...)
		return
	}
	from, to, above, below := n.window(at, len(run))
	for _, s := range n.seats[from:to] {
		if _, moved := before[s.place]; !moved {
			before[s.place] = s.number
		}
	}
	n.seats = slices.Insert(n.seats, at, seats...)
	spread(n.seats[from:to+len(run)], above, below)
}

// window returns the seats that move to make room for others before the seat with an index, seats[from:to], and the two numbers next to those
// that they and the others get. It is the smallest of the ranges of 2, 4, 8 ... numbers around the place that is not too full. A range must be
// the emptier the larger it is, so that a place at which many come one after another finds room for long: to move as few as possible each time
// fills ever larger ranges to the last number, and moves half of the seats in the mean (Bender et al., "Two Simplified Algorithms for
// Maintaining Order in a List", 2002).
func (n *numbering) window(at, added int) (from, to, above, below int) {
	bottom, top := int(n.bottom), n.highest()
	near := min(max(n.numberAt(at), bottom), top) - bottom
	levels := bits.Len(uint(n.size() - 1))
	// At the level of the whole range, the share that is taken now is not too much.
	ratio := math.Pow(float64(len(n.seats)+added)/float64(n.size()), 1/float64(levels))
	density := 1.0
	for level := range levels {
		low := bottom + near>>level<<level
		high := min(low+1<<level-1, top)
		from, _ = slices.BinarySearchFunc(n.seats, high, compareNumber)
		to, _ = slices.BinarySearchFunc(n.seats, low-1, compareNumber)
		if from <= at && at <= to && float64(to-from+added) <= float64(high-low+1)*density {
			return from, to, high + 1, low - 1
		}
		density *= ratio
	}
	return 0, len(n.seats), top + 1, bottom - 1
}

// compareNumber finds the first seat with this number or a lower one.
func compareNumber(s seat, number int) int { return cmp.Compare(number, int(s.number)) }

// spread gives seats numbers at equal distances between two numbers, neither included.
func spread(seats []seat, above, below int) {
	for i := range seats {
		seats[i].number = uint16(above - (i+1)*(above-below)/(len(seats)+1))
	}
}

// fill gives seats numbers between two numbers, neither included: the former or the guessed ones as far as they are in order, otherwise
// numbers at equal distances.
func (n *numbering) fill(seats []seat, above, below int, former map[place]uint16) {
	for i := range seats {
		wanted, known := int(former[seats[i].place]), false
		if _, known = former[seats[i].place]; !known {
			wanted = n.guess(seats[i].place)
		}
		left := len(seats) - i
		if wanted >= above || wanted < below+left {
			wanted = above - max(1, (above-below)/(left+1))
		}
		seats[i].number = uint16(wanted)
		above = wanted
	}
}
