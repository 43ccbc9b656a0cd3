// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

// RoundInfo carries the rounds of flow cookies: current flows have RoundNum in the cookie's top 16 bits; flows of all rounds
// from PrevRoundNum (nil on first start) up to the one before RoundNum are stale once the agent has re-installed everything.
// Rounds are counted modulo 65536.
type RoundInfo struct {
	RoundNum     uint16
	PrevRoundNum *uint16
	// FormerTables maps the ids of the tables of former rounds to their names; nil if they equal this round's. With other ids, flows of former
	// rounds would lead packets of this one to wrong tables.
	FormerTables map[uint8]string
	// Hits controls the former agent's ONCache, which may keep forwarding while this round only reinstalls the same flows; nil if it may
	// not.
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
