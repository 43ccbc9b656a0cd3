// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A policy without local Pods has rules but none on the switch.
func TestRulesAndTheirOwners(t *testing.T) {
	b := newBench(t)
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	p := networkPolicy("p", "a", in(block("10.9.0.0/16")), in(block("10.8.0.0/16")), out(block("10.9.0.0/16")))
	b.set(appliedToGroup("a", memberOf("a1")), appliedToGroup("b"), p, networkPolicy("q", "b", in(block("10.9.0.0/16"))))
	require.NoError(t, b.realize())
	ingress, egress := b.RuleCounts()
	require.Equal(t, [2]int{3, 1}, [2]int{ingress, egress})
	owners := b.RuleOwners()
	require.Len(t, b.Rules(), 3)
	require.Len(t, owners, 3)
	for _, rule := range b.Rules() {
		require.Equal(t, *p.SourceRef, owners[rule.FlowID])
		owner, ok := b.RuleOwner(rule.FlowID)
		require.True(t, ok)
		require.Equal(t, owner, owners[rule.FlowID])
	}
}
