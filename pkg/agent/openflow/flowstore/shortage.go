// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import "context"

// Shortage is a table in which the switch has fewer flows than the caches: another program has deleted some.
type Shortage struct {
	Table uint8
	// Has is the number of all flows in the table, foreign flows included; Wanted is the number of the caches' flows without a timeout.
	Has, Wanted int
}

// FindShortage asks the switch for the number of flows in each table and returns the first table that has too few, or nil. Foreign
// flows can hide a shortage. It excludes changes of the flows; waiting for them and for the switch ends with ctx.
func (s *Store) FindShortage(ctx context.Context) (*Shortage, error) {
	if err := s.sending.take(ctx); err != nil {
		return nil, err
	}
	defer s.sending.give()
	counts, err := s.sw.TableFlowCounts(ctx)
	if err != nil {
		return nil, err
	}
	for table, wanted := range s.lasting() {
		if has := counts[uint8(table)]; has < wanted {
			return &Shortage{Table: uint8(table), Has: has, Wanted: wanted}, nil
		}
	}
	return nil, nil
}

// lasting returns, by table, how many flows of the caches have no timeout.
func (s *Store) lasting() (counts [256]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cache := range s.caches {
		for table, n := range cache.lasting {
			counts[table] += n
		}
	}
	return counts
}
