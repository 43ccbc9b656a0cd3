// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import "fmt"

const (
	// MaxSharedFlows is the maximum number of flows that rules share, one for each address, Pod and service at each place in the order of rules. A
	// flow takes 1 KB of the agent and 1.2 KB of Open vSwitch.
	MaxSharedFlows = 500_000
	// smallRule is the number of flows up to which a rule is never refused for the number of all: a rule that isolates must find room.
	smallRule = 100
)

// room returns an error if a rule, which joins a number of flows more than it leaves, makes the flows of rules too many.
func (c *policyChange) room(id uint32, joined int) error {
	if total := len(c.state.users) + c.more; joined > smallRule && total > c.state.maxFlows {
		return fmt.Errorf("policy rule %d joins %d flows, and the rules of this Node have %d with it, but at most %d: each address of a group is "+
			"a flow at each place in the order of rules; want fewer rules of different priority with such groups, or smaller groups", id, joined, total, c.state.maxFlows)
	}
	return nil
}
