// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// BeforeTakeover sets a function that Start calls when the former agent's programs have stopped and their entries are still there:
// EachFlow shows their final counts. Call it before Start.
func (m *Manager) BeforeTakeover(read func()) { m.beforeTakeover = read }

// Started is closed once the cache is in use, or known to stay unused.
func (m *Manager) Started() <-chan struct{} { return m.started }

func (m *Manager) setReadable() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readable = true
}

// EachFlow calls yield for every entry of the cache until it returns false. It fails before Start: the entries of an earlier agent
// would be counted twice.
func (m *Manager) EachFlow(yield func(datapath.Flow) bool) error {
	m.mu.Lock()
	readable, reason := m.readable, m.unavailable
	m.mu.Unlock()
	switch starting := errors.Is(reason, errNotStarted); {
	case starting && !readable:
		return reason
	case reason != nil && !starting:
		return nil
	}
	return m.dp.Flows(yield)
}
