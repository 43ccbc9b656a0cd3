// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// toPort is a group that outputs to a port.
func toPort(id uint32, port uint32) of.GroupEntry {
	return of.GroupEntry{ID: id, Type: of.GroupSelect, Buckets: []of.Bucket{{Weight: 100, Actions: []of.Action{of.Output{Port: port}}}}}
}

// toGroup is a flow of a table that points to a group.
func toGroup(table uint8, id uint32) of.Flow {
	f := flow(table, 1)
	f.Actions = []of.Action{of.Group{ID: id}}
	return f
}

func groupsOf(t *testing.T, fake *of.Fake) (groups []string) {
	t.Helper()
	entries, err := fake.DumpGroups(t.Context())
	require.NoError(t, err)
	for _, g := range entries {
		groups = append(groups, g.String())
	}
	slices.Sort(groups)
	return groups
}

func change(t *testing.T, s *Store, do func(Turn) error) {
	t.Helper()
	require.NoError(t, s.Change(do))
}

// uncertain is a switch whose next change fails with err, after it was made or without.
type uncertain struct {
	*of.Fake
	err  error
	made bool
}

func (u *uncertain) Commit(ctx context.Context, mods []of.FlowMod) error {
	return u.Apply(ctx, of.Transaction{Flows: mods})
}

func (u *uncertain) Apply(ctx context.Context, bundle of.Transaction) error {
	err := u.err
	u.err = nil
	if err == nil || u.made {
		return errors.Join(u.Fake.Apply(ctx, bundle), err)
	}
	return err
}

// service is an object with a flow and a group, as a Service will be.
type service struct {
	table uint8
	group of.GroupEntry
}

// services is the model: what the switch must hold.
type services struct {
	t     *testing.T
	store *Store
	fake  *of.Fake
	cache *Cache
	held  map[string]service
}

// set gives a service another port, and a group if it has none; port 0 removes the service.
func (s *services) set(name string, table uint8, port uint32) error {
	held, known := s.held[name]
	next := service{table: table}
	err := s.store.Change(func(turn Turn) error {
		if port == 0 {
			return turn.Commit(coherency.Change{}, nil, s.cache.Plan(name, nil))
		}
		id := held.group.ID
		if !known {
			var err error
			if id, err = turn.NewGroupID(); err != nil {
				return err
			}
		}
		next.group = toPort(id, port)
		return turn.Commit(coherency.Change{}, nil, s.cache.PlanWithGroups(name, []of.Flow{toGroup(table, id)}, []of.GroupEntry{next.group}))
	})
	switch {
	case err != nil:
		return err
	case port == 0:
		delete(s.held, name)
	default:
		s.held[name] = next
	}
	return nil
}

// requireHeld compares the switch with the model.
func (s *services) requireHeld() {
	s.t.Helper()
	groups, flows := []string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(s.held)) {
		groups = append(groups, s.held[name].group.String())
		flows = append(flows, toGroup(s.held[name].table, s.held[name].group.ID).String())
	}
	slices.Sort(groups)
	require.ElementsMatch(s.t, groups, groupsOf(s.t, s.fake))
	present := []string{}
	for _, f := range s.fake.Flows() {
		present = append(present, f.String())
	}
	require.ElementsMatch(s.t, flows, present)
}

// Whatever changes succeed, fail, or have an unknown fate, made or not, and whenever the switch loses everything: after the next change
// that succeeds the switch has exactly the groups of the objects, each with its own id.
func TestGroupsAreReplayed(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	store, fake := newStore(t)
	sw := &uncertain{Fake: fake}
	store.sw = sw
	s := &services{t: t, store: store, fake: fake, cache: store.NewCache("services"), held: map[string]service{}}
	for range 2000 {
		n := rng.IntN(8)
		name, table := fmt.Sprint("service ", n), uint8(n)
		sw.err = nil
		switch rng.IntN(6) {
		case 0:
			sw.err, sw.made = of.ErrDisconnected, rng.IntN(2) == 0
		case 1:
			sw.err, sw.made = &of.Error{Type: 1, Code: 1}, false
		case 2:
			fake.Disconnect()
			fake.Reconnect(true)
			change(t, store, func(turn Turn) error { return turn.CommitEverything(nil) })
		}
		if s.set(name, table, uint32(rng.IntN(4))) == nil {
			s.requireHeld()
		}
	}
	for id := range uint32(3000) {
		require.Equal(t, store.cachedGroups()[id], !store.groupIDs.Take(id), "the id %d is lost, or allocated twice", id)
	}
}

// An agent that starts uses other ids than the former one, whose groups stay until they are stale.
func TestGroupsOfAFormerAgent(t *testing.T) {
	former, fake := newStore(t)
	a := &services{t: t, store: former, fake: fake, cache: former.NewCache("services"), held: map[string]service{}}
	require.NoError(t, a.set("a", 1, 1))
	require.NoError(t, a.set("b", 2, 2))

	const nextRound = 8 << 48
	store := New(fake)
	store.SetRound(Deletion{Cookie: nextRound, Mask: 0xffff << 48})
	cache := store.NewCache("services")
	var id uint32
	change(t, store, func(turn Turn) (err error) {
		require.NoError(t, turn.ReserveGroups(t.Context()))
		if id, err = turn.NewGroupID(); err != nil {
			return err
		}
		f := toGroup(1, id)
		f.Cookie = nextRound
		return turn.Commit(coherency.Change{}, nil, cache.PlanWithGroups("a", []of.Flow{f}, []of.GroupEntry{toPort(id, 1)}))
	})
	require.Equal(t, uint32(3), id)
	require.Len(t, groupsOf(t, fake), 3)
	change(t, store, func(turn Turn) error {
		require.NoError(t, turn.Commit(coherency.Change{All: true}, []Deletion{{Cookie: round, Mask: 0xffff << 48}}))
		return turn.DeleteStaleGroups(t.Context())
	})
	require.Equal(t, []string{toPort(3, 1).String()}, groupsOf(t, fake))
	require.Len(t, fake.Flows(), 1)
	change(t, store, func(turn Turn) (err error) {
		id, err = turn.NewGroupID()
		return err
	})
	require.Equal(t, uint32(4), id)
	change(t, store, func(turn Turn) error {
		require.False(t, turn.TakeGroupID(4-1))
		require.True(t, turn.TakeGroupID(1), "the ids of the former agent can be used")
		require.False(t, turn.TakeGroupID(1))
		return nil
	})
	change(t, store, func(turn Turn) error {
		require.True(t, turn.TakeGroupID(1), "nothing was committed")
		return nil
	})
}

// The deletion of a group takes flows with it, so only its own object may point to it.
func TestGroupsOfOthers(t *testing.T) {
	store, fake := newStore(t)
	s := &services{t: t, store: store, fake: fake, cache: store.NewCache("services"), held: map[string]service{}}
	require.NoError(t, s.set("a", 1, 1))
	id := s.cache.Groups("a")[0].ID
	chained := func(first, second uint32) []of.GroupEntry {
		return []of.GroupEntry{toPort(first, 1), {ID: second, Type: of.GroupAll, Buckets: []of.Bucket{{Actions: []of.Action{of.Group{ID: first}}}}}}
	}
	for _, test := range []struct {
		name   string
		flows  []of.Flow
		groups []of.GroupEntry
		want   string
	}{
		{"a flow", []of.Flow{toGroup(2, id)}, nil, "points to group 1, which is not a group of that object"},
		{"a bucket", nil, chained(id, 7)[1:], "group 7 of the object \"b\" points to group 1, which is not an earlier group of that object"},
		{"a later group", nil, []of.GroupEntry{chained(8, 7)[1], toPort(8, 1)}, "points to group 8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := store.Change(func(turn Turn) error {
				return turn.Commit(coherency.Change{}, nil, s.cache.PlanWithGroups("b", test.flows, test.groups))
			})
			require.ErrorContains(t, err, test.want)
			s.requireHeld()
		})
	}
	change(t, store, func(turn Turn) error {
		return turn.Commit(coherency.Change{}, nil, s.cache.PlanWithGroups("b", []of.Flow{toGroup(3, 7)}, chained(6, 7)))
	})
	require.Len(t, groupsOf(t, fake), 3, "an object's groups may point to its earlier ones")
}
