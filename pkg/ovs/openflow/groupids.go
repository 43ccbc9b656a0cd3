// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"slices"
)

// GroupIDs allocates ids of groups, from 1 on like Antrea, and tells this agent's groups from a former agent's. It is a
// plain value without locks. A restarted agent uses it as follows:
//
//  1. NewGroupIDs with the ids that DumpGroupStats returned: none of them is allocated.
//  2. Get for each of its own groups.
//  3. Once they and their flows are there, and the old flows are gone: DumpGroupStats again, Stale with the ids that it returns, Apply
//     with the mods of StaleGroupMods, then Forget with the same ids.
//
// After a crash between these steps, the next agent finds the groups of both, and deletes both. When the switch has restarted, its
// groups are gone, but allocated ids stay valid: the agent adds its groups again under the same ids.
type GroupIDs struct {
	// owned are allocated; reserved belong to groups of a former agent in the switch.
	owned, reserved map[uint32]bool
	// free were given back; the last one is allocated first.
	free []uint32
	next uint32
}

// NewGroupIDs returns an allocator that allocates none of the ids in the switch.
func NewGroupIDs(present []uint32) *GroupIDs {
	g := &GroupIDs{owned: map[uint32]bool{}, reserved: map[uint32]bool{}, next: 1}
	for _, id := range present {
		g.reserved[id] = true
	}
	return g
}

// Get returns an id that no group has.
func (g *GroupIDs) Get() (uint32, error) {
	if n := len(g.free); n > 0 {
		id := g.free[n-1]
		g.free = g.free[:n-1]
		g.owned[id] = true
		return id, nil
	}
	for g.reserved[g.next] {
		g.next++
	}
	if g.next > MaxGroupID {
		return 0, fmt.Errorf("all group ids up to %#x are taken, %d by this agent and %d by a former one", MaxGroupID, len(g.owned), len(g.reserved))
	}
	id := g.next
	g.next++
	g.owned[id] = true
	return id, nil
}

// Put gives back an id that Get returned, after its group was deleted. Other ids are ignored.
func (g *GroupIDs) Put(id uint32) {
	if g.owned[id] {
		delete(g.owned, id)
		g.free = append(g.free, id)
	}
}

// Stale returns the ids in the switch that Get did not return, in ascending order.
func (g *GroupIDs) Stale(present []uint32) []uint32 {
	var stale []uint32
	for _, id := range present {
		if !g.owned[id] {
			stale = append(stale, id)
		}
	}
	slices.Sort(stale)
	return slices.Compact(stale)
}

// Forget makes ids of a former agent's groups available, after the groups were deleted.
func (g *GroupIDs) Forget(ids []uint32) {
	for _, id := range ids {
		if g.reserved[id] {
			delete(g.reserved, id)
			// Get still comes to the others.
			if id < g.next {
				g.free = append(g.free, id)
			}
		}
	}
}

// StaleGroupMods returns the deletions of the groups with the ids, for a Transaction.
func StaleGroupMods(ids []uint32) []GroupMod {
	mods := make([]GroupMod, len(ids))
	for i, id := range ids {
		mods[i] = GroupMod{Command: GroupDelete, Group: GroupEntry{ID: id}}
	}
	return mods
}
