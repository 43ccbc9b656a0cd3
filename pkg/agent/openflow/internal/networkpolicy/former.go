// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// ReadFormer reads the numbers that a former agent has given to rules with an order. Until all rules are installed, its rules and the rules of
// this agent are in force together. They are in one order if each rule keeps its number, and the flows stay the same.
func (n *Policies) ReadFormer(tables map[string]uint8, flows []of.FlowStats) {
	numbered := map[uint8]bool{}
	for _, d := range []policy.Direction{policy.Ingress, policy.Egress} {
		for _, name := range []string{tablesOf(d).tiers, tablesOf(d).defaultRule} {
			if id, exists := tables[name]; exists {
				numbered[id] = true
			}
		}
	}
	former, clauses := map[uint32]uint16{}, map[string][]of.Action{}
	for i := range flows {
		flow := &flows[i].Flow
		if pipeline.CategoryOf(flow) != pipeline.CookieNetworkPolicy {
			continue
		}
		switch id := conjunctionOf(flow); {
		case id == 0:
			clauses[flow.Key()] = flow.Actions
		case numbered[flow.Table]:
			former[id] = flow.Priority
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.policy.former, n.policy.formerClauses = former, clauses
}

// keptFlow returns the flow of a key while rules of former rounds must stay in force: with what the former flow did for others, which borrows
// reports. exists is false if neither a rule nor a former flow needs it.
func (c *policyChange) keptFlow(key clauseKey, u users) (flow of.Flow, borrows, exists bool) {
	flow = c.g.clauseFlow(key, u)
	former, known := c.state.formerClauses[flow.Key()]
	switch {
	case !known:
		return flow, false, len(u) > 0
	case key.drop && len(u) > 0:
		return flow, false, true
	case key.drop:
		flow.Actions = former
		return flow, true, true
	}
	for _, action := range former {
		conjunction, is := action.(of.Conjunction)
		if is && !u.has(conjunction.ID) {
			flow.Actions, borrows = append(flow.Actions, conjunction), true
		}
	}
	slices.SortStableFunc(flow.Actions, func(a, b of.Action) int { return cmp.Compare(a.(of.Conjunction).ID, b.(of.Conjunction).ID) })
	return flow, borrows, borrows || len(u) > 0
}

// giveBack makes the change, which removes the rules of former rounds, replace all flows that still have parts of them. It reports whether
// there are any.
func (c *policyChange) giveBack() bool {
	c.replaces = true
	for key := range c.state.borrowing {
		c.touch(key)
	}
	return len(c.state.borrowing) > 0
}

// applyFormer records the change that the switch has accepted.
func (c *policyChange) applyFormer() {
	if c.replaces {
		c.state.formerClauses, c.state.borrowing = nil, nil
		return
	}
	for key, borrows := range c.borrowing {
		if borrows {
			c.state.borrowing[key] = true
		} else {
			delete(c.state.borrowing, key)
		}
	}
}

// conjunctionOf returns the conjunction that a flow matches; 0 if it matches none.
func conjunctionOf(flow *of.Flow) uint32 {
	for _, m := range flow.Match {
		if m.Field == of.FieldConjID {
			return binary.BigEndian.Uint32(m.Value)
		}
	}
	return 0
}
