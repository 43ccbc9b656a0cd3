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
//  2. Get for each of its own groups, or Take for one that keeps its id.
//  3. Once they and their flows are there, and the old flows are gone: DumpGroupStats again, Stale with the ids that it returns, Apply
//     with the mods of StaleGroupMods, then Forget with the same ids.
//
// After a crash between these steps, the next agent finds the groups of both, and deletes both. When the switch has restarted, its
// groups are gone, but allocated ids stay valid: the agent adds its groups again under the same ids.
//
// An id that was given back is allocated again only after all others: rules of policies may still name it.
type GroupIDs struct {
	// owned are allocated; reserved belong to groups of a former agent in the switch.
	owned, reserved map[uint32]bool
	// next is the id to try next.
	next uint32
}

// NewGroupIDs returns an allocator that allocates none of the ids in the switch. It begins after the largest one.
func NewGroupIDs(present []uint32) *GroupIDs {
	g := &GroupIDs{owned: map[uint32]bool{}, reserved: map[uint32]bool{}, next: 1}
	for _, id := range present {
		g.reserved[id] = true
		g.next = max(g.next, idAfter(id))
	}
	return g
}

// idAfter returns the id that is tried after id: at the end, the first one.
func idAfter(id uint32) uint32 {
	if id >= MaxGroupID {
		return 1
	}
	return id + 1
}

// Get returns an id that no group has.
func (g *GroupIDs) Get() (uint32, error) {
	if len(g.owned)+len(g.reserved) >= int(MaxGroupID) {
		return 0, fmt.Errorf("all group ids up to %#x are taken, %d by this agent and %d by a former one", MaxGroupID, len(g.owned), len(g.reserved))
	}
	for {
		id := g.next
		g.next = idAfter(id)
		if !g.owned[id] && !g.reserved[id] {
			g.owned[id] = true
			return id, nil
		}
	}
}

// Take allocates this id, which may belong to a former agent's group. It reports false if the id is already allocated.
func (g *GroupIDs) Take(id uint32) bool {
	if g.owned[id] {
		return false
	}
	delete(g.reserved, id)
	g.owned[id] = true
	return true
}

// Put gives back an id that Get or Take has allocated, after its group was deleted. Other ids are ignored.
func (g *GroupIDs) Put(id uint32) { delete(g.owned, id) }

// Stale returns the ids in the switch that are not allocated, in ascending order.
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
		delete(g.reserved, id)
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
