// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
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

// randomRule returns a rule of Pod A or Pod B of any stage with one peer.
func randomRule(rng *rand.Rand, id uint32) *policy.Rule {
	if rng.IntN(2) == 0 {
		return randomOrdered(rng, id)
	}
	r := oftest.Ingress(id, []policy.Pod{oftest.PolicyPodA, oftest.PolicyPodB}[id%2], []netip.Prefix{pipeline.Host(oftest.NthPeer(rng.IntN(5)))})
	r.Direction = policy.Direction(1 + rng.IntN(2))
	return r
}

// While rules of an earlier agent must stay in force, the present ones come, change and go in any order, and the switch refuses some changes:
// no flow of the earlier rules loses a clause or a drop. UpdatePolicyRules then leaves nothing of them.
func TestFormerRulesKeepTheirClauses(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	former, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	base := map[string]bool{}
	for _, flow := range fake.Flows() {
		base[flow.Key()] = true
	}
	for id := range uint32(60) {
		require.NoError(t, oftest.Install(randomRule(rng, 1000+id))(former))
	}
	before := slices.DeleteFunc(fake.Flows(), func(flow of.Flow) bool { return base[flow.Key()] })

	next := openflow.NewClient(fake, oftest.NoTableNames, oftest.ONCacheFeatures)
	previous := uint16(oftest.TestRound)
	_, err := next.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &previous}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	shared := 0
	for range 200 {
		id := 2000 + rng.Uint32N(60)
		if rng.IntN(10) == 0 {
			fake.FailNext(oftest.ErrRefused)
		}
		if rng.IntN(3) == 0 {
			err = next.UpdatePolicyRulesOnTop(nil, []uint32{id})
		} else {
			err = next.UpdatePolicyRulesOnTop([]*policy.Rule{randomRule(rng, id)}, nil)
		}
		if err != nil {
			require.ErrorIs(t, err, oftest.ErrRefused)
		}
		for _, was := range before {
			is, exists := fake.Flow(was.Key())
			require.True(t, exists, "lost: %v", was)
			if is.Cookie != was.Cookie {
				shared++
			}
			for _, a := range was.Actions {
				if _, conjunction := a.(of.Conjunction); conjunction || is.Cookie == was.Cookie {
					require.True(t, slices.ContainsFunc(is.Actions, func(b of.Action) bool { return reflect.DeepEqual(a, b) }), "was %v, is %v", was, is)
				}
			}
			require.Equal(t, len(was.Actions) == 0, len(is.Actions) == 0, "was %v, is %v", was, is)
		}
	}
	require.Positive(t, shared)
	rec := &oftest.Recorder{}
	next.SetInterceptor(rec)
	require.NoError(t, next.UpdatePolicyRules(nil, nil))
	require.True(t, slices.ContainsFunc(rec.Changes, func(change coherency.Change) bool { return change.All }))
	rules := slices.Collect(maps.Values(networkpolicy.RuleMap(next)))
	for _, flow := range fake.Flows() {
		for _, action := range flow.Actions {
			if c, is := action.(of.Conjunction); is {
				require.True(t, slices.ContainsFunc(rules, func(r *policy.Rule) bool { return r.FlowID == c.ID }), "%v", flow)
			}
		}
	}
	require.NoError(t, next.UpdatePolicyRules(nil, slices.Collect(maps.Keys(networkpolicy.RuleMap(next)))))
	for _, flow := range fake.Flows() {
		require.True(t, base[flow.Key()], "stays: %v", flow)
	}
}
