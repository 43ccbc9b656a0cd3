// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// firstOf returns the first addresses of one group.
func firstOf(addresses int) policy.AddressSet {
	edit := policy.AddressSet{}.Edit()
	for i := range addresses {
		edit.Add(oftest.NthPeer(i))
	}
	return edit.Set()
}

// toGroup drops what Pod A sends to a group, at a place of its own in the order.
func toGroup(id uint32, place int32, group policy.AddressSet) *policy.Rule {
	r := oftest.Egress(id, oftest.PolicyPodA, nil)
	r.PeerAddresses = []policy.AddressSet{group}
	r.Effect = policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 250, Policy: 5, Rule: place}, Action: policy.Drop}
	return r
}

// A rule with a group for which there is no room is refused with a reason, and changes nothing. Other rules, changes of members and of priorities,
// and rules that isolate find room.
func TestTooManyFlowsOfGroups(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	networkpolicy.SetMaxFlows(c, 1000)
	group := firstOf(300)
	install := func(rules ...*policy.Rule) error { return c.UpdatePolicyRules(rules, nil) }
	require.NoError(t, install(toGroup(2, 0, group), toGroup(3, 1, group), toGroup(4, 2, group)))
	full := fake.Flows()
	err := install(toGroup(5, 3, group))
	require.ErrorContains(t, err, "policy rule 5 joins 301 flows, and the rules of this Node have 1204 with it, but at most 1000")
	require.ErrorContains(t, install(toGroup(5, 3, group), toGroup(6, 4, firstOf(1))), "policy rule 5")
	require.Equal(t, full, fake.Flows())

	same := toGroup(5, 2, group)
	require.NoError(t, install(same), "rules at one place share flows")
	require.Equal(t, 3*301, networkpolicy.SharedFlows(c))
	require.NoError(t, install(toGroup(6, 4, firstOf(1)), oftest.Ingress(7, oftest.PolicyPodA, nil)))
	edit := group.Edit()
	edit.Add(oftest.NthPeer(1 << 19))
	require.NoError(t, install(toGroup(2, 0, edit.Set()), toGroup(3, 1, edit.Set())))

	// A rule with another place leaves as many flows as it joins.
	require.NoError(t, install(toGroup(2, 9, edit.Set())))
	before := networkpolicy.SharedFlows(c)
	require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{toGroup(8, 3, group)}, []uint32{3}), "the removed rule leaves room")
	require.Equal(t, before-1, networkpolicy.SharedFlows(c))
	require.Error(t, install(toGroup(9, 5, group)))
	require.NoError(t, c.UpdatePolicyRules(nil, []uint32{2, 4, 5, 6, 7, 8}))
	require.Zero(t, networkpolicy.SharedFlows(c))
}
