// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"hash/fnv"
	"sync/atomic"
)

// firstRuleID is the lowest id of a rule: 0 means none, and 1 is Antrea's for intercepting DNS.
const firstRuleID = 2

// ruleIDs gives rules their flow ids. An id is a hash of the rule's identity. So a rule that returns, for example after a
// restart of the agent, gets the id that labels the connections it has admitted. The id of a removed rule does not soon
// become another one's.
type ruleIDs struct {
	used map[uint32]bool
	// any is set once a rule has had an id.
	any atomic.Bool
}

func newRuleIDs() *ruleIDs { return &ruleIDs{used: map[uint32]bool{}} }

// take returns an id for the rule that no other rule has.
func (ids *ruleIDs) take(key ruleKey) uint32 {
	h := fnv.New32a()
	for _, part := range []string{key.policy, key.rule, key.ports} {
		// The zero byte keeps parts apart; hash.Hash never returns an error.
		_, _ = h.Write(append([]byte(part), 0))
	}
	id := h.Sum32()
	for id < firstRuleID || ids.used[id] {
		id++
	}
	ids.used[id] = true
	ids.any.Store(true)
	return id
}

// release frees the id for another rule.
func (ids *ruleIDs) release(id uint32) { delete(ids.used, id) }
