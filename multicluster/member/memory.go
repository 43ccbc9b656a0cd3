// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/policy"
)

// recoveryTime is the time that members have to export again to a leader that has lost its objects or was replaced. Imports are deleted
// after it only.
const recoveryTime = time.Minute

// isForgotten reports whether the leader shows nothing that this member exports, although it would take it. A policy is an administrator's, also if it
// has this member's ID.
func (s *snapshot) isForgotten() bool {
	if s.set == nil || !s.leader.ready {
		return false
	}
	for _, e := range s.leader.exports {
		if e.Spec.ClusterID == clusterID(s) && exportedHere(e.Spec.Kind) && e.DeletionTimestamp == nil {
			return false
		}
	}
	wanted, _ := s.exportedObjects()
	for name := range wanted {
		if s.leader.refused[name] == "" {
			return true
		}
	}
	return false
}

// isEmpty reports whether the leader shows neither imports nor exports of this member.
func (s *snapshot) isEmpty() bool {
	return s.set != nil && s.leader.ready && len(s.leader.imports)+len(s.leader.unreadable)+len(s.leader.exports) == 0
}

// missingTime is the time for which a copy of a policy stays that has no import: an import that was deleted by mistake is made again by the leader's
// controller. Without the policy this cluster allows more than it ought to, with it less for a while.
const missingTime = 10 * time.Second

// memory is for one goroutine.
type memory struct {
	// forgotten is the last time at which the leader had forgotten this member.
	forgotten time.Time
	// empty says that the leader shows nothing, emptied is the last time at which that began.
	empty   bool
	emptied time.Time
	// due are the times at which deletions of policies came up, by name.
	due map[string]time.Time
	// policies are the policies that were read for the last plan.
	policies policy.Reader
}

// look sets recovering, and the reader of policies.
func (m *memory) look(s *snapshot) {
	m.policies.Begin()
	s.policies.reader = &m.policies
	if s.isForgotten() {
		m.forgotten = s.now.Time
	}
	if s.isEmpty() && !m.empty {
		m.emptied = s.now.Time
	}
	m.empty = s.isEmpty()
	s.leader.recovering = s.set != nil && !m.forgotten.IsZero() && s.now.Sub(m.forgotten) < recoveryTime
}

// hold leaves out deletions of policies until they have been due for a while, and returns the time until the first of them has been; 0 if there is none.
// After the leader began to show nothing that is recoveryTime at least: no leader forgets a member that exports nothing. It is a delay only: the copies of
// a leader that was set up from scratch go, unless its administrator exports the policies again in this time. Without a ClusterSet nothing waits.
func (m *memory) hold(s *snapshot, changes []change.Change) (kept []change.Change, again time.Duration) {
	due := map[string]time.Time{}
	kept = slices.DeleteFunc(changes, func(c change.Change) bool {
		if s.set == nil || c.Type != clusterPolicies || c.Verb != change.Delete {
			return false
		}
		due[c.Name] = s.now.Time
		if since, known := m.due[c.Name]; known {
			due[c.Name] = since
		}
		wait := max(due[c.Name].Add(missingTime).Sub(s.now.Time), m.emptied.Add(recoveryTime).Sub(s.now.Time))
		if wait > 0 && (again == 0 || wait < again) {
			again = wait
		}
		return wait > 0
	})
	m.due = due
	return kept, again
}
