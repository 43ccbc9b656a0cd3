// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	local  = Pod{InterfaceName: "pod-a", OFPort: 10, IPs: []netip.Addr{netip.MustParseAddr("10.10.1.10"), netip.MustParseAddr("fd00::10")}}
	client = netip.MustParseAddr("10.10.2.20")
)

// rule returns an ingress rule of the local Pod with a peer.
func rule(id uint32, effect Effect, peer string, services ...Service) *Rule {
	r := &Rule{FlowID: id, Effect: effect, Direction: Ingress, AppliedTo: []Pod{local}, Services: services}
	if peer != "" {
		r.Peers = []netip.Prefix{netip.MustParsePrefix(peer)}
	}
	return r
}

// tiered returns the effect of a rule of an Antrea-native policy.
func tiered(action Action, tier int32, policy float64, index int32) Effect {
	return Effect{Order: Order{StageTiers, tier, policy, index}, Action: action}
}

func baseline(action Action, index int32) Effect {
	return Effect{Order: Order{Stage: StageBaseline, Tier: 253, Rule: index}, Action: action}
}

func TestEvaluate(t *testing.T) {
	const peer = "10.10.2.0/24"
	isolates := rule(9, Kubernetes, "")
	allowed := rule(8, Kubernetes, peer)
	tests := []struct {
		name  string
		rules []*Rule
		want  Verdict
	}{
		{"no rule", nil, Verdict{Action: Allow}},
		{"isolated", []*Rule{isolates}, Verdict{Action: Drop, Isolated: true}},
		{"allowed by one of two", []*Rule{isolates, allowed}, Verdict{Action: Allow, Isolated: true, FlowID: 8}},
		{"the lowest id of those that allow", []*Rule{allowed, rule(7, Kubernetes, peer)}, Verdict{Action: Allow, Isolated: true, FlowID: 7}},
		{"denied before Kubernetes allows", []*Rule{allowed, rule(1, tiered(Drop, 250, 5, 0), peer)}, Verdict{Action: Drop, Isolated: true, FlowID: 1}},
		{"rejected", []*Rule{allowed, rule(1, tiered(Reject, 250, 5, 0), peer)}, Verdict{Action: Reject, Isolated: true, FlowID: 1}},
		{"allowed before Kubernetes isolates", []*Rule{isolates, rule(1, tiered(Allow, 250, 5, 0), peer)}, Verdict{Action: Allow, Isolated: true, FlowID: 1}},
		{"a rule of an Antrea-native policy does not isolate", []*Rule{rule(1, tiered(Allow, 250, 5, 0), "192.0.2.0/24")}, Verdict{Action: Allow}},
		{"the lower tier", []*Rule{rule(1, tiered(Allow, 250, 1, 0), peer), rule(2, tiered(Drop, 50, 9, 9), peer)}, Verdict{Action: Drop, FlowID: 2}},
		{"the lower priority of policies", []*Rule{rule(1, tiered(Allow, 50, 1.5, 9), peer), rule(2, tiered(Drop, 50, 1.25, 9), peer)}, Verdict{Action: Drop, FlowID: 2}},
		{"the first rule of a policy", []*Rule{rule(1, tiered(Allow, 50, 1, 1), peer), rule(2, tiered(Drop, 50, 1, 0), peer)}, Verdict{Action: Drop, FlowID: 2}},
		{"without an order, denying", []*Rule{rule(1, tiered(Allow, 50, 1, 0), peer), rule(2, tiered(Reject, 50, 1, 0), peer)}, Verdict{Action: Reject, FlowID: 2}},
		{"without an order, passing before allowing", []*Rule{isolates, rule(1, tiered(Allow, 50, 1, 0), peer), rule(2, tiered(Pass, 50, 1, 0), peer)}, Verdict{Action: Drop, Isolated: true, PassedBy: 2}},
		{"passed to Kubernetes, over later tiers", []*Rule{allowed, rule(1, tiered(Pass, 50, 1, 0), peer), rule(2, tiered(Drop, 250, 1, 0), peer)}, Verdict{Action: Allow, Isolated: true, FlowID: 8, PassedBy: 1}},
		{"passed to the baseline", []*Rule{rule(1, tiered(Pass, 50, 1, 0), peer), rule(3, baseline(Drop, 0), peer)}, Verdict{Action: Drop, FlowID: 3, PassedBy: 1}},
		{"passed to nothing", []*Rule{rule(1, tiered(Pass, 50, 1, 0), peer), rule(2, tiered(Drop, 250, 1, 0), peer)}, Verdict{Action: Allow, PassedBy: 1}},
		{"Kubernetes before the baseline", []*Rule{allowed, rule(3, baseline(Drop, 0), peer)}, Verdict{Action: Allow, Isolated: true, FlowID: 8}},
		{"isolated before the baseline", []*Rule{isolates, rule(3, baseline(Allow, 0), peer)}, Verdict{Action: Drop, Isolated: true}},
		{"the first of the baseline", []*Rule{rule(3, baseline(Allow, 1), peer), rule(4, baseline(Drop, 0), peer)}, Verdict{Action: Drop, FlowID: 4}},
		{"another port", []*Rule{rule(1, tiered(Drop, 50, 1, 0), peer, PortRange(6, 443, 443)...)}, Verdict{Action: Allow}},
		{"an unknown action", []*Rule{rule(1, Effect{Order: Order{Stage: StageTiers}}, peer)}, Verdict{Action: Drop, FlowID: 1}},
		{"the other direction", []*Rule{{FlowID: 1, Effect: Kubernetes, Direction: Egress, AppliedTo: []Pod{local}}}, Verdict{Action: Allow}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Evaluate(tt.rules, Ingress, Connection{Source: client, Destination: local.IPs[0], Protocol: 6, DestinationPort: 80})
			require.Equal(t, tt.want, got)
		})
	}
}

func TestValidate(t *testing.T) {
	for _, valid := range []Effect{Kubernetes, tiered(Pass, 50, 1, 0), tiered(Reject, 0, 0, 0), baseline(Drop, 0)} {
		require.NoError(t, valid.Validate())
	}
	for want, invalid := range map[string]Effect{
		"action Action(0)": {},
		"stage 0":          {Action: Allow},
		"can only Allow":   {Order: Order{Stage: StageKubernetes}, Action: Drop},
		"isolate Pods":     {Order: Order{Stage: StageTiers}, Action: Allow, Isolates: true},
		"must be a number": tiered(Allow, 0, math.NaN(), 0),
		"no later stage":   baseline(Pass, 0),
	} {
		require.ErrorContains(t, invalid.Validate(), want)
	}
}
