// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountsAndConnectedNodes(t *testing.T) {
	store := NewStore()
	for _, selection := range []Selection{{Node: "node-1"}, {Node: "node-1"}, {Node: "node-2"}, {}} {
		defer store.Watch(NetworkPolicies, selection, endOfInitial).Stop()
	}
	defer store.Watch(AddressGroups, Selection{Node: "node-3"}, endOfInitial).Stop()
	require.Equal(t, 2, store.ConnectedNodes(), "an agent watches policies of a Node")
	policy := makePolicy(t, "ns/p", "{podSelector: {}, ingress: [{from: [{podSelector: {}}, {podSelector: {matchLabels: {a: b}}}]}]}")
	require.NoError(t, store.apply(func(c *core) ([]change, error) { return c.SetNetworkPolicy(policy) }))
	policies, addressGroups, appliedToGroups := store.Counts()
	require.Equal(t, []int{1, 2, 1}, []int{policies, addressGroups, appliedToGroups})
}
