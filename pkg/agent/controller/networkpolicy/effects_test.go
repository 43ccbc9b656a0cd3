// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"math"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// pretendedEffects are effects as a kind of policy with tiers could have them. The API has no actions yet: the hash of a rule chooses one.
// Some policies are of Kubernetes.
var pretendedEffects = effects{
	of: func(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) (policy.Effect, error) {
		hash, err := ruleHash(rule)
		if err != nil || np.Name == "np0" {
			return policy.Kubernetes, err
		}
		action := []policy.Action{policy.Allow, policy.Drop, policy.Pass, policy.Reject}[hash[0]%4]
		return policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: int32(hash[1]), Rule: int32(hash[2])}, Action: action}, nil
	},
	first: policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: math.MinInt32}, Action: policy.Drop},
}

// oneEffect returns effects with one effect for all rules.
func oneEffect(e policy.Effect) effects {
	return effects{of: func(*v1beta2.NetworkPolicy, *v1beta2.NetworkPolicyRule) (policy.Effect, error) { return e, nil }, first: pretendedEffects.first}
}

func tiered(action policy.Action) policy.Effect {
	return policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 250}, Action: action}
}

// Without a group, a rule that allows allows less. One that denies or passes on denies everything at its place.
func TestRulesWithUnknownPeers(t *testing.T) {
	known := addressGroup("known", memberOf("p1", "10.0.1.1"))
	vague := addressGroup("vague", memberOf("p1", "10.0.1.1"), memberOf("p2"))
	vague.GroupMembers[1].IPs = []v1beta2.IPAddress{{1, 2, 3}}
	removeInvalid(vague)
	for _, action := range []policy.Action{policy.Allow, policy.Drop, policy.Pass, policy.Reject} {
		b := newBench(t)
		b.state.effects = oneEffect(tiered(action))
		b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
		np := networkPolicy("np", "applied", in(groups("known")), in(groups("known", "unknown")), in(groups("known", "vague")))
		b.set(appliedToGroup("applied", memberOf("a1")), known, vague)
		rules, err := b.state.compile(np)
		require.NoError(t, err)
		require.Len(t, rules, 3)
		for _, r := range rules {
			stranger := policy.Evaluate([]*policy.Rule{&r.Rule}, policy.Ingress, policy.Connection{
				Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("10.0.0.1"), Protocol: of.IPProtoTCP, DestinationPort: 80,
			})
			require.Equal(t, r.index == 0 || action == policy.Allow, stranger.Allowed(), "rule %d, %v", r.index, action)
			require.Equal(t, tiered(action).Order, r.Effect.Order)
		}
	}
}

// Without knowledge of the ports of Pods, a rule that denies a port by its name denies everything.
func TestRulesWithUnknownPorts(t *testing.T) {
	b := newBench(t)
	b.state.effects = oneEffect(tiered(policy.Drop))
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	named := networkPolicy("np", "applied", in(block("0.0.0.0/0"), service("TCP", "http")))
	b.set(summary{Pods: []string{"ns/a1"}}.unreadable(AppliedToGroups, "applied").(*v1beta2.AppliedToGroup))
	rules, err := b.state.compile(named)
	require.NoError(t, err)
	require.Len(t, rules, 1)
	for _, r := range rules {
		require.Equal(t, policy.Closing(tiered(policy.Drop), policy.Ingress, r.AppliedTo), r.Rule)
	}
}

// While policies are unknown, no rule that is known may come before the one that closes.
func TestDoubtComesFirst(t *testing.T) {
	b := newBench(t)
	b.state.effects = oneEffect(tiered(policy.Allow))
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	b.set(appliedToGroup("applied", memberOf("a1")), networkPolicy("np", "applied", in(block("0.0.0.0/0"))))
	b.state.fellBack(NetworkPolicies, true)
	b.state.settleDoubt(true)
	var rules []*policy.Rule
	for _, name := range []string{"np", doubtName} {
		wanted, err := b.state.compile(b.state.policies[name].latest)
		require.NoError(t, err)
		rules = append(rules, plain(wanted)...)
	}
	c := policy.Connection{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("10.0.0.1"), Protocol: of.IPProtoTCP, DestinationPort: 80}
	require.Len(t, rules, 3)
	require.False(t, policy.Evaluate(rules, policy.Ingress, c).Allowed())
	b.state.answered(NetworkPolicies)
	b.state.settleDoubt(false)
	require.NotContains(t, b.state.policies, doubtName)
}

// A new policy that cannot be realized denies what its rules may deny, at their place. A new version of one has no effect yet.
func TestGuardOfDenyingPolicy(t *testing.T) {
	for action, closes := range map[policy.Action]bool{policy.Allow: false, policy.Drop: true, policy.Pass: true} {
		b := newBench(t)
		b.state.effects = oneEffect(tiered(action))
		b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
		np := networkPolicy("np", "applied", in(groups("peers")))
		b.set(appliedToGroup("applied", memberOf("a1")), addressGroup("peers", memberOf("p1", "10.0.1.1")), np)
		wanted, err := b.state.compile(np)
		require.NoError(t, err)
		pods := podsOf(b.state.appliedPods(np))
		r := newRealized()
		guard := plain(r.guard(b.state, np, wanted))
		if closes {
			closing := policy.Closing(tiered(action), policy.Ingress, pods)
			require.Equal(t, []*policy.Rule{&closing}, guard)
		} else {
			require.Empty(t, guard, "fewer rules that allow are closed")
		}
		r.policies["np"] = map[ruleKey]*policy.Rule{}
		for key, rule := range wanted {
			r.policies["np"][key] = &rule.Rule
		}
		require.ElementsMatch(t, plain(wanted), plain(r.guard(b.state, np, wanted)), "in force, and refused in its next version")
	}
}

// The guard of a policy that has lost an isolated direction keeps what denies.
func TestGuardKeepsDenyingRulesBesideIsolation(t *testing.T) {
	b := newBench(t)
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	np := networkPolicy("np", "applied", in(groups("peers")))
	b.set(appliedToGroup("applied", memberOf("a1")), addressGroup("peers", memberOf("p1", "10.0.1.1")), np)
	pods := podsOf(b.state.appliedPods(np))
	isolating := &policy.Rule{FlowID: 9, Effect: policy.Kubernetes, Direction: policy.Egress, AppliedTo: pods}
	denying := &policy.Rule{FlowID: 10, Effect: tiered(policy.Drop), Direction: policy.Egress, AppliedTo: pods, Peers: []netip.Prefix{netip.MustParsePrefix("10.0.1.0/24")}}
	r := &realized{policies: map[string]map[ruleKey]*policy.Rule{"np": {{"np", "a", ""}: isolating, {"np", "b", ""}: denying}}, ids: newRuleIDs()}
	guard := plain(r.guard(b.state, np, nil))
	require.True(t, policy.Closed([]*policy.Rule{isolating, denying}, guard, pods), "%+v", guard)
}

// A kind of policy that this version does not implement is invalid: its Pods are isolated.
func TestUnknownKindOfPolicy(t *testing.T) {
	b := newBench(t)
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	np := networkPolicy("np", "applied", in(block("0.0.0.0/0")))
	np.SourceRef = &v1beta2.NetworkPolicyReference{Type: "AntreaClusterNetworkPolicy", Name: "np"}
	b.set(appliedToGroup("applied", memberOf("a1")), np)
	_, err := b.state.compile(np)
	require.ErrorContains(t, err, `rule 0: source of type "AntreaClusterNetworkPolicy": without the feature gate AntreaPolicy this agent only implements "K8sNetworkPolicy"`)
	guard := plain(newRealized().guard(b.state, np, nil))
	require.Len(t, guard, 1)
	require.Equal(t, policy.Closing(policy.Kubernetes, policy.Ingress, podsOf(b.state.appliedPods(np))), *guard[0])
	require.Error(t, errors.Unwrap(err))
}
