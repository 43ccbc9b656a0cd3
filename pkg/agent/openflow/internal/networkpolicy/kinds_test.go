// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
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
		c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
		require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody))(c))
		fake.ClearHistory()
		err := oftest.Install(withEffect(oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody), effect), oftest.Ingress(3, oftest.PolicyPodB, oftest.Everybody))(c)
		require.ErrorContains(t, err, "policy rule 2: effect")
		require.ErrorContains(t, err, "that "+effect.Action.String())
		require.Empty(t, fake.History())
	}
}

// The effect of a rule chooses its table and its priority. To support another one, an entry of ruleKinds is enough.
func TestEffectChoosesTableAndPriority(t *testing.T) {
	networkpolicy.PretendTiers(t)
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	base := fake.Flows()
	peers := oftest.Prefixes("10.10.1.20/32")
	require.NoError(t, oftest.Install(
		withEffect(oftest.Ingress(2, oftest.PolicyPodA, peers, oftest.Tcp(80)), tiered(policy.Drop, 5)),
		withEffect(oftest.Egress(3, oftest.PolicyPodB, peers), tiered(policy.Pass, 7)),
	)(c))
	oftest.RequireGolden(t, "policy_pretended.txt", oftest.Render(oftest.TableNames(c), oftest.NewFlows(base, fake.Flows())))

	t.Run("a rule that gets another effect leaves nothing behind", func(t *testing.T) {
		rules := []*policy.Rule{oftest.Ingress(2, oftest.PolicyPodA, peers, oftest.Tcp(80)), withEffect(oftest.Egress(3, oftest.PolicyPodB, peers), tiered(policy.Drop, 8))}
		require.NoError(t, oftest.Install(rules...)(c))
		fresh, want := oftest.NewTestClient(t, oftest.ONCacheFeatures)
		require.NoError(t, oftest.Install(rules...)(fresh))
		require.Equal(t, want.Flows(), fake.Flows())
		require.NoError(t, c.UpdatePolicyRules(nil, []uint32{2, 3}))
		require.Equal(t, base, fake.Flows())
		require.Empty(t, networkpolicy.ClauseUsers(c))
		require.Empty(t, networkpolicy.RuleLevels(c))
	})
	t.Run("a rule with an order does not go to a level where it would come later", func(t *testing.T) {
		c, _ := oftest.NewTestClient(t, oftest.ONCacheFeatures)
		networkpolicy.SetMaxUsers(c, 1)
		drop := func(id uint32, order int32) *policy.Rule {
			return withEffect(oftest.Ingress(id, oftest.PolicyPodA, []netip.Prefix{pipeline.Host(oftest.NthPeer(int(id)))}), tiered(policy.Drop, order))
		}
		require.NoError(t, oftest.Install(drop(2, 5), drop(3, 6))(c))
		require.ErrorContains(t, oftest.Install(drop(4, 5))(c), "policy rule 4 finds no room in 1 flows of 1 rules each")
		require.NoError(t, oftest.Install(oftest.Ingress(5, oftest.PolicyPodA, oftest.Everybody), oftest.Ingress(6, oftest.PolicyPodA, oftest.Everybody))(c), "rules of Kubernetes do")
		require.Equal(t, map[uint32]networkpolicy.Level{6: 1}, networkpolicy.RuleLevels(c))
		require.NoError(t, oftest.Install(withEffect(oftest.Ingress(6, oftest.PolicyPodA, oftest.Everybody), tiered(policy.Drop, 9)))(c))
		require.Empty(t, networkpolicy.RuleLevels(c))
	})
}

// For random rules that allow, drop and pass, among them rules of Kubernetes policies, the switch does what policy.Evaluate says.
func TestPretendedTiersOnOVSAgreeWithEvaluation(t *testing.T) {
	const rounds, probes = 5, 16
	networkpolicy.PretendTiers(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := newPolicySource(rand.New(rand.NewPCG(seed, 0)))
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	for range rounds {
		rules := s.rules()
		for _, r := range rules {
			if s.rng.IntN(3) > 0 {
				r.Effect = tiered([]policy.Action{policy.Allow, policy.Drop, policy.Pass}[s.rng.IntN(3)], int32(s.rng.IntN(10)*10)+int32(r.FlowID))
			}
		}
		require.NoError(t, oftest.Install(rules...)(b.C))
		oftest.RequireNoneMissing(t, b.C)
		for range probes {
			c := s.connection()
			local := func(a netip.Addr) bool { return a == oftest.PodAIP || a == oftest.PodBIP }
			if c.Source == c.Destination || !local(c.Source) && !local(c.Destination) {
				continue
			}
			egress, ingress := policy.Evaluate(rules, policy.Egress, c), policy.Evaluate(rules, policy.Ingress, c)
			w := b.Trace(oftest.Opening(c), oftest.CTNew, oftest.CTNew)
			require.Equal(t, egress.Allowed() && ingress.Allowed(), len(w.Outputs) > 0, "%+v\negress %+v\ningress %+v\n%s", c, egress, ingress, w.Text)
		}
	}
}
