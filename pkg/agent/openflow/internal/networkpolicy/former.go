// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/binary"

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
	former := map[uint32]uint16{}
	for i := range flows {
		if flow := &flows[i].Flow; numbered[flow.Table] && pipeline.CategoryOf(flow) == pipeline.CookieNetworkPolicy {
			if id := conjunctionOf(flow); id != 0 {
				former[id] = flow.Priority
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.policy.former = former
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
