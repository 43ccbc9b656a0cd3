// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"context"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Switch is the part of pkg/ovs/openflow.Switch that changes flows and groups, and tells what it has.
type Switch interface {
	Commit(ctx context.Context, mods []of.FlowMod) error
	Apply(ctx context.Context, t of.Transaction) error
	DumpGroupStats(ctx context.Context) ([]of.GroupStats, error)
	DumpMeters(ctx context.Context) ([]of.MeterEntry, error)
	TableFlowCounts(ctx context.Context) (map[uint8]int, error)
}

// Store owns the switch and the caches of its flows.
//
// Lock order: changes, the Interceptor's lock (from Begin to end), sending, mu. A holder of the Interceptor's lock may therefore
// call CommitMarks, which takes only the last two, but nothing else that changes flows. The first three are held while the switch
// answers: therefore waits for them are bounded, and readers take mu alone.
type Store struct {
	sw Switch

	// changes serializes everything that calls the Interceptor. It protects interceptor.
	changes     turn
	interceptor coherency.Interceptor
	// changes also protects groupIDs, and newGroups: the ids that the present Turn has allocated and not committed.
	groupIDs  *of.GroupIDs
	newGroups []uint32
	// planMarks is set before the first change.
	planMarks PlanMarks
	// learned returns the flows that the switch has learned, as far as they are known. It is set before the first change.
	learned func() []of.Flow

	// sending is held while a bundle is sent and its outcome is entered into the caches.
	sending turn
	// mu protects the fields below and the content of the caches (see Cache).
	mu sync.Mutex
	// caches has all caches in the order of their creation, which is the order of the replay.
	caches []*Cache
	// round matches all flows that the caches may hold. It is set before the first Commit.
	round Deletion
	// resync makes the next change send everything: nothing is installed yet, flows are lost, or the outcome of a change is
	// unknown.
	resync bool
	// replays counts how often everything was sent.
	replays uint64
	// replaying is set during Replay.
	replaying bool
	// former has the flows of former rounds; nil if they are unknown.
	former *former
	// meters that flows may refer to, set before the first Commit.
	meters []of.MeterEntry
	// doubtful are groups in no cache that the switch may hold nevertheless.
	doubtful map[uint32]bool
}

// Deletion deletes the flows whose cookies equal Cookie in the bits of Mask, which must not be 0.
type Deletion struct{ Cookie, Mask uint64 }

func (d Deletion) mod() of.FlowMod {
	return of.FlowMod{Command: of.DeleteByCookie, Flow: of.Flow{Cookie: d.Cookie}, CookieMask: d.Mask}
}

// New returns a Store without caches. Nothing else may change the flows of the switch.
func New(sw Switch) *Store {
	return &Store{sw: sw, changes: newTurn(), sending: newTurn(), interceptor: newKnown(), planMarks: noMarks, learned: func() []of.Flow { return nil },
		groupIDs: of.NewGroupIDs(nil), doubtful: map[uint32]bool{}}
}

// NewCache returns an empty cache, whose content is part of every replay from now on. name is for logs.
func (s *Store) NewCache(name string) *Cache {
	cache := &Cache{store: s, name: name, objects: map[string]object{}, owners: map[string]string{}, lasting: map[uint8]int{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caches = append(s.caches, cache)
	return cache
}

// SetLearned makes replays add the flows that learned returns, of the current round, which no cache has. It is called within a change. Call it
// before the first change.
func (s *Store) SetLearned(learned func() []of.Flow) { s.learned = learned }

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

// SetRound sets the match of all flows that this Store will hold (its round's). Call it before the first Commit.
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

// NeedsResync reports whether Commit will send everything, regardless of its plans.
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

func (s *Store) setReplaying(replaying bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaying = replaying
}

// Replaying reports whether a Replay has begun and has not ended: the switch may have all flows, but the datapath does not follow them yet.
func (s *Store) Replaying() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replaying
}

// synchronized records that the switch has exactly what the caches have.
func (s *Store) synchronized() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resync = false
	s.replays++
	clear(s.doubtful)
}

// Replays returns the number of full resends; each one resets all counters of flows. done is false while one is running or due.
func (s *Store) Replays() (n uint64, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replays, !s.resync
}

// everything replaces all flows of the current round by the content of the caches. That also removes flows of changes whose
// outcome the switch never reported. The caller holds sending.
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
