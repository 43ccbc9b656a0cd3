// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Meters are there before the first flow, after a restart of the switch, and with the values of this agent instead of a former one's.
func TestMeters(t *testing.T) {
	s, fake := newStore(t)
	foreign := of.MeterEntry{ID: 300, Rate: 3}
	former := of.MeterEntry{ID: 259, Rate: 7}
	for _, m := range []of.MeterEntry{foreign, former} {
		require.NoError(t, fake.Apply(t.Context(), of.Transaction{Meters: []of.MeterMod{{Meter: m}}}))
	}
	wanted := []of.MeterEntry{{ID: 258, Rate: 10}, {ID: 259, Rate: 20, Burst: 40}}
	s.SetMeters(wanted)
	cache := s.NewCache("objects")
	metered := flow(1, 1)
	metered.Actions = []of.Action{of.Meter{ID: 258}}
	meters := func() []of.MeterEntry {
		all, err := fake.DumpMeters(t.Context())
		require.NoError(t, err)
		return all
	}
	require.NoError(t, s.Change(func(turn Turn) error { return turn.CommitEverything(nil, cache.Plan("object", []of.Flow{metered})) }))
	require.Equal(t, append(wanted, foreign), meters())
	require.NoError(t, s.Change(func(turn Turn) error { return turn.CommitEverything(nil) }))
	require.Equal(t, append(wanted, foreign), meters(), "again, in place")

	fake.Disconnect()
	require.ErrorIs(t, s.Change(func(turn Turn) error { return turn.CommitEverything(nil) }), of.ErrDisconnected)
	fake.Reconnect(true)
	require.NoError(t, s.Change(func(turn Turn) error {
		require.True(t, turn.NeedsResync())
		return turn.Commit(coherency.Change{}, nil)
	}))
	require.Equal(t, wanted, meters())
	require.Len(t, fake.Flows(), 1)
}

// Meters for a later change are there before its flows, survive a replay, and do no harm if the switch refuses them.
func TestAddMeters(t *testing.T) {
	s, fake := newStore(t)
	first, second := of.MeterEntry{ID: 258, Rate: 10}, of.MeterEntry{ID: 1024, Rate: 1}
	s.SetMeters([]of.MeterEntry{first})
	meters := func() []of.MeterEntry {
		all, err := fake.DumpMeters(t.Context())
		require.NoError(t, err)
		return all
	}
	add := func(meters ...of.MeterEntry) error {
		return s.Change(func(turn Turn) error { return turn.AddMeters(meters) })
	}
	require.NoError(t, s.Change(func(turn Turn) error { return turn.CommitEverything(nil) }))
	require.NoError(t, add(second))
	require.Equal(t, []of.MeterEntry{first, second}, meters())
	second.Rate = 2
	require.NoError(t, add(first, second))
	require.Equal(t, []of.MeterEntry{first, second}, meters())

	require.Error(t, add(of.MeterEntry{ID: 0, Rate: 1}))
	fake.Disconnect()
	require.ErrorIs(t, add(of.MeterEntry{ID: 1025, Rate: 1}), of.ErrDisconnected)
	fake.Reconnect(true)
	require.NoError(t, s.Change(func(turn Turn) error { return turn.Commit(coherency.Change{}, nil) }))
	require.Equal(t, []of.MeterEntry{first, second}, meters(), "the caller adds it again")
}
