// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shares decides how the entries of a flow map are divided among local Pods. It does no I/O: the programs
// (bpf/oncache/share.h) keep to the limits, and package datapath counts entries and deletes those that have to go.
//
// As long as a map is not nearly full, any Pod may have any number of entries. When it is nearly full, a Pod that has its
// share or more makes no new entries. Entries above their shares are taken from the Pods with most, as far as others want
// their own shares. Idle entries make way for new flows of the same Pod.
package shares

import "slices"

// freeBatch is the number of free elements that a CPU may hold for itself (LOCAL_FREE_TARGET of the kernel's
// kernel/bpf/bpf_lru_list.c). When a CPU runs out of them, an LRU map evicts, however many the others hold.
const freeBatch = 128

// Usable is the largest number of entries for which an LRU map of this capacity evicts nothing.
func Usable(capacity, cpus int) int { return max(1, capacity-freeBatch*cpus) }

// Full is the number of entries at which the map counts as nearly full. The remainder is for Pods that do not have their
// shares yet, until the next Plan.
func Full(capacity, cpus int) int {
	return max(1, Usable(capacity, cpus)-max(capacity/8, freeBatch*cpus))
}

// Share is the number of entries that each Pod may always have; 0 (no limit) when there are no other Pods to share with.
func Share(capacity, cpus, pods int) int {
	if pods < 2 {
		return 0
	}
	return max(1, Usable(capacity, cpus)/pods)
}

// Kind of an entry.
type Kind int

const (
	Void       Kind = iota // evicted: no longer usable
	Unanswered             // of TCP, in one direction only, and its lease has ended
	Idle                   // its lease has ended
	Live
	Kinds
)

// Counts holds numbers of entries by kind.
type Counts [Kinds]int

// Used returns the number of entries that may still be used.
func (c Counts) Used() int { return c[Idle] + c[Live] }

// All returns the number of entries.
func (c Counts) All() int { return c[Void] + c[Unanswered] + c.Used() }

// Held counts the entries of one Pod, or of a slot without one, in a flow map.
type Held struct {
	Counts
	// Refused is the number of packets since the last Plan from which no entry was made.
	Refused int
}

// Plan returns the numbers of entries to remove, in the order of held. The map is nearly full at full entries, and each Pod may have
// share of them. From a map that is not nearly full, only unanswered entries are removed: from half of full on, they could take a
// Pod's room for handshakes (crowded in bpf/oncache/share.h), and nothing else would remove them.
func Plan(full, share int, held []Held) []Counts {
	drops := make([]Counts, len(held))
	total := 0
	for _, h := range held {
		total += h.All()
	}
	if 2*total < full {
		return drops
	}
	if share == 0 || total < full {
		for i, h := range held {
			drops[i] = Counts{Unanswered: h.Counts[Unanswered]}
		}
		return drops
	}
	highest := level(full, share, held)
	for i, h := range held {
		surplus := max(0, h.Used()-highest)
		idle := min(h.Counts[Idle], surplus)
		// A refused Pod could never cache a new flow while its old flows, most of them perhaps unused, take its share. In an LRU map the new
		// flows would push them out.
		more := min(h.Refused, max(1, share/8), h.Counts[Idle]-idle)
		drops[i] = Counts{Void: h.Counts[Void], Unanswered: h.Counts[Unanswered], Idle: idle + more, Live: surplus - idle}
	}
	return drops
}

// level returns how many entries the Pods with most may keep so that the map is just nearly full, but at least a share.
func level(full, share int, held []Held) int {
	used := make([]int, len(held))
	left := full
	for i, h := range held {
		used[i] = h.Used()
	}
	slices.Sort(used)
	for i, n := range used {
		// From here on each has n or more. If they cannot keep n each, they share the remainder.
		if others := len(used) - i; n*others > left {
			return max(share, left/others)
		}
		left -= n
	}
	return max(share, full)
}
