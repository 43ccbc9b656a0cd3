// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// stamp records that one change, which is on the switch, affects the endpoints.
func (l *ledger) stamp(endpoints ...*endpoint) {
	if len(endpoints) == 0 {
		return
	}
	change := l.nextChange()
	for _, e := range endpoints {
		e.change = change
		l.dp.StampEndpoint(e.slot, change)
	}
}

// nextChange returns the number of a change. Numbers wrap around, and a Pod that no change concerns keeps its own for any time: its
// megaflows, and the megaflows between it and other Pods, are in use. So its number is left out. With as many Pods as numbers none may
// be left; then the last one has to do.
func (l *ledger) nextChange() (change uint32) {
	var used [datapath.StampValues]bool
	for _, e := range l.endpoints {
		used[e.change%datapath.StampValues] = true
	}
	for range datapath.StampValues {
		if change = l.dp.NextChange(); !used[change%datapath.StampValues] {
			break
		}
	}
	return change
}

// renewStamps gives all endpoints another stamp, for changes before the ledger intercepted them.
func (l *ledger) renewStamps() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stamp(slices.Collect(maps.Values(l.endpoints))...)
}
