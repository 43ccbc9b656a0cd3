// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package iface takes the second lock behind an interface.
package iface

import "sync"

type Listener interface{ Changed() }

type Source struct {
	mu sync.Mutex
	to Listener
}

func (s *Source) Change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.Changed()
}

func (s *Source) Read() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

type Sink struct {
	mu   sync.Mutex
	from *Source
}

func (s *Sink) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

func (s *Sink) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from.Read()
}
