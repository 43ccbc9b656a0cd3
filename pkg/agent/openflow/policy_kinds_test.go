// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// tiered is the effect of a rule of an Antrea-native policy.
func tiered(action policy.Action, rule int32) policy.Effect {
	return policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Rule: rule}, Action: action}
}

func withEffect(r *policy.Rule, e policy.Effect) *policy.Rule {
	changed := *r
	changed.Effect = e
	return &changed
}

func TestEffectsWithoutFlowsAreRefused(t *testing.T) {
	baseline := tiered(policy.Allow, 1)
	baseline.Order.Stage = policy.StageBaseline
	widening := policy.Kubernetes
	widening.Isolates = false
	for _, effect := range []policy.Effect{tiered(policy.Drop, 1), tiered(policy.Pass, 1), tiered(policy.Allow, 1), tiered(policy.Reject, 1), baseline, widening} {
		c, fake := newTestClient(t, oncacheFeatures)
		require.NoError(t, install(ingress(2, policyPodA, everybody))(c))
		fake.ClearHistory()
		err := install(withEffect(ingress(2, policyPodA, everybody), effect), ingress(3, policyPodB, everybody))(c)
		require.ErrorContains(t, err, "policy rule 2: effect")
		require.ErrorContains(t, err, "that "+effect.Action.String())
		require.Empty(t, fake.History())
	}
}

// The effect of a rule chooses its table and its priority. To support another one, an entry of ruleKinds is enough.
func TestEffectChoosesTableAndPriority(t *testing.T) {
	pretendTiers(t)
	c, fake := newTestClient(t, oncacheFeatures)
	base := fake.Flows()
	peers := prefixes("10.10.1.20/32")
	require.NoError(t, install(
		withEffect(ingress(2, policyPodA, peers, tcp(80)), tiered(policy.Drop, 5)),
		withEffect(egress(3, policyPodB, peers), tiered(policy.Pass, 7)),
	)(c))
	requireGolden(t, "policy_pretended.txt", render(tableNames(c), newFlows(base, fake.Flows())))

	t.Run("a rule that gets another effect leaves nothing behind", func(t *testing.T) {
		rules := []*policy.Rule{ingress(2, policyPodA, peers, tcp(80)), withEffect(egress(3, policyPodB, peers), tiered(policy.Drop, 8))}
		require.NoError(t, install(rules...)(c))
		fresh, want := newTestClient(t, oncacheFeatures)
		require.NoError(t, install(rules...)(fresh))
		require.Equal(t, want.Flows(), fake.Flows())
		require.NoError(t, c.UpdatePolicyRules(nil, []uint32{2, 3}))
		require.Equal(t, base, fake.Flows())
		require.Empty(t, clauseUsers(c))
		require.Empty(t, ruleLevels(c))
	})
	t.Run("a rule with an order does not go to a level where it would come later", func(t *testing.T) {
		c, _ := newTestClient(t, oncacheFeatures)
		setMaxUsers(c, 1)
		drop := func(id uint32, order int32) *policy.Rule {
			return withEffect(ingress(id, policyPodA, []netip.Prefix{host(nthPeer(int(id)))}), tiered(policy.Drop, order))
		}
		require.NoError(t, install(drop(2, 5), drop(3, 6))(c))
		require.ErrorContains(t, install(drop(4, 5))(c), "policy rule 4 finds no room in 1 flows of 1 rules each")
		require.NoError(t, install(ingress(5, policyPodA, everybody), ingress(6, policyPodA, everybody))(c), "rules of Kubernetes do")
		require.Equal(t, map[uint32]level{6: 1}, ruleLevels(c))
		require.NoError(t, install(withEffect(ingress(6, policyPodA, everybody), tiered(policy.Drop, 9)))(c))
		require.Empty(t, ruleLevels(c))
	})
}

// For random rules that allow, drop and pass, among them rules of Kubernetes policies, the switch does what policy.Evaluate says.
func TestPretendedTiersOnOVSAgreeWithEvaluation(t *testing.T) {
	const rounds, probes = 5, 16
	pretendTiers(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := newPolicySource(rand.New(rand.NewPCG(seed, 0)))
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	for range rounds {
		rules := s.rules()
		for _, r := range rules {
			if s.rng.IntN(3) > 0 {
				r.Effect = tiered([]policy.Action{policy.Allow, policy.Drop, policy.Pass}[s.rng.IntN(3)], int32(s.rng.IntN(10)*10)+int32(r.FlowID))
			}
		}
		require.NoError(t, install(rules...)(b.c))
		requireNoneMissing(t, b.c)
		for range probes {
			c := s.connection()
			local := func(a netip.Addr) bool { return a == podAIP || a == podBIP }
			if c.Source == c.Destination || !local(c.Source) && !local(c.Destination) {
				continue
			}
			egress, ingress := policy.Evaluate(rules, policy.Egress, c), policy.Evaluate(rules, policy.Ingress, c)
			w := b.trace(opening(c), ctNew, ctNew)
			require.Equal(t, egress.Allowed() && ingress.Allowed(), len(w.outputs) > 0, "%+v\negress %+v\ningress %+v\n%s", c, egress, ingress, w.text)
		}
	}
}
