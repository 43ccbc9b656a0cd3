// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// In a table whose priorities are all taken, an ordinary rule is refused, and a rule that closes a Pod in its place is not. Rules of earlier
// stages still decide. If there is room again, the rule that closes goes to its own place.
func TestWireClosingInAFullTable(t *testing.T) {
	for name, test := range map[string]struct {
		rules int
		tier  int32
		// admits is set if a rule of an earlier stage still decides.
		admits bool
	}{
		"tiers":    {64_888 - 1, 250, false},
		"baseline": {169, policy.TierBaseline, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, false)
			effect := func(index int32) policy.Effect {
				return policy.Effect{Order: policy.OrderOf(test.tier, 5, index), Action: policy.Drop}
			}
			admitting := oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(81))
			admitting.Effect = policy.Effect{Order: policy.OrderOf(250, 0, 0), Action: policy.Allow}
			rules := []*policy.Rule{admitting}
			for i := range test.rules {
				r := oftest.Ingress(10+uint32(i), oftest.PolicyPodB, nil)
				r.Effect = effect(int32(i))
				rules = append(rules, r)
			}
			require.NoError(t, w.C.UpdatePolicyRules(rules, nil))
			refused := oftest.Ingress(3, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(80))
			refused.Effect = effect(100_000)
			require.ErrorContains(t, w.C.UpdatePolicyRules([]*policy.Rule{refused}, nil), "find no room")
			to80, to81 := segment{"10.10.1.20:5000", "10.10.0.11:80", "S"}, segment{"10.10.1.20:5000", "10.10.0.11:81", "S"}
			w.pass(oftest.TunnelPort, to80, oftest.PodAPort, to80)

			closing := policy.Closing(refused.Effect, policy.Ingress, []policy.Pod{oftest.PolicyPodA})
			closing.FlowID = 4
			require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{&closing}, nil))
			w.settle()
			w.drop(oftest.TunnelPort, segment{"10.10.1.20:5001", "10.10.0.11:80", "S"})
			if test.admits {
				w.pass(oftest.TunnelPort, to81, oftest.PodAPort, to81)
			} else {
				w.drop(oftest.TunnelPort, to81)
			}
			again := closing
			require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{&again}, []uint32{10, 11}))
			w.settle()
			w.drop(oftest.TunnelPort, segment{"10.10.1.20:5002", "10.10.0.11:80", "S"})
			w.pass(oftest.TunnelPort, segment{"10.10.1.20:5003", "10.10.0.11:81", "S"}, oftest.PodAPort, segment{"10.10.1.20:5003", "10.10.0.11:81", "S"})
			require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{refused}, []uint32{4}), "there is room for the policy")
		})
	}
}
