// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// After random changes, all flows of a rule are at one level, and no flow has more rules than it may have. After their removal,
// the base flows are left.
func TestTiers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c, fake := newTestClient(t, oncacheFeatures)
	setMaxUsers(c, 3)
	base := fake.Flows()
	pods := []policy.Pod{policyPodA, policyPodB}
	for range 150 {
		var rules []*policy.Rule
		var removed []uint32
		for id := range uint32(40) {
			switch rng.IntN(12) {
			case 0:
				removed = append(removed, 2+id)
			case 1, 2:
				r := ingress(2+id, pods[rng.IntN(2)], nil, tcp(uint16(rng.IntN(3))))
				r.Direction = policy.Direction(1 + rng.IntN(2))
				for range rng.IntN(4) {
					r.Peers = append(r.Peers, host(nthPeer(rng.IntN(20))))
				}
				rules = append(rules, r)
			}
		}
		if rng.IntN(5) == 0 {
			fake.FailNext(errRefused)
		}
		if err := c.UpdatePolicyRules(rules, removed); err != nil {
			require.ErrorIs(t, err, errRefused)
		}
		requireTiers(t, c, fake)
	}
	var all []uint32
	for id := range ruleMap(c) {
		all = append(all, id)
	}
	require.NoError(t, c.UpdatePolicyRules(nil, all))
	require.Equal(t, base, fake.Flows())
	require.Empty(t, clauseUsers(c))
	require.Empty(t, ruleLevels(c))
	require.Empty(t, freeLevels(c), "the next rules begin at level 0 again")
}

// requireTiers checks the switch's conjunctions.
func requireTiers(t *testing.T, c Client, fake *of.Fake) {
	t.Helper()
	priorities := map[uint32]uint16{}
	clauses := map[uint32]map[uint8]bool{}
	for _, flow := range fake.Flows() {
		var conjunctions int
		for _, action := range flow.Actions {
			conjunction, ok := action.(of.Conjunction)
			if !ok {
				continue
			}
			conjunctions++
			if priority, known := priorities[conjunction.ID]; known {
				require.Equal(t, priority, flow.Priority, "rule %d", conjunction.ID)
			}
			priorities[conjunction.ID] = flow.Priority
			if clauses[conjunction.ID] == nil {
				clauses[conjunction.ID] = map[uint8]bool{}
			}
			clauses[conjunction.ID][conjunction.Clause] = true
		}
		require.LessOrEqual(t, conjunctions, maxUsersOf(c))
	}
	for id, r := range ruleMap(c) {
		if want := int(peerClauses(generatorOf(c), r)); want > 0 {
			require.Len(t, clauses[id], want, "rule %d", id)
			require.Equal(t, priorityNormal-uint16(ruleLevels(c)[id]), priorities[id])
		}
	}
}

func TestTiersAreFilledFromTheFirst(t *testing.T) {
	c, _ := newTestClient(t, oncacheFeatures)
	setMaxUsers(c, 2)
	rule := func(id uint32) *policy.Rule { return ingress(id, policyPodA, []netip.Prefix{host(nthPeer(int(id)))}) }
	for id := range uint32(6) {
		require.NoError(t, install(rule(2+id))(c))
	}
	require.Equal(t, map[uint32]level{4: 1, 5: 1, 6: 2, 7: 2}, ruleLevels(c))
	require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule(8), rule(9)}, []uint32{2, 5}))
	require.Equal(t, map[uint32]level{4: 1, 6: 2, 7: 2, 9: 1}, ruleLevels(c))

	t.Run("a rule that changes stays where it is if it can", func(t *testing.T) {
		require.NoError(t, install(ingress(7, policyPodA, prefixes("192.0.2.0/24")))(c))
		require.Equal(t, level(2), ruleLevels(c)[7])
		require.NoError(t, install(ingress(9, policyPodB, prefixes("192.0.2.0/24")), ingress(10, policyPodB, everybody))(c))
		require.Equal(t, level(1), ruleLevels(c)[9])
		require.Zero(t, ruleLevels(c)[10])
	})
	t.Run("no room", func(t *testing.T) {
		c, fake := newTestClient(t, oncacheFeatures)
		setMaxUsers(c, 1)
		var rules []*policy.Rule
		for id := range uint32(levels) {
			rules = append(rules, rule(2+id))
		}
		require.NoError(t, install(rules...)(c))
		fake.ClearHistory()
		err := install(rule(1000))(c)
		require.ErrorContains(t, err, "policy rule 1000 finds no room in 200 flows of 1 rules each")
		require.Empty(t, fake.History())
		require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule(1000)}, []uint32{100}))
		require.Equal(t, level(98), ruleLevels(c)[1000])
	})
}
