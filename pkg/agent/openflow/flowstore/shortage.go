// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import "context"

// Shortage is a table in which the switch has fewer flows than the caches: somebody else has deleted some.
type Shortage struct {
	Table uint8
	// Has is the number of all flows in the table, whoever has added them, Wanted that of the caches' flows that have no timeout.
	Has, Wanted int
}

// FindShortage asks the switch for the number of flows in each table and returns the first table that has too few, nil if there is none.
// Foreign flows can hide a shortage. No change of the flows runs meanwhile; the wait for that and for the switch ends with ctx.
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
