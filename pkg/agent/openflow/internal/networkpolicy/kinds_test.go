// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
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
	widening := policy.Kubernetes
	widening.Isolates = false
	c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody))(c))
	fake.ClearHistory()
	err := oftest.Install(withEffect(oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody), widening), oftest.Ingress(3, oftest.PolicyPodB, oftest.Everybody))(c)
	require.ErrorContains(t, err, "policy rule 2: effect")
	require.ErrorContains(t, err, "that Allow")
	require.Empty(t, fake.History())
}

// Whatever policy.Closing returns has flows, so doubt never fails for lack of them.
func TestRulesThatCloseHaveFlows(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	id := uint32(2)
	for _, stage := range []policy.Stage{policy.StageTiers, policy.StageKubernetes, policy.StageBaseline} {
		for _, d := range []policy.Direction{policy.Ingress, policy.Egress} {
			r := policy.Closing(policy.Effect{Order: policy.Order{Stage: stage}, Action: policy.Allow}, d, []policy.Pod{oftest.PolicyPodA})
			r.FlowID = id
			id++
			require.NoError(t, oftest.Install(&r)(c), "%+v", r)
		}
	}
}

func TestTiersNeedTheFeatureGate(t *testing.T) {
	features := oftest.ONCacheFeatures
	features.AntreaPolicy = false
	c, fake := oftest.NewTestClient(t, features)
	fake.ClearHistory()
	for _, stage := range []policy.Stage{policy.StageTiers, policy.StageBaseline} {
		effect := policy.Effect{Order: policy.Order{Stage: stage}, Action: policy.Drop}
		require.ErrorContains(t, oftest.Install(withEffect(oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody), effect))(c), "policy rule 2: effect")
	}
	require.Empty(t, fake.History())
	require.NoError(t, oftest.Install(oftest.Ingress(2, oftest.PolicyPodA, oftest.Everybody))(c))
}

// The flows of one rule for each action, in both directions.
func TestActionFlowsGolden(t *testing.T) {
	peers := oftest.Prefixes("10.10.1.20/32")
	baseline := func(action policy.Action) policy.Effect {
		return policy.Effect{Order: policy.OrderOf(policy.TierBaseline, 5, 0), Action: action}
	}
	named := func(r *policy.Rule) *policy.Rule { return oftest.Logged(r) }
	code := uint8(0)
	echo := uint8(8)
	features := oftest.ProxyAllFeatures
	for _, test := range []struct {
		file  string
		rules []*policy.Rule
	}{
		{"action_allow.txt", []*policy.Rule{withEffect(oftest.Ingress(10, oftest.PolicyPodA, peers, oftest.Tcp(80)), tiered(policy.Allow, 0))}},
		{"action_drop.txt", []*policy.Rule{withEffect(oftest.Ingress(11, oftest.PolicyPodA, peers), tiered(policy.Drop, 0)), withEffect(oftest.Egress(12, oftest.PolicyPodA, peers), tiered(policy.Drop, 0))}},
		{"action_reject.txt", []*policy.Rule{withEffect(oftest.Ingress(12, oftest.PolicyPodA, peers), tiered(policy.Reject, 0)), withEffect(oftest.Egress(13, oftest.PolicyPodA, peers), baseline(policy.Reject))}},
		{"action_pass.txt", []*policy.Rule{withEffect(oftest.Ingress(13, oftest.PolicyPodA, peers), tiered(policy.Pass, 0))}},
		{"action_logged.txt", []*policy.Rule{
			named(withEffect(oftest.Ingress(10, oftest.PolicyPodA, peers), tiered(policy.Allow, 0))), named(withEffect(oftest.Egress(11, oftest.PolicyPodA, peers), tiered(policy.Drop, 1))),
			named(withEffect(oftest.Ingress(12, oftest.PolicyPodA, peers), tiered(policy.Reject, 1))), named(withEffect(oftest.Egress(13, oftest.PolicyPodA, peers), tiered(policy.Pass, 2))),
		}},
		{"action_services.txt", []*policy.Rule{
			withEffect(oftest.Egress(10, oftest.PolicyPodA, nil, oftest.Tcp(80)), tiered(policy.Drop, 0)),
			withEffect(&policy.Rule{FlowID: 11, Direction: policy.Ingress, AppliedToServices: []uint32{5}, Peers: oftest.Prefixes("192.0.2.0/24")}, tiered(policy.Drop, 0)),
		}},
		{"action_ports.txt", []*policy.Rule{withEffect(oftest.Ingress(10, oftest.PolicyPodA, peers,
			policy.Service{Protocol: of.IPProtoSCTP, SourcePort: 8, SourceMask: 0xfff8}, policy.Service{Protocol: of.IPProtoUDP, Port: 53, Mask: 0xffff, SourcePort: 53, SourceMask: 0xffff},
			policy.Service{Protocol: of.IPProtoTCP, SourceMask: 0xffff}, policy.Service{Protocol: of.IPProtoICMP, ICMPType: &echo, ICMPCode: &code}, policy.Service{Protocol: of.IPProtoICMP}), tiered(policy.Drop, 0))}},
	} {
		t.Run(test.file, func(t *testing.T) {
			if test.file == "action_services.txt" {
				test.rules[0].PeerServices = []uint32{5, 6}
			}
			c, fake := oftest.NewTestClient(t, features)
			base := fake.Flows()
			require.NoError(t, oftest.Install(test.rules...)(c))
			require.Len(t, fake.History(), 1)
			oftest.RequireGolden(t, test.file, oftest.Render(oftest.TableNames(c), oftest.NewFlows(base, fake.Flows())))
			want := fake.Flows()
			require.NoError(t, c.ReplayFlows(func() {}))
			require.Equal(t, want, fake.Flows())
			var ids []uint32
			for _, r := range test.rules {
				ids = append(ids, r.FlowID)
			}
			require.NoError(t, c.UpdatePolicyRules(nil, ids))
			require.Equal(t, base, fake.Flows())
			require.Empty(t, networkpolicy.ClauseUsers(c))
			require.Empty(t, networkpolicy.Numbers(c, pipeline.TableAntreaPolicyIngressRule))
		})
	}
}

// A rule that gets another effect leaves nothing behind, and is changed in one bundle that names its Pods (an Allow that becomes a Drop has the
// same clauses).
func TestChangedEffectIsOneBundleThatNamesThePods(t *testing.T) {
	peers := oftest.Prefixes("10.10.1.20/32")
	effects := []policy.Effect{tiered(policy.Allow, 1), tiered(policy.Drop, 1), tiered(policy.Reject, 1), tiered(policy.Pass, 1), tiered(policy.Drop, 7),
		policy.Kubernetes, {Order: policy.OrderOf(policy.TierBaseline, 1, 0), Action: policy.Drop}}
	for _, before := range effects {
		for _, after := range effects {
			c, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
			require.NoError(t, oftest.Install(withEffect(oftest.Ingress(2, oftest.PolicyPodA, peers, oftest.Tcp(80)), before))(c))
			rec := &oftest.Recorder{}
			c.SetInterceptor(rec)
			fake.ClearHistory()
			changed := withEffect(oftest.Ingress(2, oftest.PolicyPodA, peers, oftest.Tcp(80)), after)
			require.NoError(t, oftest.Install(changed)(c))
			if before == after {
				require.Empty(t, rec.Changes)
				continue
			}
			require.Len(t, fake.History(), 1)
			require.Equal(t, []coherency.Change{{Interfaces: []string{"pod-a"}}}, rec.Changes, "%+v to %+v", before, after)
			fresh, want := oftest.NewTestClient(t, oftest.ONCacheFeatures)
			require.NoError(t, oftest.Install(changed)(fresh))
			require.Equal(t, oftest.Render(oftest.TableNames(fresh), want.Flows()), oftest.Render(oftest.TableNames(c), fake.Flows()))
		}
	}
}

// Rules without an order among themselves deny first. A flow that is full continues directly below, also where rules have an order.
func TestEqualOrders(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	networkpolicy.SetMaxUsers(c, 1)
	rule := func(id uint32, action policy.Action, index int32) *policy.Rule {
		return withEffect(oftest.Ingress(id, oftest.PolicyPodA, []netip.Prefix{pipeline.Host(oftest.NthPeer(int(id)))}), tiered(action, index))
	}
	require.NoError(t, oftest.Install(rule(2, policy.Allow, 5), rule(3, policy.Drop, 5), rule(4, policy.Pass, 5), rule(5, policy.Drop, 5), rule(6, policy.Allow, 4), rule(7, policy.Drop, 6))(c))
	levels := networkpolicy.RuleLevels(c)
	first := []uint32{6, 3, 5, 4, 2, 7}
	for i := range first[1:] {
		require.Less(t, levels[first[i]], levels[first[i+1]], "rule %d before rule %d: %v", first[i], first[i+1], levels)
	}
	require.NoError(t, c.UpdatePolicyRules(nil, []uint32{2, 3, 4, 5, 6, 7}))
	require.Empty(t, networkpolicy.RuleLevels(c))
	require.Empty(t, networkpolicy.Numbers(c, pipeline.TableAntreaPolicyIngressRule))
}

// For random rules of all stages and actions, the switch does what policy.Evaluate says.
func TestOrderedRulesOnOVSAgreeWithEvaluation(t *testing.T) {
	for _, maxUsers := range []int{networkpolicy.MaxConjunctions, 1} {
		t.Run(fmt.Sprintf("%d rules share a flow", maxUsers), func(t *testing.T) { testOrderedRulesAgree(t, maxUsers) })
	}
}

func testOrderedRulesAgree(t *testing.T, maxUsers int) {
	const rounds, probes = 6, 16
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := newPolicySource(rand.New(rand.NewPCG(seed, 0)))
	b := oftest.NewBridge(t, oftest.ProxyAllFeatures)
	b.InstallAll()
	networkpolicy.SetMaxUsers(b.C, maxUsers)
	for range rounds {
		rules := s.rules()
		for _, r := range rules {
			s.order(r)
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
			if !egress.Allowed() || !ingress.Allowed() {
				require.Equal(t, 1, w.Recirculations, "a refused packet must leave nothing in conntrack: %s", w.Text)
				continue
			}
			if egress.FlowID != 0 && !egress.Isolated {
				require.Equal(t, egress.FlowID, w.Register("reg5"), w.Text)
			}
			if ingress.FlowID != 0 && !ingress.Isolated {
				require.Equal(t, ingress.FlowID, w.Register("reg6"), w.Text)
			}
		}
	}
}

// Each action, in each direction, in each IP version, and before each of the actions of a later rule.
func TestActionsOnOVS(t *testing.T) {
	b := oftest.NewBridge6(t, oftest.DualStackNode)
	pod := policy.Pod{InterfaceName: "pod-a", OFPort: oftest.PodAPort, IPs: []netip.Addr{oftest.PodAIP, oftest.PodA6IP}}
	packets := map[policy.Direction][]string{
		policy.Ingress: {oftest.RemoteToPodA + ",tp_dst=80", oftest.RemoteToPodA6 + ",tcp_dst=80"},
		policy.Egress:  {oftest.PodAToRemote + ",tp_dst=80", oftest.PodAToRemote6 + ",tcp_dst=80"},
	}
	for _, d := range []policy.Direction{policy.Ingress, policy.Egress} {
		for _, action := range []policy.Action{policy.Allow, policy.Drop, policy.Reject, policy.Pass} {
			for _, later := range []policy.Effect{tiered(policy.Drop, 9), tiered(policy.Allow, 9), {Order: policy.OrderOf(policy.TierBaseline, 1, 0), Action: policy.Drop}, {Order: policy.OrderOf(policy.TierBaselineAdmin, 0, 0), Action: policy.Reject}} {
				first, second := withEffect(oftest.Ingress(2, pod, oftest.Everybody, oftest.Tcp(80)), tiered(action, 1)), withEffect(oftest.Ingress(3, pod, oftest.Everybody), later)
				first.Direction, second.Direction = d, d
				require.NoError(t, oftest.Install(first, second)(b.C))
				passes := action == policy.Allow || action == policy.Pass && later.Order.Stage == policy.StageTiers
				for _, packet := range packets[d] {
					w := b.Trace(packet, oftest.CTNew, oftest.CTNew)
					require.Equal(t, passes, len(w.Outputs) > 0, "%v %v before %+v: %s", d, action, later, w.Text)
				}
			}
		}
	}
}

// Source ports of each protocol, and types and codes of ICMP in each IP version, select as policy.Service says.
func TestServicesOnOVS(t *testing.T) {
	b := oftest.NewBridge6(t, oftest.DualStackNode)
	pod := policy.Pod{InterfaceName: "pod-a", OFPort: oftest.PodAPort, IPs: []netip.Addr{oftest.PodAIP, oftest.PodA6IP}}
	value := func(v uint8) *uint8 { return &v }
	source := func(protocol uint8) policy.Service {
		return policy.Service{Protocol: protocol, SourcePort: 1000, SourceMask: 0xfff8}
	}
	both := policy.Service{Protocol: of.IPProtoUDP, Port: 80, Mask: 0xfff0, SourcePort: 53, SourceMask: 0xffff}
	for _, test := range []struct {
		service       policy.Service
		match, others []string
	}{
		{source(of.IPProtoTCP), []string{"tcp:tcp_src=1000", "tcp6:tcp_src=1007"}, []string{"tcp:tcp_src=1008", "tcp6:tcp_src=999", "udp:udp_src=1000"}},
		{source(of.IPProtoUDP), []string{"udp:udp_src=1000", "udp6:udp_src=1007"}, []string{"udp:udp_src=1008", "tcp:tcp_src=1000"}},
		{source(of.IPProtoSCTP), []string{"sctp:sctp_src=1000", "sctp6:sctp_src=1007"}, []string{"sctp:sctp_src=1008", "sctp6:sctp_src=999"}},
		{both, []string{"udp:udp_src=53,udp_dst=95"}, []string{"udp:udp_src=53,udp_dst=96", "udp:udp_src=54,udp_dst=80"}},
		{policy.Service{Protocol: of.IPProtoTCP, Mask: 0xffff}, []string{"tcp:tcp_dst=0"}, []string{"tcp:tcp_dst=1"}},
		{policy.Service{Protocol: of.IPProtoICMP}, []string{"icmp:icmp_type=8", "icmp6:icmpv6_type=128"}, []string{"tcp:tcp_dst=1"}},
		{policy.Service{Protocol: of.IPProtoICMP, ICMPType: value(8), ICMPCode: value(0)}, []string{"icmp:icmp_type=8,icmp_code=0"}, []string{"icmp:icmp_type=8,icmp_code=1", "icmp:icmp_type=13", "icmp6:icmpv6_type=128"}},
		{policy.Service{Protocol: of.IPProtoICMP, ICMPType: value(128)}, []string{"icmp6:icmpv6_type=128,icmpv6_code=3"}, []string{"icmp6:icmpv6_type=129", "icmp:icmp_type=8"}},
	} {
		require.NoError(t, oftest.Install(withEffect(oftest.Ingress(2, pod, oftest.Everybody, test.service), tiered(policy.Drop, 1)))(b.C))
		for i, packets := range [][]string{test.match, test.others} {
			for _, packet := range packets {
				protocol, fields, _ := strings.Cut(packet, ":")
				text := strings.Replace(oftest.RemoteToPodA, "tcp", protocol, 1)
				if strings.HasSuffix(protocol, "6") {
					text = strings.Replace(oftest.RemoteToPodA6, "tcp6", protocol, 1)
				}
				w := b.Trace(text+","+fields, oftest.CTNew, oftest.CTNew)
				require.Equal(t, i == 0, len(w.Outputs) == 0, "%+v, %s: %s", test.service, packet, w.Text)
			}
		}
	}
}

// order gives a rule an effect with an order, in most cases.
func (s *policySource) order(r *policy.Rule) {
	actions := []policy.Action{policy.Allow, policy.Drop, policy.Reject, policy.Pass}
	switch s.rng.IntN(4) {
	case 0:
		return
	case 1:
		r.Effect = policy.Effect{Order: policy.OrderOf(policy.TierBaseline+s.rng.Int32N(2), float64(s.rng.IntN(3)), s.rng.Int32N(3)), Action: actions[s.rng.IntN(3)]}
	default:
		r.Effect = policy.Effect{Order: policy.OrderOf([]int32{0, 250, policy.TierAdmin}[s.rng.IntN(3)], float64(s.rng.IntN(2)), s.rng.Int32N(3)), Action: actions[s.rng.IntN(4)]}
	}
	for i := range r.Services {
		if r.Services[i].Protocol != of.IPProtoICMP && s.rng.IntN(3) == 0 { // packets come from port 33333
			r.Services[i].SourcePort, r.Services[i].SourceMask = 33332+2*uint16(s.rng.IntN(2)), 0xfffe
		}
	}
	if s.rng.IntN(6) == 0 {
		r.Services = []policy.Service{{Protocol: of.IPProtoICMP}}
	}
}
