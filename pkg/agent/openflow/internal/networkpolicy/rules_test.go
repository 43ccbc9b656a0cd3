// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"net/netip"
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

func TestPolicyFlowsGolden(t *testing.T) {
	for _, test := range []struct {
		file  string
		rules []*policy.Rule
	}{
		{"policy_ingress.txt", []*policy.Rule{oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32"), oftest.Tcp(80))}},
		{"policy_egress.txt", []*policy.Rule{oftest.Egress(3, oftest.PolicyPodA, oftest.Prefixes("192.0.2.0/24"))}},
		{"policy_isolation.txt", []*policy.Rule{oftest.Ingress(4, oftest.PolicyPodA, nil), oftest.Egress(5, oftest.PolicyPodB, nil)}},
		{"policy_everybody.txt", []*policy.Rule{oftest.Ingress(6, oftest.PolicyPodA, oftest.Everybody, policy.PortRange(of.IPProtoUDP, 1000, 1003)...)}},
		{"policy_shared.txt", []*policy.Rule{
			oftest.Ingress(7, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80)),
			oftest.Ingress(8, oftest.PolicyPodB, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80), policy.Service{Protocol: of.IPProtoSCTP}),
		}},
		{"policy_logged.txt", []*policy.Rule{
			oftest.Logged(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))), oftest.Ingress(3, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(81)),
			oftest.Logged(oftest.Egress(4, oftest.PolicyPodA, nil)), oftest.Egress(5, oftest.PolicyPodB, nil),
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.ProxyAllFeatures)
			base := fake.Flows()
			require.NoError(t, oftest.Install(test.rules...)(c))
			require.Len(t, fake.History(), 1)
			oftest.RequireGolden(t, test.file, oftest.Render(oftest.TableNames(c), oftest.NewFlows(base, fake.Flows())))

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
				require.Empty(t, networkpolicy.RuleMap(c))
				require.Empty(t, networkpolicy.ClauseUsers(c))
			})
		})
	}
}

// A change in place leaves the same flows as the new rules alone.
func TestPolicyRuleIsModified(t *testing.T) {
	a := oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32"), oftest.Tcp(80))
	for _, test := range []struct {
		name   string
		before []*policy.Rule
		after  []*policy.Rule
		remove []uint32
	}{
		{"peer added", []*policy.Rule{a}, []*policy.Rule{oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32", "10.10.1.22/32"), oftest.Tcp(80))}, nil},
		{"peer removed", []*policy.Rule{a}, []*policy.Rule{oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.21/32"), oftest.Tcp(80))}, nil},
		{"all peers removed", []*policy.Rule{a}, []*policy.Rule{oftest.Ingress(2, oftest.PolicyPodA, nil, oftest.Tcp(80))}, nil},
		{"services removed", []*policy.Rule{a}, []*policy.Rule{oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32"))}, nil},
		{"applied to another Pod", []*policy.Rule{a}, []*policy.Rule{oftest.Ingress(2, oftest.PolicyPodB, oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32"), oftest.Tcp(80))}, nil},
		{"other direction", []*policy.Rule{a}, []*policy.Rule{oftest.Egress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))}, nil},
		{"one of two with the same flows removed", []*policy.Rule{a, oftest.Ingress(3, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))}, nil, []uint32{2}},
		{"logged from now on", []*policy.Rule{a}, []*policy.Rule{oftest.Logged(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32"), oftest.Tcp(80)))}, nil},
		{"no longer logged", []*policy.Rule{oftest.Logged(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80)))}, []*policy.Rule{oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))}, nil},
		{"the only logged one of two removed", []*policy.Rule{a, oftest.Logged(oftest.Ingress(3, oftest.PolicyPodA, nil))}, nil, []uint32{3}},
		{"one replaced by another", []*policy.Rule{a}, []*policy.Rule{oftest.Ingress(3, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))}, []uint32{2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
			require.NoError(t, c.UpdatePolicyRules(test.before, nil))
			fake.ClearHistory()
			require.NoError(t, c.UpdatePolicyRules(test.after, test.remove))
			require.Len(t, fake.History(), 1, "one bundle")

			fresh, want := oftest.NewTestClient(t, oftest.ONCacheFeatures)
			final := test.after
			for _, r := range test.before {
				if networkpolicy.RuleMap(c)[r.FlowID] == r {
					final = append(final, r)
				}
			}
			require.NoError(t, fresh.UpdatePolicyRules(final, nil))
			require.Equal(t, oftest.Render(oftest.TableNames(fresh), want.Flows()), oftest.Render(oftest.TableNames(c), fake.Flows()))
		})
	}
}

func TestPolicyChangeNamesThePods(t *testing.T) {
	a := oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))
	b := oftest.Egress(3, oftest.PolicyPodB, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))
	for _, test := range []struct {
		name   string
		before []*policy.Rule
		change func(openflow.Client) error
		// want is nil when nothing must be sent.
		want []string
	}{
		{"new rule", nil, oftest.Install(a), []string{"pod-a"}},
		{"new rules of two Pods", nil, oftest.Install(a, b), []string{"pod-a", "pod-b"}},
		{"same rule again", []*policy.Rule{a}, oftest.Install(a), nil},
		{"equal rule again", []*policy.Rule{a}, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))), nil},
		// Its Pods' packets match no megaflow from before the change, so all new connections are logged from then on.
		{"logged from now on", []*policy.Rule{a, b}, oftest.Install(oftest.Logged(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))), b), []string{"pod-a"}},
		{"peers of one of two rules", []*policy.Rule{a, b}, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, nil), b), []string{"pod-a"}},
		{"moved from one Pod to the other", []*policy.Rule{a}, oftest.Install(oftest.Ingress(2, oftest.PolicyPodB, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))), []string{"pod-a", "pod-b"}},
		{"removed", []*policy.Rule{a, b}, func(c openflow.Client) error { return c.UpdatePolicyRules(nil, []uint32{3}) }, []string{"pod-b"}},
		{"unknown removed", []*policy.Rule{a}, func(c openflow.Client) error { return c.UpdatePolicyRules(nil, []uint32{77}) }, nil},
		{"Pod with another port", []*policy.Rule{a}, oftest.Install(oftest.Ingress(2, policy.Pod{InterfaceName: "pod-a", OFPort: 77, IPs: []netip.Addr{oftest.PodAIP}}, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))), []string{"pod-a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
			require.NoError(t, c.UpdatePolicyRules(test.before, nil))
			r := &oftest.Recorder{}
			c.SetInterceptor(r)
			fake.ClearHistory()
			require.NoError(t, test.change(c))
			if test.want == nil {
				require.Empty(t, r.Changes)
				require.Empty(t, fake.History())
				return
			}
			require.Equal(t, []coherency.Change{{Interfaces: test.want}}, r.Changes)
			require.Len(t, fake.History(), 1)
		})
	}
}

func TestRefusedPolicyChange(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80)))(c))
	before := fake.Flows()
	change := oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, nil), oftest.Ingress(3, oftest.PolicyPodB, oftest.Everybody))
	fake.FailNext(oftest.ErrRefused)
	require.ErrorIs(t, change(c), oftest.ErrRefused)
	require.Equal(t, before, fake.Flows())
	require.Len(t, networkpolicy.RuleMap(c), 1)
	require.NoError(t, change(c))
	require.Len(t, networkpolicy.RuleMap(c), 2)

	t.Run("fate unknown", func(t *testing.T) {
		want := fake.Flows()
		fake.FailNext(of.ErrDisconnected)
		require.ErrorIs(t, c.UpdatePolicyRules(nil, []uint32{2, 3}), of.ErrDisconnected)
		fake.Reconnect(true)
		require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, nil))(c), "even an empty change sends everything")
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
		{"Pod without port", *oftest.Ingress(2, policy.Pod{InterfaceName: "pod-a", IPs: []netip.Addr{oftest.PodAIP}}, nil), "must be 1 to"},
		{"invalid peer", *oftest.Ingress(2, oftest.PolicyPodA, []netip.Prefix{{}}), "neither an IPv4 nor an IPv6 prefix"},
		{"unknown protocol", *oftest.Ingress(2, oftest.PolicyPodA, nil, policy.Service{Protocol: 2}), "one of the protocols 6 17 132 1"},
		{"no protocol", *oftest.Ingress(2, oftest.PolicyPodA, nil, policy.Service{}), "one of the protocols"},
		{"port of ICMP", *oftest.Ingress(2, oftest.PolicyPodA, nil, policy.Service{Protocol: 1, Mask: 0xffff}), "ICMP has no ports"},
		{"code of ICMP without type", *oftest.Ingress(2, oftest.PolicyPodA, nil, policy.Service{Protocol: 1, ICMPCode: new(uint8)}), "a code needs a type"},
		{"type of TCP", *oftest.Ingress(2, oftest.PolicyPodA, nil, policy.Service{Protocol: 6, ICMPType: new(uint8)}), "only ICMP has types"},
		{"source port outside its mask", *oftest.Ingress(2, oftest.PolicyPodA, nil, policy.Service{Protocol: 6, SourcePort: 1}), "outside its mask"},
		{"Services as peers of ingress", policy.Rule{FlowID: 2, Effect: tiered(policy.Drop, 1), Direction: policy.Ingress, PeerServices: []uint32{5}}, "only egress rules"},
		{"no group", policy.Rule{FlowID: 2, Effect: tiered(policy.Drop, 1), Direction: policy.Egress, PeerServices: []uint32{0}}, "group ids are not 0"},
		{"applied to Pods and Services", policy.Rule{FlowID: 2, Effect: tiered(policy.Drop, 1), Direction: policy.Ingress, AppliedTo: []policy.Pod{oftest.PolicyPodA}, AppliedToServices: []uint32{5}}, "then not to Pods"},
		{"isolates NodePorts", policy.Rule{FlowID: 2, Effect: policy.Kubernetes, Direction: policy.Ingress, AppliedToServices: []uint32{5}}, "only ingress rules with an order"},
		{"port outside its mask", *oftest.Ingress(2, oftest.PolicyPodA, nil, policy.Service{Protocol: 6, Port: 81, Mask: 0xfffe}), "outside its mask"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
			require.ErrorContains(t, oftest.Install(&test.rule)(c), test.want)
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
				if s.Matches(policy.Connection{Protocol: of.IPProtoTCP, DestinationPort: uint16(port)}) {
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
	former := openflow.NewClient(fake, oftest.NoTableNames, oftest.ONCacheFeatures)
	_, err := former.Initialize(ctx, pipeline.RoundInfo{RoundNum: oftest.TestRound - 2}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32"), oftest.Tcp(80)))(former))

	previous := uint16(oftest.TestRound - 2)
	c := openflow.NewClient(fake, oftest.NoTableNames, oftest.ONCacheFeatures)
	_, err = c.Initialize(ctx, pipeline.RoundInfo{RoundNum: oftest.TestRound, PrevRoundNum: &previous}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.Contains(t, oftest.Render(oftest.TableNames(c), fake.Flows()), "nw_src=10.10.1.21 actions=conjunction(2,1/3)")
	r := &oftest.Recorder{}
	c.SetInterceptor(r)
	fake.ClearHistory()
	require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80)))(c))
	require.Len(t, fake.History(), 1)
	require.Equal(t, []coherency.Change{{All: true, Interfaces: []string{"pod-a"}}}, r.Changes)

	fresh, want := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80)))(fresh))
	require.Equal(t, oftest.Render(oftest.TableNames(fresh), want.Flows()), oftest.Render(oftest.TableNames(c), fake.Flows()))
	require.NoError(t, c.UpdatePolicyRules(nil, nil))
	require.Len(t, fake.History(), 1, "only the first change deletes them")
}

// Rules can be added to the rules of an earlier agent, until UpdatePolicyRules removes these.
func TestPoliciesOnTopOfFormerRounds(t *testing.T) {
	fake := of.NewFake()
	former := openflow.NewClient(fake, oftest.NoTableNames, oftest.ONCacheFeatures)
	_, err := former.Initialize(t.Context(), pipeline.RoundInfo{RoundNum: oftest.TestRound - 1}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80)))(former))

	previous := uint16(oftest.TestRound - 1)
	c := openflow.NewClient(fake, oftest.NoTableNames, oftest.ONCacheFeatures)
	_, err = c.Initialize(t.Context(), pipeline.RoundInfo{RoundNum: oftest.TestRound, PrevRoundNum: &previous}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.NoError(t, c.UpdatePolicyRulesOnTop([]*policy.Rule{oftest.Ingress(3, oftest.PolicyPodB, oftest.Everybody)}, nil))
	require.NoError(t, c.UpdatePolicyRulesOnTop(nil, nil))
	require.Contains(t, oftest.Render(oftest.TableNames(c), fake.Flows()), "nw_src=10.10.1.20 actions=conjunction(2,1/3)")
	require.NoError(t, c.UpdatePolicyRules(nil, nil))

	fresh, want := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, oftest.Install(oftest.Ingress(3, oftest.PolicyPodB, oftest.Everybody))(fresh))
	require.Equal(t, oftest.Render(oftest.TableNames(fresh), want.Flows()), oftest.Render(oftest.TableNames(c), fake.Flows()))
}
