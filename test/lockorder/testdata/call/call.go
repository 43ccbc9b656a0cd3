// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package call takes a lock again in a function that it calls.
package call

import "sync"

type Store struct{ mu sync.Mutex }

func (s *Store) Outer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Middle()
}

func (s *Store) Middle() { s.Inner() }

func (s *Store) Inner() {
	s.mu.Lock()
	defer s.mu.Unlock()
}
