// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestPolicyFlowsGolden(t *testing.T) {
	for _, test := range []struct {
		file  string
		rules []*policy.Rule
	}{
		{"policy_ingress.txt", []*policy.Rule{ingress(2, policyPodA, prefixes("10.10.1.20/32", "10.10.1.21/32"), tcp(80))}},
		{"policy_egress.txt", []*policy.Rule{egress(3, policyPodA, prefixes("192.0.2.0/24"))}},
		{"policy_isolation.txt", []*policy.Rule{ingress(4, policyPodA, nil), egress(5, policyPodB, nil)}},
		{"policy_everybody.txt", []*policy.Rule{ingress(6, policyPodA, everybody, policy.PortRange(of.IPProtoUDP, 1000, 1003)...)}},
		{"policy_shared.txt", []*policy.Rule{
			ingress(7, policyPodA, prefixes("10.10.1.20/32"), tcp(80)),
			ingress(8, policyPodB, prefixes("10.10.1.20/32"), tcp(80), policy.Service{Protocol: of.IPProtoSCTP}),
		}},
		{"policy_logged.txt", []*policy.Rule{
			logged(ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80))), ingress(3, policyPodA, prefixes("10.10.1.20/32"), tcp(81)),
			logged(egress(4, policyPodA, nil)), egress(5, policyPodB, nil),
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			c, fake := newTestClient(t, proxyAllFeatures)
			base := fake.Flows()
			require.NoError(t, install(test.rules...)(c))
			require.Len(t, fake.History(), 1)
			requireGolden(t, test.file, render(tableNames(c), newFlows(base, fake.Flows())))

			t.Run("replay", func(t *testing.T) {
				want := fake.Flows()
				require.NoError(t, c.ReplayFlows(func() {}))
				require.Equal(t, want, fake.Flows())
			})
			t.Run("removal", func(t *testing.T) {
				var ids []uint32
				for _, r := range test.rules {
					ids = append(ids, r.FlowID)
				}
				require.NoError(t, c.UpdatePolicyRules(nil, ids))
				require.Equal(t, base, fake.Flows())
				require.Empty(t, ruleMap(c))
				require.Empty(t, clauseUsers(c))
			})
		})
	}
}

// A change in place leaves the same flows as the new rules alone.
func TestPolicyRuleIsModified(t *testing.T) {
	a := ingress(2, policyPodA, prefixes("10.10.1.20/32", "10.10.1.21/32"), tcp(80))
	for _, test := range []struct {
		name   string
		before []*policy.Rule
		after  []*policy.Rule
		remove []uint32
	}{
		{"peer added", []*policy.Rule{a}, []*policy.Rule{ingress(2, policyPodA, prefixes("10.10.1.20/32", "10.10.1.21/32", "10.10.1.22/32"), tcp(80))}, nil},
		{"peer removed", []*policy.Rule{a}, []*policy.Rule{ingress(2, policyPodA, prefixes("10.10.1.21/32"), tcp(80))}, nil},
		{"all peers removed", []*policy.Rule{a}, []*policy.Rule{ingress(2, policyPodA, nil, tcp(80))}, nil},
		{"services removed", []*policy.Rule{a}, []*policy.Rule{ingress(2, policyPodA, prefixes("10.10.1.20/32", "10.10.1.21/32"))}, nil},
		{"applied to another Pod", []*policy.Rule{a}, []*policy.Rule{ingress(2, policyPodB, prefixes("10.10.1.20/32", "10.10.1.21/32"), tcp(80))}, nil},
		{"other direction", []*policy.Rule{a}, []*policy.Rule{egress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80))}, nil},
		{"one of two with the same flows removed", []*policy.Rule{a, ingress(3, policyPodA, prefixes("10.10.1.20/32"), tcp(80))}, nil, []uint32{2}},
		{"logged from now on", []*policy.Rule{a}, []*policy.Rule{logged(ingress(2, policyPodA, prefixes("10.10.1.20/32", "10.10.1.21/32"), tcp(80)))}, nil},
		{"no longer logged", []*policy.Rule{logged(ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80)))}, []*policy.Rule{ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80))}, nil},
		{"the only logged one of two removed", []*policy.Rule{a, logged(ingress(3, policyPodA, nil))}, nil, []uint32{3}},
		{"one replaced by another", []*policy.Rule{a}, []*policy.Rule{ingress(3, policyPodA, prefixes("10.10.1.20/32"), tcp(80))}, []uint32{2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := newTestClient(t, oncacheFeatures)
			require.NoError(t, c.UpdatePolicyRules(test.before, nil))
			fake.ClearHistory()
			require.NoError(t, c.UpdatePolicyRules(test.after, test.remove))
			require.Len(t, fake.History(), 1, "one bundle")

			fresh, want := newTestClient(t, oncacheFeatures)
			final := test.after
			for _, r := range test.before {
				if ruleMap(c)[r.FlowID] == r {
					final = append(final, r)
				}
			}
			require.NoError(t, fresh.UpdatePolicyRules(final, nil))
			require.Equal(t, render(tableNames(fresh), want.Flows()), render(tableNames(c), fake.Flows()))
		})
	}
}

func TestPolicyChangeNamesThePods(t *testing.T) {
	a := ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80))
	b := egress(3, policyPodB, prefixes("10.10.1.20/32"), tcp(80))
	for _, test := range []struct {
		name   string
		before []*policy.Rule
		change func(Client) error
		// want is nil when nothing must be sent.
		want []string
	}{
		{"new rule", nil, install(a), []string{"pod-a"}},
		{"new rules of two Pods", nil, install(a, b), []string{"pod-a", "pod-b"}},
		{"same rule again", []*policy.Rule{a}, install(a), nil},
		{"equal rule again", []*policy.Rule{a}, install(ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80))), nil},
		// Its Pods' packets match no megaflow from before the change, so all new connections are logged from then on.
		{"logged from now on", []*policy.Rule{a, b}, install(logged(ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80))), b), []string{"pod-a"}},
		{"peers of one of two rules", []*policy.Rule{a, b}, install(ingress(2, policyPodA, nil), b), []string{"pod-a"}},
		{"moved from one Pod to the other", []*policy.Rule{a}, install(ingress(2, policyPodB, prefixes("10.10.1.20/32"), tcp(80))), []string{"pod-a", "pod-b"}},
		{"removed", []*policy.Rule{a, b}, func(c Client) error { return c.UpdatePolicyRules(nil, []uint32{3}) }, []string{"pod-b"}},
		{"unknown removed", []*policy.Rule{a}, func(c Client) error { return c.UpdatePolicyRules(nil, []uint32{77}) }, nil},
		{"Pod with another port", []*policy.Rule{a}, install(ingress(2, policy.Pod{InterfaceName: "pod-a", OFPort: 77, IPs: []netip.Addr{podAIP}}, prefixes("10.10.1.20/32"), tcp(80))), []string{"pod-a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := newTestClient(t, oncacheFeatures)
			require.NoError(t, c.UpdatePolicyRules(test.before, nil))
			r := &recorder{}
			c.SetInterceptor(r)
			fake.ClearHistory()
			require.NoError(t, test.change(c))
			if test.want == nil {
				require.Empty(t, r.changes)
				require.Empty(t, fake.History())
				return
			}
			require.Equal(t, []coherency.Change{{Interfaces: test.want}}, r.changes)
			require.Len(t, fake.History(), 1)
		})
	}
}

func TestRefusedPolicyChange(t *testing.T) {
	c, fake := newTestClient(t, oncacheFeatures)
	require.NoError(t, install(ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80)))(c))
	before := fake.Flows()
	change := install(ingress(2, policyPodA, nil), ingress(3, policyPodB, everybody))
	fake.FailNext(errRefused)
	require.ErrorIs(t, change(c), errRefused)
	require.Equal(t, before, fake.Flows())
	require.Len(t, ruleMap(c), 1)
	require.NoError(t, change(c))
	require.Len(t, ruleMap(c), 2)

	t.Run("fate unknown", func(t *testing.T) {
		want := fake.Flows()
		fake.FailNext(of.ErrDisconnected)
		require.ErrorIs(t, c.UpdatePolicyRules(nil, []uint32{2, 3}), of.ErrDisconnected)
		fake.Reconnect(true)
		require.NoError(t, install(ingress(2, policyPodA, nil))(c), "even an empty change sends everything")
		require.Equal(t, want, fake.Flows())
	})
}

func TestPolicyRuleIsChecked(t *testing.T) {
	for _, test := range []struct {
		name string
		rule policy.Rule
		want string
	}{
		{"no id", policy.Rule{Effect: policy.Kubernetes, Direction: policy.Ingress}, "without id"},
		{"no direction", policy.Rule{Effect: policy.Kubernetes, FlowID: 2}, "must be Ingress or Egress"},
		{"Pod without port", *ingress(2, policy.Pod{InterfaceName: "pod-a", IPs: []netip.Addr{podAIP}}, nil), "must be 1 to"},
		{"invalid peer", *ingress(2, policyPodA, []netip.Prefix{{}}), "neither an IPv4 nor an IPv6 prefix"},
		{"unknown protocol", *ingress(2, policyPodA, nil, policy.Service{Protocol: 1}), "one of the protocols 6 17 132"},
		{"port outside its mask", *ingress(2, policyPodA, nil, policy.Service{Protocol: 6, Port: 81, Mask: 0xfffe}), "outside the mask"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := newTestClient(t, oncacheFeatures)
			require.ErrorContains(t, install(&test.rule)(c), test.want)
			require.Empty(t, fake.History())
		})
	}
}

func TestPortRange(t *testing.T) {
	for _, r := range [][2]uint16{{80, 80}, {0, 0}, {0, 65535}, {65535, 65535}, {1, 65534}, {1000, 1999}, {7, 8}, {32767, 32768}} {
		services := policy.PortRange(of.IPProtoTCP, r[0], r[1])
		require.LessOrEqual(t, len(services), 30, r)
		for port := range 1 << 16 {
			count := 0
			for _, s := range services {
				if s.Matches(of.IPProtoTCP, uint16(port)) {
					count++
				}
			}
			want := 0
			if uint16(port) >= r[0] && uint16(port) <= r[1] {
				want = 1
			}
			require.Equal(t, want, count, "range %v, port %d", r, port)
		}
	}
	require.Empty(t, policy.PortRange(of.IPProtoTCP, 2, 1))
	require.Equal(t, []policy.Service{{Protocol: of.IPProtoTCP}}, policy.PortRange(of.IPProtoTCP, 0, 65535), "one service without a mask")
}

// The policies of an earlier agent stay in force until the current ones are known, and are then replaced in one bundle.
func TestPoliciesOfFormerRounds(t *testing.T) {
	ctx := t.Context()
	fake := of.NewFake()
	former := NewClient(fake, noTableNames, oncacheFeatures)
	_, err := former.Initialize(ctx, RoundInfo{RoundNum: testRound - 2}, testNode, testNetwork)
	require.NoError(t, err)
	require.NoError(t, install(ingress(2, policyPodA, prefixes("10.10.1.20/32", "10.10.1.21/32"), tcp(80)))(former))

	previous := uint16(testRound - 2)
	c := NewClient(fake, noTableNames, oncacheFeatures)
	_, err = c.Initialize(ctx, RoundInfo{RoundNum: testRound, PrevRoundNum: &previous}, testNode, testNetwork)
	require.NoError(t, err)
	require.Contains(t, render(tableNames(c), fake.Flows()), "nw_src=10.10.1.21 actions=conjunction(2,1/3)")
	r := &recorder{}
	c.SetInterceptor(r)
	fake.ClearHistory()
	require.NoError(t, install(ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80)))(c))
	require.Len(t, fake.History(), 1)
	require.Equal(t, []coherency.Change{{All: true, Interfaces: []string{"pod-a"}}}, r.changes)

	fresh, want := newTestClient(t, oncacheFeatures)
	require.NoError(t, install(ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80)))(fresh))
	require.Equal(t, render(tableNames(fresh), want.Flows()), render(tableNames(c), fake.Flows()))
	require.NoError(t, c.UpdatePolicyRules(nil, nil))
	require.Len(t, fake.History(), 1, "only the first change deletes them")
}

// Rules can be installed in addition to those of an earlier agent, until UpdatePolicyRules removes these.
func TestPoliciesOnTopOfFormerRounds(t *testing.T) {
	fake := of.NewFake()
	former := NewClient(fake, noTableNames, oncacheFeatures)
	_, err := former.Initialize(t.Context(), RoundInfo{RoundNum: testRound - 1}, testNode, testNetwork)
	require.NoError(t, err)
	require.NoError(t, install(ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80)))(former))

	previous := uint16(testRound - 1)
	c := NewClient(fake, noTableNames, oncacheFeatures)
	_, err = c.Initialize(t.Context(), RoundInfo{RoundNum: testRound, PrevRoundNum: &previous}, testNode, testNetwork)
	require.NoError(t, err)
	require.NoError(t, c.UpdatePolicyRulesOnTop([]*policy.Rule{ingress(3, policyPodB, everybody)}, nil))
	require.NoError(t, c.UpdatePolicyRulesOnTop(nil, nil))
	require.Contains(t, render(tableNames(c), fake.Flows()), "nw_src=10.10.1.20 actions=conjunction(2,1/3)")
	require.NoError(t, c.UpdatePolicyRules(nil, nil))

	fresh, want := newTestClient(t, oncacheFeatures)
	require.NoError(t, install(ingress(3, policyPodB, everybody))(fresh))
	require.Equal(t, render(tableNames(fresh), want.Flows()), render(tableNames(c), fake.Flows()))
}
