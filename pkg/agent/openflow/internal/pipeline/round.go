// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

// RoundInfo carries the rounds of flow cookies: current flows have RoundNum in the cookie's top 16 bits; flows of all rounds
// from PrevRoundNum (nil on first start) up to the one before RoundNum are stale once the agent has re-installed everything.
// Rounds are counted modulo 65536.
type RoundInfo struct {
	RoundNum     uint16
	PrevRoundNum *uint16
	// FormerTables are the names of the tables that the flows of former rounds are in, by id; nil when they are those of this round. If there are
	// others, flows of former rounds would lead packets of this one to wrong tables.
	FormerTables map[uint8]string
	// Hits are those of the former agent's ONCache, if they may go on while flows of this round only renew former ones; else nil.
	Hits FormerHits
}

// FormerHits are packets that the former agent's ONCache forwards.
type FormerHits interface {
	// Agree reports whether the cache has learned from packets with these epochs, which the switch writes, by the OpenFlow port of the Pod.
	Agree(epochs map[uint32]uint16) bool
	// End ends the hits. It may be called again.
	End() error
}

// TableStatus is one row of the pipeline.
type TableStatus struct {
	ID        uint8
	Name      string
	FlowCount int
}
