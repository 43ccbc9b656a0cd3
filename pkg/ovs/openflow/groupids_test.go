// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func getIDs(t *testing.T, g *GroupIDs, n int) []uint32 {
	t.Helper()
	var ids []uint32
	for range n {
		id, err := g.Get()
		require.NoError(t, err)
		ids = append(ids, id)
	}
	return ids
}

func TestGroupIDs(t *testing.T) {
	g := NewGroupIDs(nil)
	require.Equal(t, []uint32{1, 2, 3}, getIDs(t, g, 3))
	g.Put(2)
	g.Put(1)
	g.Put(1)
	g.Put(77)
	require.Equal(t, []uint32{4, 5}, getIDs(t, g, 2), "ids that were given back come after all others")
	require.False(t, g.Take(4))
	require.True(t, g.Take(2))
	require.False(t, g.Take(2))

	// A former agent's groups.
	g = NewGroupIDs([]uint32{1, 2, 4, 900})
	require.Equal(t, []uint32{901, 902, 903}, getIDs(t, g, 3))
	require.True(t, g.Take(2), "a group that keeps its id")
	require.Equal(t, []uint32{1, 4, 900}, g.Stale([]uint32{900, 903, 902, 901, 4, 2, 1, 1}), "its own groups are not stale")
	g.Put(903)
	require.Equal(t, []uint32{900, 903}, g.Stale([]uint32{901, 903, 900}), "a group whose id was given back should not be there any more")
	g.Put(900)
	g.Forget([]uint32{1, 2, 900, 900, 901, 55})
	g.next = MaxGroupID
	require.Equal(t, []uint32{MaxGroupID, 1, 3, 5}, getIDs(t, g, 4), "only the ids of deleted groups can be used")
	require.Equal(t, []uint32{4}, g.Stale([]uint32{1, 2, 3, 4, 5, 901, 902}), "ids in use are not forgotten")
}

func TestGroupIDsAtTheEnd(t *testing.T) {
	g := NewGroupIDs([]uint32{1, MaxGroupID})
	g.next = MaxGroupID
	require.Equal(t, []uint32{2, 3}, getIDs(t, g, 2))
}

// TestRestartLeavesNoGroupBehind has three agents on one switch; the second one crashes before it deletes stale groups.
func TestRestartLeavesNoGroupBehind(t *testing.T) {
	fake := NewFake()
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	_, real, _ := connectOVS(t)
	for name, s := range map[string]Switch{"Fake": fake, "OVS": real} {
		t.Run(name, func(t *testing.T) {
			seen := map[uint32]bool{}
			for round := uint64(1); round <= 3; round++ {
				present, err := s.DumpGroups(t.Context())
				require.NoError(t, err)
				ids := NewGroupIDs(idsOf(present))
				mine := getIDs(t, ids, 3)
				var flows []Flow
				var groups []GroupEntry
				for i, id := range mine {
					require.False(t, seen[id], "the id of an existing group")
					seen[id] = true
					groups = append(groups, group(id, Output{1}))
					// The flow of the former round is replaced.
					flows = append(flows, Flow{Table: uint8(i), Priority: 1, Cookie: round, Actions: []Action{Group{id}}})
				}
				require.NoError(t, s.Apply(t.Context(), Transaction{Groups: groupMods(GroupAdd, groups...), Flows: adds(flows...)}))
				if round == 2 {
					continue
				}
				present, err = s.DumpGroups(t.Context())
				require.NoError(t, err)
				stale := ids.Stale(idsOf(present))
				require.NoError(t, s.Apply(t.Context(), Transaction{Groups: StaleGroupMods(stale)}))
				ids.Forget(stale)
				present, err = s.DumpGroups(t.Context())
				require.NoError(t, err)
				require.Equal(t, mine, slices.Sorted(slices.Values(idsOf(present))))
				left, err := s.DumpFlows(t.Context(), tableAll)
				require.NoError(t, err)
				require.Len(t, left, len(flows), "no flow in use was deleted with a stale group")
			}
		})
	}
}

func idsOf(groups []GroupEntry) []uint32 {
	ids := make([]uint32, len(groups))
	for i := range groups {
		ids[i] = groups[i].ID
	}
	return ids
}
