// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

func logged(rule v1beta2.NetworkPolicyRule) v1beta2.NetworkPolicyRule {
	rule.EnableLogging = true
	return rule
}

// references returns the names in the log of the rules on the switch, by flow id.
func (b *bench) references() map[uint32]string {
	b.t.Helper()
	require.NoError(b.t, b.realize())
	references := map[uint32]string{}
	for id, r := range b.flows.rules {
		references[id] = r.LogReference
	}
	return references
}

// A rule that is logged from now on stays the same rule: its counters continue, and connections that it has admitted have its id.
func TestLogging(t *testing.T) {
	b := newBenchWith(t)
	b.set(networkPolicy("web", "a", in(block(everything)), in(v1beta2.NetworkPolicyPeer{})))
	unlogged := b.references()
	require.Len(t, unlogged, 2)
	b.set(networkPolicy("web", "a", logged(in(block(everything))), logged(in(v1beta2.NetworkPolicyPeer{}))))
	for id, reference := range b.references() {
		require.Equal(t, "K8sNetworkPolicy:ns/web", reference)
		require.Contains(t, unlogged, id)
	}
	b.set(networkPolicy("web", "a", in(block(everything)), in(v1beta2.NetworkPolicyPeer{})))
	require.Equal(t, unlogged, b.references())

	t.Run("without a source", func(t *testing.T) {
		policy := networkPolicy("web", "a", logged(in(block(everything))))
		policy.SourceRef = nil
		b.set(policy)
		for _, reference := range b.references() {
			require.Equal(t, "web", reference)
		}
	})
}

// The isolation in place of a policy that the switch refuses is logged as the policy would be.
func TestLoggingOfARefusedPolicy(t *testing.T) {
	b := newBenchWith(t)
	b.flows.fail = refuseBad
	b.set(networkPolicy("bad", "a", logged(bad(in))), networkPolicy("quiet", "b", bad(in)))
	b.requireRules("Ingress [a1@1] peers [] services []", "Ingress [b1@2] peers [] services []")
	for id, reference := range b.references() {
		want := ""
		if b.flows.rules[id].AppliedTo[0].InterfaceName == "a1" {
			want = "K8sNetworkPolicy:ns/bad"
		}
		require.Equal(t, want, reference)
	}
}
