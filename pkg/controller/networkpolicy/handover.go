// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

// EndWatches ends all present watches. Their clients reconnect to the controller that serves by then.
func (s *Store) EndWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, watchers := range s.watchers {
		for _, ofNode := range watchers {
			for w := range ofNode {
				w.Stop()
			}
		}
	}
}
