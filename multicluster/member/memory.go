// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"time"

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

// memory is for one goroutine.
type memory struct {
	// forgotten is the last time at which the leader had forgotten this member.
	forgotten time.Time
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
	s.leader.recovering = s.set != nil && !m.forgotten.IsZero() && s.now.Sub(m.forgotten) < recoveryTime
}
