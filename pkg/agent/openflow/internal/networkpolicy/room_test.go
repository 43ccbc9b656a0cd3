// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"fmt"
	"net/netip"
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

// The same for the rules that all flows name: rules at one place share flows without a limit of their number.
func TestTooManyConjunctions(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	networkpolicy.SetMaxConjunctions(c, 1000)
	group := firstOf(300)
	install := func(rules ...*policy.Rule) error { return c.UpdatePolicyRules(rules, nil) }
	require.NoError(t, install(toGroup(2, 0, group), toGroup(3, 0, group), toGroup(4, 0, group)))
	full := fake.Flows()
	err := install(toGroup(5, 0, group))
	require.ErrorContains(t, err, "policy rule 5 joins 301 flows, and the flows of this Node name 1204 rules with it, but at most 1000")
	require.Equal(t, full, fake.Flows())

	closing := policy.Closing(toGroup(5, 0, group).Effect, policy.Egress, nil)
	closing.FlowID = 5
	isolating := policy.Closing(policy.Kubernetes, policy.Ingress, nil)
	isolating.FlowID = 6
	for i := range 150 {
		pod := policy.Pod{InterfaceName: fmt.Sprint("pod", i), OFPort: uint32(100 + i), IPs: []netip.Addr{oftest.NthPeer(1<<18 + i)}}
		closing.AppliedTo, isolating.AppliedTo = append(closing.AppliedTo, pod), append(isolating.AppliedTo, pod)
	}
	require.NoError(t, install(&closing, &isolating), "rules that close find room at any number of Pods")
	edit := group.Edit()
	edit.Add(oftest.NthPeer(1 << 19))
	require.NoError(t, install(toGroup(2, 0, edit.Set()), toGroup(7, 0, firstOf(1))))
	counted, present := networkpolicy.Conjunctions(c)
	require.Equal(t, present, counted)
	require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{toGroup(8, 3, group)}, []uint32{3, 4, 5, 6}), "removed rules leave room")
	require.NoError(t, c.UpdatePolicyRules(nil, []uint32{2, 7, 8}))
	counted, present = networkpolicy.Conjunctions(c)
	require.Zero(t, counted)
	require.Zero(t, present)
}
