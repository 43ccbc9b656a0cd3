// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unlockfunc has functions that return with a lock held and how to release it.
package unlockfunc

import "sync"

type Table struct{ mu sync.Mutex }

func (t *Table) Begin() (end func()) {
	t.mu.Lock()
	return func() { t.mu.Unlock() }
}

type Store struct{ mu sync.Mutex }

func (s *Store) Change(t *Table) {
	end := t.Begin()
	defer end()
	s.mu.Lock()
	s.mu.Unlock()
}

func (s *Store) Read(t *Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := t.Begin()
	end()
}
