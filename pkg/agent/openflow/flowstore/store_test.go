// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const round = 7 << 48

func newStore(t *testing.T) (*Store, *of.Fake) {
	t.Helper()
	fake := of.NewFake()
	_, err := fake.Connect(t.Context())
	require.NoError(t, err)
	s := New(fake)
	s.SetRound(Deletion{Cookie: round, Mask: 0xffff << 48})
	return s, fake
}

func flow(table, priority uint8) of.Flow {
	return of.Flow{Table: table, Priority: uint16(priority), Cookie: round}
}

// After any sequence of commits to any number of caches, a replay restores what the switch has lost.
func TestCommittedFlowsAreReplayed(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	s, fake := newStore(t)
	var caches []*Cache
	for step := range 300 {
		if step%50 == 0 {
			caches = append(caches, s.NewCache(fmt.Sprint("cache ", len(caches))))
		}
		i := rng.IntN(len(caches))
		var flows []of.Flow
		for range rng.IntN(4) {
			flows = append(flows, flow(uint8(i), uint8(rng.IntN(20))))
		}
		refused := rng.IntN(5) == 0
		if refused {
			fake.FailNext(of.ErrDisconnected)
		}
		err := s.Change(func(turn Turn) error {
			return turn.Commit(coherency.Change{}, nil, caches[i].Plan(fmt.Sprint("object ", rng.IntN(3)), flows))
		})
		if err != nil {
			require.True(t, refused)
			require.ErrorIs(t, err, of.ErrDisconnected)
			continue
		}
		want := fake.Flows()
		fake.Disconnect()
		fake.Reconnect(true)
		err = s.Change(func(turn Turn) error { return turn.CommitEverything(nil) })
		if refused && err != nil { // The change before was empty, so the failure hits this one.
			require.ErrorIs(t, err, of.ErrDisconnected)
			require.NoError(t, s.Change(func(turn Turn) error { return turn.CommitEverything(nil) }))
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, want, fake.Flows())
	}
	require.Len(t, s.Counts(), 2*len(caches))
}

// When two objects have the same flow, the switch holds the last object's, and removing the first object does not change it.
func TestFlowOfTwoObjects(t *testing.T) {
	s, fake := newStore(t)
	cache := s.NewCache("objects")
	commit := func(p Plan) {
		t.Helper()
		require.NoError(t, s.Change(func(turn Turn) error { return turn.Commit(coherency.Change{}, nil, p) }))
	}
	commit(cache.Plan("a", []of.Flow{flow(1, 1)}))
	taken := flow(1, 1)
	taken.Actions = []of.Action{of.Normal{}}
	p := cache.Plan("b", []of.Flow{taken})
	require.True(t, p.TakesOver)
	require.False(t, p.Replaces)
	commit(p)
	require.Equal(t, "b", cache.Owner(taken.Key()))
	p = cache.Plan("a", nil)
	require.True(t, p.Empty())
	commit(p)
	require.Equal(t, []of.Flow{taken}, fake.Flows())
	require.Equal(t, []string{"table=1"}, cache.MatchStrings("b"))
	require.Empty(t, cache.MatchStrings("a"))
}

// Without a feature that makes flows for marks, a change with marks fails with an error that says so.
func TestMarksWithoutFlows(t *testing.T) {
	s, fake := newStore(t)
	require.ErrorContains(t, s.CommitMarks([]coherency.Mark{{InterfaceName: "pod-a"}}, nil), "no feature makes flows for 1 ONCache marks")
	require.NoError(t, s.CommitMarks(nil, []string{"pod-a"}))
	require.Empty(t, fake.History())
}
