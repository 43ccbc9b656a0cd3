// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// After random changes, all flows of a rule are at one level, and no flow has more rules than it may have. After their removal,
// the base flows are left.
func TestTiers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	networkpolicy.SetMaxUsers(c, 3)
	base := fake.Flows()
	pods := []policy.Pod{oftest.PolicyPodA, oftest.PolicyPodB}
	for range 150 {
		var rules []*policy.Rule
		var removed []uint32
		for id := range uint32(40) {
			switch rng.IntN(12) {
			case 0:
				removed = append(removed, 2+id)
			case 1, 2:
				r := oftest.Ingress(2+id, pods[rng.IntN(2)], nil, oftest.Tcp(uint16(rng.IntN(3))))
				r.Direction = policy.Direction(1 + rng.IntN(2))
				for range rng.IntN(4) {
					r.Peers = append(r.Peers, pipeline.Host(oftest.NthPeer(rng.IntN(20))))
				}
				rules = append(rules, r)
			}
		}
		if rng.IntN(5) == 0 {
			fake.FailNext(oftest.ErrRefused)
		}
		if err := c.UpdatePolicyRules(rules, removed); err != nil {
			require.ErrorIs(t, err, oftest.ErrRefused)
		}
		requireTiers(t, c, fake)
		counted, present := networkpolicy.Conjunctions(c)
		require.Equal(t, present, counted)
	}
	var all []uint32
	for id := range networkpolicy.RuleMap(c) {
		all = append(all, id)
	}
	require.NoError(t, c.UpdatePolicyRules(nil, all))
	require.Equal(t, base, fake.Flows())
	require.Empty(t, networkpolicy.ClauseUsers(c))
	require.Empty(t, networkpolicy.RuleLevels(c))
	require.Empty(t, networkpolicy.FreeLevels(c), "the next rules begin at level 0 again")
}

// requireTiers checks the switch's conjunctions.
func requireTiers(t *testing.T, c openflow.Client, fake *of.Fake) {
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
		require.LessOrEqual(t, conjunctions, networkpolicy.MaxUsersOf(c))
	}
	for id, r := range networkpolicy.RuleMap(c) {
		if want := int(networkpolicy.PeerClauses(oftest.GeneratorOf(c), r)); want > 0 {
			require.Len(t, clauses[id], want, "rule %d", id)
			require.Equal(t, pipeline.PriorityNormal-uint16(networkpolicy.RuleLevels(c)[id]), priorities[id])
		}
	}
}

func TestTiersAreFilledFromTheFirst(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	networkpolicy.SetMaxUsers(c, 2)
	rule := func(id uint32) *policy.Rule {
		return oftest.Ingress(id, oftest.PolicyPodA, []netip.Prefix{pipeline.Host(oftest.NthPeer(int(id)))})
	}
	for id := range uint32(6) {
		require.NoError(t, oftest.Install(rule(2+id))(c))
	}
	require.Equal(t, map[uint32]networkpolicy.Level{4: 1, 5: 1, 6: 2, 7: 2}, networkpolicy.RuleLevels(c))
	require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule(8), rule(9)}, []uint32{2, 5}))
	require.Equal(t, map[uint32]networkpolicy.Level{4: 1, 6: 2, 7: 2, 9: 1}, networkpolicy.RuleLevels(c))

	t.Run("a rule that changes stays where it is if it can", func(t *testing.T) {
		require.NoError(t, oftest.Install(oftest.Ingress(7, oftest.PolicyPodA, oftest.Prefixes("192.0.2.0/24")))(c))
		require.Equal(t, networkpolicy.Level(2), networkpolicy.RuleLevels(c)[7])
		require.NoError(t, oftest.Install(oftest.Ingress(9, oftest.PolicyPodB, oftest.Prefixes("192.0.2.0/24")), oftest.Ingress(10, oftest.PolicyPodB, oftest.Everybody))(c))
		require.Equal(t, networkpolicy.Level(1), networkpolicy.RuleLevels(c)[9])
		require.Zero(t, networkpolicy.RuleLevels(c)[10])
	})
	t.Run("no room", func(t *testing.T) {
		c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
		networkpolicy.SetMaxUsers(c, 1)
		var rules []*policy.Rule
		for id := range uint32(networkpolicy.Levels) {
			rules = append(rules, rule(2+id))
		}
		require.NoError(t, oftest.Install(rules...)(c))
		fake.ClearHistory()
		err := oftest.Install(rule(1000))(c)
		require.ErrorContains(t, err, "policy rule 1000 finds no room in 200 flows of 1 rules each")
		require.Empty(t, fake.History())
		require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule(1000)}, []uint32{100}))
		require.Equal(t, networkpolicy.Level(98), networkpolicy.RuleLevels(c)[1000])
	})
}
