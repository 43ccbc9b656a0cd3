// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// entry is a conntrack entry.
type entry = conntrack.Connection

// tolerance is the tolerated difference between the remaining times of an entry: a lease, and conntrack's whole seconds
// in both worlds and in the agent.
const tolerance = lease + 3*time.Second

// describe returns the properties of an entry that decide the fate of later packets.
func describe(e *entry) string {
	if e == nil {
		return "none"
	}
	state := "UDP"
	if e.TCP != nil {
		state = e.TCP.State.String()
	}
	return fmt.Sprintf("%s %s assured=%v answered=%v", state, e.Timeout, e.Assured, e.Established)
}

// over reports whether an entry is gone, or will be before the tolerance has passed.
func over(e *entry) bool { return e == nil || e.Timeout <= tolerance }

// same compares a connection's entries in two worlds.
func same(a, b *entry) bool {
	switch {
	case over(a) && over(b):
		return true
	case a == nil || b == nil:
		return false
	case a.TCP != nil && b.TCP != nil && a.TCP.State != b.TCP.State:
		return false
	}
	return (a.Timeout-b.Timeout).Abs() <= tolerance && a.Assured == b.Assured && a.Established == b.Established
}

// difference is a difference between the two worlds.
type difference struct {
	sequence *sequence
	text     string
	// explained is the row of docs/design/oncache-conntrack.md that explains it; "" for none.
	explained string
}

// compare returns the differences with the cache on.
func compare(s *sequence, off, on *outcome) (all []difference) {
	add := func(format string, args ...any) {
		all = append(all, difference{sequence: s, text: fmt.Sprintf(format, args...)})
	}
	uncertain := false
	for i, without := range off.entries[s] {
		a, b := without.entry, on.entries[s][i].entry
		if !same(a, b) {
			add("entry in %s: off %s, on %s", without.in, describe(a), describe(b))
			all[len(all)-1].explained = explain(s, a, b)
		}
		// An entry that may expire at any moment may have expired in one world already.
		uncertain = uncertain || over(a) != over(b) || a != nil && over(a) || b != nil && over(b)
	}
	for _, step := range s.steps {
		if step.packet == nil || step.last && uncertain {
			continue
		}
		key := arrival{s.port, step.from, step.packet.id}
		if step.packet.lost && (off.arrived[key] || on.arrived[key]) {
			add("packet %d of the %s at %s was not lost", step.packet.id, step.from, step.at)
			continue
		}
		if off.arrived[key] != on.arrived[key] {
			add("packet %d of the %s at %s (later=%v): arrived off %v, on %v", step.packet.id, step.from, step.at, step.last, off.arrived[key], on.arrived[key])
			all[len(all)-1].explained = explainPacket(s, &step)
		}
	}
	return all
}
