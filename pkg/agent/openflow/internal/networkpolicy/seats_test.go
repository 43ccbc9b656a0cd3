// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"cmp"
	"flag"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// randomOrdered returns an ordered rule of Pod A or Pod B with one peer.
func randomOrdered(rng *rand.Rand, id uint32) *policy.Rule {
	actions := []policy.Action{policy.Allow, policy.Drop, policy.Reject, policy.Pass}
	r := oftest.Ingress(id, []policy.Pod{oftest.PolicyPodA, oftest.PolicyPodB}[id%2], []netip.Prefix{pipeline.Host(oftest.NthPeer(rng.IntN(20)))})
	r.Direction = policy.Direction(1 + rng.IntN(2))
	r.Effect = policy.Effect{Order: policy.OrderOf([]int32{50, 250}[rng.IntN(2)], float64(rng.IntN(40))/8, rng.Int32N(3)), Action: actions[rng.IntN(4)]}
	return r
}

var orderChanges = flag.Int("order-changes", 2_000, "the number of random changes of TestPrioritiesAreInOrder")

// Many random insertions, edits and removals, of which the switch refuses some, in tables with few numbers: after each, the priorities of
// all flows are in the order of the rules (checked after many moves), and only Pods of the changed rule are named, however many other rules have moved.
func TestPrioritiesAreInOrder(t *testing.T) {
	const ids, size = 90, 130
	changes := *orderChanges
	networkpolicy.ShrinkNumbers(t, size)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	networkpolicy.SetMaxUsers(c, 3)
	base := fake.Flows()
	moved, most, failed := 0, 0, 0
	for i := range changes {
		id := 2 + rng.Uint32N(ids)
		before := maps.Clone(networkpolicy.RuleLevels(c))
		rec := &oftest.Recorder{}
		c.SetInterceptor(rec)
		if rng.IntN(20) == 0 {
			fake.FailNext([]error{oftest.ErrRefused, of.ErrDisconnected}[rng.IntN(2)])
		}
		var err error
		if rng.IntN(3) == 0 {
			err = c.UpdatePolicyRules(nil, []uint32{id})
		} else {
			err = oftest.Install(randomOrdered(rng, id))(c)
		}
		after := networkpolicy.RuleLevels(c)
		if err != nil {
			failed++
			require.Equal(t, before, after, "a change that fails leaves everything as it was")
		}
		moves := 0
		for other, level := range after {
			if was, there := before[other]; there && other != id && was != level {
				moves++
			}
		}
		moved, most = moved+moves, max(most, moves)
		for _, change := range rec.Changes {
			require.Subset(t, []string{[]string{"pod-a", "pod-b"}[id%2]}, change.Interfaces)
			require.False(t, change.All)
		}
		if err == nil && (moves > 8 || i%50 == 0) {
			requireOrdered(t, c, fake)
		}
	}
	t.Logf("%d changes, %d of them failed, of up to %d rules in tables of %d numbers: %.2f moves each, at most %d", changes, failed, ids, size, float64(moved)/float64(changes), most)
	require.Greater(t, moved, changes/20, "changes that say something")
	require.NoError(t, c.UpdatePolicyRules(nil, slices.Collect(maps.Keys(networkpolicy.RuleMap(c)))))
	require.Equal(t, base, fake.Flows())
	require.Empty(t, networkpolicy.Numbers(c, pipeline.TableAntreaPolicyIngressRule))
}

// requireOrdered checks that all flows of each rule have one priority, and that the priorities are in the order of the rules.
func requireOrdered(t *testing.T, c openflow.Client, fake *of.Fake) {
	t.Helper()
	priorities := map[uint32]uint16{}
	for _, flow := range fake.Flows() {
		var ids []uint32
		for _, m := range flow.Match {
			if m.Field == of.FieldConjID {
				ids = append(ids, uint32(m.Value[0])<<24|uint32(m.Value[1])<<16|uint32(m.Value[2])<<8|uint32(m.Value[3]))
			}
		}
		for _, action := range flow.Actions {
			if conjunction, is := action.(of.Conjunction); is {
				ids = append(ids, conjunction.ID)
			}
		}
		for _, id := range ids {
			if other, known := priorities[id]; known {
				require.Equal(t, other, flow.Priority, "rule %d", id)
			}
			priorities[id] = flow.Priority
		}
	}
	for _, d := range []policy.Direction{policy.Ingress, policy.Egress} {
		rules := slices.Collect(maps.Values(networkpolicy.RuleMap(c)))
		rules = slices.DeleteFunc(rules, func(r *policy.Rule) bool { return r.Direction != d })
		slices.SortFunc(rules, func(a, b *policy.Rule) int {
			switch {
			case a.Effect.Before(b.Effect):
				return -1
			case b.Effect.Before(a.Effect):
				return 1
			}
			return cmp.Compare(priorities[b.FlowID], priorities[a.FlowID])
		})
		for i, r := range rules {
			require.NotZero(t, priorities[r.FlowID], "rule %d", r.FlowID)
			if i > 0 && rules[i-1].Effect.Before(r.Effect) {
				require.Greater(t, priorities[rules[i-1].FlowID], priorities[r.FlowID], "%+v before %+v", rules[i-1], r)
			}
		}
	}
}

// A rule that has moved is sent again after a restart of the switch with all its flows, and leaves none behind.
func TestMovedRulesAreReplayed(t *testing.T) {
	networkpolicy.ShrinkNumbers(t, 20)
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	base := fake.Flows()
	var ids []uint32
	for id := range uint32(12) {
		r := oftest.Ingress(2+id, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))
		require.NoError(t, oftest.Install(withEffect(r, tiered(policy.Drop, int32(20-id))))(c))
		ids = append(ids, r.FlowID)
	}
	want := fake.Flows()
	require.NoError(t, oftest.Replay(c))
	require.Equal(t, want, fake.Flows())
	require.NoError(t, c.UpdatePolicyRules(nil, ids))
	require.Equal(t, base, fake.Flows())
}

// The next agent gives each rule the number that it has, in whatever order rules have come before, so no flow changes and nothing is evicted.
func TestNumbersOutliveTheAgent(t *testing.T) {
	networkpolicy.ShrinkNumbers(t, 200)
	rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	for range 400 {
		require.NoError(t, oftest.Install(randomOrdered(rng, 2+rng.Uint32N(90)))(c))
	}
	before := maps.Clone(networkpolicy.RuleLevels(c))
	rules := slices.Collect(maps.Values(networkpolicy.RuleMap(c)))
	rec := &oftest.Recorder{}
	next := openflow.NewClient(fake, oftest.NoTableNames, oftest.ONCacheFeatures)
	next.SetInterceptor(rec)
	previous := uint16(oftest.TestRound)
	_, err := next.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &previous}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.NoError(t, next.UpdatePolicyRulesOnTop(rules, nil))
	require.Equal(t, before, networkpolicy.RuleLevels(next))
	require.NoError(t, next.UpdatePolicyRules(nil, nil))
	requireOrdered(t, next, fake)
	require.False(t, slices.ContainsFunc(rec.Changes, func(change coherency.Change) bool { return change.All }), "%+v", rec.Changes)
}

// Where connections are not cut, a change of nothing but peers concerns no connection that has been let through.
func TestPeersEvictOnlyWhereConnectionsAreCut(t *testing.T) {
	cuts := oftest.ONCacheFeatures
	cuts.CutConnections = true
	for features, want := range map[openflow.Features][]coherency.Change{oftest.ONCacheFeatures: {{}}, cuts: {{Interfaces: []string{"pod-a"}}}} {
		c, _ := oftest.NewTestClient(t, features)
		rule := func(peers ...string) *policy.Rule {
			return withEffect(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes(peers...)), tiered(policy.Drop, 1))
		}
		require.NoError(t, oftest.Install(rule("10.10.1.20/32"))(c))
		rec := &oftest.Recorder{}
		c.SetInterceptor(rec)
		require.NoError(t, oftest.Install(rule("10.10.1.20/32", "10.10.1.21/32"))(c))
		require.Len(t, rec.Changes, 1)
		require.ElementsMatch(t, want[0].Interfaces, rec.Changes[0].Interfaces)
		require.False(t, rec.Changes[0].All)
	}
}
