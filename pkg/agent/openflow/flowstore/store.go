// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"context"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Switch is the part of pkg/ovs/openflow.Switch that changes flows.
type Switch interface {
	Commit(ctx context.Context, mods []of.FlowMod) error
}

// Store has the switch, and all caches of what it holds.
//
// Locks, in the order in which they may be taken: changes, the Interceptor's (from Begin to end), sending, mu. Whoever holds
// the Interceptor's lock may therefore call CommitMarks, which takes only the last two, but nothing else that changes flows.
// The switch is waited for with the first three: nobody waits for them without a bound, and what only reads takes mu alone.
type Store struct {
	sw Switch

	// changes serialises everything that calls the Interceptor. It protects interceptor.
	changes     turn
	interceptor coherency.Interceptor
	// planMarks is set before the first change.
	planMarks PlanMarks

	// sending is held while a bundle is sent and its outcome is entered into the caches.
	sending turn
	// mu protects what follows. What is written only with sending held, too, can be read with either.
	mu sync.Mutex
	// caches are all that there are, in the order in which they were made, which is that of the replay.
	caches []*Cache
	// round matches all flows that the caches may hold. It is set before the first Commit.
	round Deletion
	// resync makes the next change carry everything: nothing is installed yet, flows are lost, or a change has an unknown
	// fate.
	resync bool
}

// Deletion deletes the flows whose cookies equal Cookie in the bits of Mask, which must not be 0.
type Deletion struct{ Cookie, Mask uint64 }

func (d Deletion) mod() of.FlowMod {
	return of.FlowMod{Command: of.DeleteByCookie, Flow: of.Flow{Cookie: d.Cookie}, CookieMask: d.Mask}
}

// New returns a Store without caches for a switch that nobody else changes.
func New(sw Switch) *Store {
	return &Store{sw: sw, changes: newTurn(), sending: newTurn(), interceptor: noInterceptor{}, planMarks: noMarks}
}

// NewCache returns an empty cache, the content of which is from now on replayed. name is for logs.
func (s *Store) NewCache(name string) *Cache {
	cache := &Cache{store: s, name: name, objects: map[string][]of.Flow{}, owners: map[string]string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caches = append(s.caches, cache)
	return cache
}

// Counts returns the number of objects in each cache, as keys and values of a log line.
func (s *Store) Counts() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	var counts []any
	for _, cache := range s.caches {
		counts = append(counts, cache.name, len(cache.objects))
	}
	return counts
}

// SetInterceptor makes every later Commit go through the Interceptor.
func (s *Store) SetInterceptor(interceptor coherency.Interceptor) {
	// Without a bound: the turn comes, at the latest when the switch turns out to be hung.
	s.changes <- struct{}{}
	defer s.changes.give()
	s.interceptor = interceptor
}

// SetRound says what matches the flows of this Store's round, which are all that it will hold. Call it before the first Commit.
func (s *Store) SetRound(round Deletion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round = round
}

func (s *Store) currentRound() Deletion {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.round
}

// NeedsResync tells whether Commit will send everything, whatever its plans.
func (t Turn) NeedsResync() bool {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return t.store.resync
}

func (s *Store) setResync(resync bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resync = resync
}

// everything replaces all flows of the current round by what the caches hold. Flows that the caches do not know, because the
// switch did not tell what became of them, are removed thereby. The caller holds sending.
func (s *Store) everything() []of.FlowMod {
	s.mu.Lock()
	defer s.mu.Unlock()
	mods := []of.FlowMod{s.round.mod()}
	for _, cache := range s.caches {
		for _, flow := range cache.all() {
			mods = append(mods, of.FlowMod{Command: of.Add, Flow: flow})
		}
	}
	return mods
}
