// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
)

var damagedStores = flag.Int("damaged-stores", 100, "stores that TestDamagedStoreOpensNothing damages")

// Regardless of damage to files, no Pod is more open after a restart without antrea-controller. If only one file is
// damaged, it affects only the Pods that it concerns. antrea-controller restores everything.
func TestDamagedStoreOpensNothing(t *testing.T) {
	testDamagedStores(t, *damagedStores, false)
}

// The same is true of rules that deny and pass on.
func TestDamagedStoreOpensNothingOfTiers(t *testing.T) {
	testDamagedStores(t, *damagedStores, true)
}

func testDamagedStores(t *testing.T, stores int, tiers bool) {
	reported := 0
	for seed := range uint64(stores) {
		s := newDamagedStore(t, seed, tiers)
		s.requireUndamaged()
		s.damage()
		after := s.restart()
		if s.requireOpensNothing(after) {
			reported++
		}
		s.requireRestored(after)
	}
	require.Greater(t, reported, stores/2)
	t.Logf("%d of %d damaged stores were reported, none opened anything", reported, stores)
}

// damagedStore is a store of random content, and what an agent had in force when it wrote it.
type damagedStore struct {
	*testing.T
	*rand.Rand
	tiers bool
	// older has an earlier state of the files in dir.
	dir, older string
	set        *randomSet
	former     *agent
	interfaces []*interfacestore.InterfaceConfig
	// failure says what was damaged.
	failure string
	// only is the only damaged file, if that belongs to one object.
	only string
	// single is set if one file is damaged.
	single bool
}

func newDamagedStore(t *testing.T, seed uint64, tiers bool) *damagedStore {
	rng := rand.New(rand.NewPCG(seed, 14))
	s := &damagedStore{T: t, Rand: rng, tiers: tiers, dir: t.TempDir(), older: t.TempDir(), set: newRandomSet(rng, tiers), failure: fmt.Sprintf("seed %d", seed)}
	s.former = s.agent()
	s.set.answer(s.former)
	for _, step := range rng.Perm(20) {
		switch step {
		case 0:
			require.NoError(t, os.RemoveAll(s.older))
			require.NoError(t, os.CopyFS(s.older, os.DirFS(s.dir)))
		case 1:
			for _, r := range []Resource{NetworkPolicies, AddressGroups, AppliedToGroups} {
				s.former.watcher(r).storeAll()
			}
		default:
			e := s.set.event()
			require.NoError(t, s.former.watcher(eventResource(e.Object)).enter(e))
		}
	}
	for i := range localPods {
		s.interfaces = append(s.interfaces, localInterface(i))
		s.former.setInterface(s.interfaces[i])
	}
	require.NoError(t, s.former.realize())
	requireNoProblems(t, s.former)
	return s
}

func (s *damagedStore) agent(interfaces ...*interfacestore.InterfaceConfig) *agent {
	a := newAgent(s.T, nil, s.dir, interfaces...)
	if s.tiers {
		a.EnableAntreaPolicies(nil, false)
	}
	return a
}

// requireUndamaged fails unless a new agent makes the same of the files.
func (s *damagedStore) requireUndamaged() {
	s.Helper()
	a := s.agent(s.interfaces...)
	a.fallBackAll()
	require.Equal(s, s.former.flows.text(), a.flows.text(), s.failure)
}

// damage damages some files.
func (s *damagedStore) damage() {
	kinds := slices.Sorted(maps.Keys(damages))
	inventories, objects := storeFiles(s.T, s.dir)
	files := append(slices.Clone(inventories), objects...)
	chosen := s.Perm(len(files))[:1+s.IntN(3)*s.IntN(3)]
	if s.IntN(5) == 0 { // Both inventories of one resource.
		resource := directories[slices.Sorted(maps.Keys(directories))[s.IntN(len(directories))]]
		chosen = slices.DeleteFunc(s.Perm(len(inventories)), func(n int) bool { return !strings.HasPrefix(inventories[n], resource) })
	}
	for _, n := range chosen {
		kind := kinds[s.IntN(len(kinds))]
		if len(chosen) > 1 && n < len(inventories) && kind == "older" {
			kind = "deleted" // Several older files that agree with each other look like an undamaged store.
		}
		s.failure += ", " + files[n] + " " + kind
		other := files[(n+1+s.IntN(len(files)-1))%len(files)]
		damages[kind](s.T, s.Rand, filepath.Join(s.dir, files[n]), filepath.Join(s.dir, other), filepath.Join(s.older, files[n]))
	}
	s.single = len(chosen) == 1
	if s.single && chosen[0] >= len(inventories) {
		s.only = files[chosen[0]]
	}
}

// restart starts an agent without antrea-controller. Some Pods exist, the others are added.
func (s *damagedStore) restart() *agent {
	there := s.IntN(localPods + 1)
	a := s.agent(s.interfaces[:there]...)
	a.fallBackAll()
	for _, i := range s.interfaces[there:] {
		require.NoError(s, a.PodArrives(i))
	}
	return a
}

// requireOpensNothing compares the verdicts of the agent and of the former one. It returns whether the agent has reported the damage; if not,
// it must have had no effect.
func (s *damagedStore) requireOpensNothing(a *agent) (reported bool) {
	s.Helper()
	var concerned [localPods]bool
	if s.only != "" {
		concerned = s.set.concerned(s.former, s.only)
	}
	before := verdicts(s.former.flows.all())
	for i, allowed := range verdicts(a.flows.all()) {
		for connection, open := range allowed {
			if open {
				require.True(s, before[i][connection], "%s: %s of %s is open now\nbefore %v\nafter %v", s.failure, connection, localName(i), s.former.flows.text(), a.flows.text())
			}
			if s.single && !concerned[i] {
				require.Equal(s, before[i][connection], open, "%s: %s of %s\nbefore %v\nafter %v", s.failure, connection, localName(i), s.former.flows.text(), a.flows.text())
			}
		}
	}
	if problems, _ := a.problems.List(); len(problems) > 0 {
		return true
	}
	require.Equal(s, s.former.flows.text(), a.flows.text(), s.failure)
	return false
}

// requireRestored fails unless everything is as before once antrea-controller has answered, also for another agent that starts without it.
func (s *damagedStore) requireRestored(a *agent) {
	s.Helper()
	for r := range directories {
		var current []any
		for _, name := range s.former.state.names(r) {
			current = append(current, s.former.state.object(r, name))
		}
		a.answer(r, current...)
	}
	require.NoError(s, a.realize())
	require.Equal(s, s.former.flows.text(), a.flows.text(), s.failure)
	requireNoProblems(s.T, a)
	s.requireUndamaged()
}
