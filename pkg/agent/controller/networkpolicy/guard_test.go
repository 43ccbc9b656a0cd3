// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// While a policy cannot be realized, what its rules deny stays denied, although fewer rules would do for rules that only allow.
func TestGuardKeepsDenyingRules(t *testing.T) {
	b := newBench(t)
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	np := networkPolicy("np", "applied", in(groups("peers")))
	b.set(appliedToGroup("applied", memberOf("a1")), addressGroup("peers", memberOf("p1", "10.0.1.1")), np)

	pods := podsOf(b.state.appliedPods(np))
	gone := policy.Pod{InterfaceName: "gone", OFPort: 7, IPs: []netip.Addr{netip.MustParseAddr("10.0.0.7")}}
	tiered := func(action policy.Action, applied ...policy.Pod) *policy.Rule {
		return &policy.Rule{
			FlowID: 9, Effect: policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 250}, Action: action}, Direction: policy.Ingress,
			AppliedTo: applied, Peers: []netip.Prefix{netip.MustParsePrefix("10.0.1.0/24")},
		}
	}
	for _, action := range []policy.Action{policy.Drop, policy.Reject, policy.Pass} {
		key := ruleKey{"np", "tiered", ""}
		r := &realized{policies: map[string]map[ruleKey]*policy.Rule{"np": {key: tiered(action, append(pods, gone)...)}}, ids: newRuleIDs()}
		guard := r.guard(b.state, np, nil)
		require.Contains(t, guard, key, action)
		require.Equal(t, pods, guard[key].AppliedTo, "without Pods that are gone")
		require.True(t, policy.Closed([]*policy.Rule{r.policies["np"][key]}, plain(guard), pods), action)
	}
	allowed := &realized{policies: map[string]map[ruleKey]*policy.Rule{"np": {{"np", "tiered", ""}: tiered(policy.Allow, pods...)}}, ids: newRuleIDs()}
	require.Equal(t, b.state.closing(np, applied{pods: pods}), allowed.guard(b.state, np, map[ruleKey]*wantedRule{}), "a rule that allows and that the policy no longer has")
	require.Equal(t, []v1beta2.Direction{v1beta2.DirectionIn}, directionsOf(np))
}

// A version that no longer has a direction and cannot be realized ends no isolation, not even if the former version cannot be compiled.
func TestGuardKeepsIsolation(t *testing.T) {
	b := newBench(t)
	b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
	ingressOnly := networkPolicy("np", "applied", in(groups("peers")))
	b.set(appliedToGroup("applied", memberOf("a1")), addressGroup("peers", memberOf("p1", "10.0.1.1")), ingressOnly)
	pods := podsOf(b.state.appliedPods(ingressOnly))
	egress := &policy.Rule{FlowID: 9, Effect: policy.Kubernetes, Direction: policy.Egress, AppliedTo: pods}
	r := &realized{policies: map[string]map[ruleKey]*policy.Rule{"np": {{"np", "of the former version", ""}: egress}}, ids: newRuleIDs()}
	guard := plain(r.guard(b.state, ingressOnly, nil))
	require.True(t, policy.Closed([]*policy.Rule{egress}, guard, pods), "%+v", guard)
}

// A new version of a policy that denies is refused. A Pod that it comes to apply to, and a peer that joins a group, are denied as if the
// version were in force, at the place of its rules.
func TestNewcomersOfARefusedVersionAreDenied(t *testing.T) {
	for _, action := range []policy.Action{policy.Drop, policy.Reject, policy.Pass} {
		b := newBench(t)
		b.state.effects = oneEffect(tiered(action))
		b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
		b.store.AddInterface(iface("a2", "a2", 2, "10.0.0.2"))
		peers := addressGroup("peers", memberOf("p1", "10.0.1.1"))
		np := networkPolicy("np", "applied", in(groups("peers")))
		b.set(appliedToGroup("applied", memberOf("a1")), peers, np)
		require.NoError(t, b.realize())
		b.flows.fail = refuseBad
		b.set(networkPolicy("np", "applied", in(groups("peers")), bad(in)))
		require.NoError(t, b.realize())
		denied := func(pod, peer string, want bool) {
			t.Helper()
			verdict := policy.Evaluate(b.flows.all(), policy.Ingress, policy.Connection{
				Source: netip.MustParseAddr(peer), Destination: netip.MustParseAddr(pod), Protocol: of.IPProtoTCP, DestinationPort: 80,
			})
			if action != policy.Pass {
				require.Equal(t, !want, verdict.Allowed(), "%v from %s to %s", action, peer, pod)
			}
		}
		denied("10.0.0.1", "10.0.1.1", true)
		denied("10.0.0.1", "10.0.1.2", false)
		denied("10.0.0.2", "10.0.1.1", false)

		b.set(appliedToGroup("applied", memberOf("a1"), memberOf("a2")))
		require.NoError(t, b.realize())
		denied("10.0.0.1", "10.0.1.1", true)
		denied("10.0.0.1", "10.0.1.2", false)
		denied("10.0.0.2", "10.0.1.1", true)

		b.set(addressGroup("peers", memberOf("p1", "10.0.1.1"), memberOf("p2", "10.0.1.2")))
		require.NoError(t, b.realize())
		denied("10.0.0.1", "10.0.1.1", true)
		denied("10.0.0.1", "10.0.1.2", true)
		denied("10.0.0.2", "10.0.1.2", true)
		for _, r := range b.flows.all() {
			require.Equal(t, tiered(action).Order, r.Effect.Order)
		}

		b.flows.fail = nil
		b.set(np)
		require.NoError(t, b.realize())
		require.Len(t, b.flows.all(), 1)
	}
}
