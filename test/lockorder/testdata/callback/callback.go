// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package callback takes the second lock in a function that has subscribed.
package callback

import "sync"

type Source struct {
	mu          sync.Mutex
	subscribers []func()
}

func (s *Source) Subscribe(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, f)
}

func (s *Source) Change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.subscribers {
		f()
	}
}

type Sink struct{ mu sync.Mutex }

func start(from *Source, to *Sink) {
	from.Subscribe(func() {
		to.mu.Lock()
		defer to.mu.Unlock()
	})
	to.mu.Lock()
	defer to.mu.Unlock()
	from.Subscribe(nil)
}
