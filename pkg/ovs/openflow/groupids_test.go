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
	require.Equal(t, []uint32{1, 2, 4}, getIDs(t, g, 3), "the last one given back comes first, each once")

	// A former agent's groups.
	g = NewGroupIDs([]uint32{1, 2, 4, 900})
	require.Equal(t, []uint32{3, 5, 6}, getIDs(t, g, 3))
	require.Equal(t, []uint32{1, 2, 4, 900}, g.Stale([]uint32{900, 6, 5, 4, 3, 2, 1, 1}), "its own groups are not stale")
	g.Put(6)
	require.Equal(t, []uint32{6, 900}, g.Stale([]uint32{3, 6, 900}), "a group whose id was given back should not be there any more")
	g.Put(900)
	g.Forget([]uint32{1, 2, 900, 900, 3, 55})
	require.Equal(t, []uint32{2, 1, 6, 7, 8}, getIDs(t, g, 5))
	require.Equal(t, []uint32{4}, g.Stale([]uint32{1, 2, 3, 4, 5, 6, 7, 8}), "ids in use are not forgotten")
}

func TestGroupIDsAtTheEnd(t *testing.T) {
	g := NewGroupIDs([]uint32{MaxGroupID - 1})
	g.next = MaxGroupID - 1
	require.Equal(t, []uint32{MaxGroupID}, getIDs(t, g, 1))
	_, err := g.Get()
	require.ErrorContains(t, err, "all group ids up to 0xffffff00 are taken")
	g.Put(MaxGroupID)
	require.Equal(t, []uint32{MaxGroupID}, getIDs(t, g, 1))
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
