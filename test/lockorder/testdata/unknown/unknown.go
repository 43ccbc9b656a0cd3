// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unknown has what cannot be followed: a function that nobody in the program provides and a lock without a name.
package unknown

import "sync"

type Store struct {
	mu sync.Mutex
	F  func()
}

func (s *Store) Call() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.F()
}

func Lock(mu *sync.Mutex) {
	mu.Lock()
	mu.Unlock()
}
