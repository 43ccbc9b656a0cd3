// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var openingsFeatures = openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true, Openings: true}

func newOpeningsBridge(t *testing.T) *oftest.Bridge {
	b := oftest.NewBridge(t, openingsFeatures)
	b.InstallAll()
	require.NoError(t, b.C.InstallMarkFlows([]coherency.Mark{{InterfaceName: "pod-a", OFPort: oftest.PodAPort, Epoch: 7, Openings: true}}))
	return b
}

// TestOnlyPacketsThatOpenAreMarked: a packet that opens a connection between a Pod and a Pod of another Node gets the epoch with the opening bit, and
// its connection is committed, in the translation that has decided about it.
func TestOnlyPacketsThatOpenAreMarked(t *testing.T) {
	const opening = 0x207
	b := newOpeningsBridge(t)
	podB := strings.NewReplacer(oftest.PodAIP.String(), oftest.PodBIP.String())
	for _, test := range []struct {
		name, packet, ct string
		want             uint32
	}{
		{"Pod to remote Pod", oftest.PodAToRemote, oftest.CTNew, opening},
		{"remote Pod to Pod", oftest.RemoteToPodA, oftest.CTNew, opening},
		{"the SYN again", oftest.PodAToRemote + ",ct_mark=3", oftest.CTNew, opening},
		{"with stamp and ticket", oftest.PodAToRemote + ",pkt_mark=0x2a5f3f00", oftest.CTNew, opening},

		{"established", oftest.PodAToRemote + ",ct_mark=3", oftest.CTEstablished, 7},
		{"Pod without openings", podB.Replace(oftest.RemoteToPodA), oftest.CTNew, oftest.EpochUnset},
		{"related", oftest.PodAToRemote, "trk,new,rel", oftest.EpochUnset},
		{"established, not committed", oftest.PodAToRemote, oftest.CTEstablished, oftest.EpochUnset},
		{"invalid", oftest.PodAToRemote, "trk,inv", oftest.EpochUnset},
		{"to a Service", oftest.PodAToRemote + ",ct_mark=0x10", oftest.CTNew, oftest.EpochUnset},
		{"SNAT", oftest.PodAToRemote + ",ct_mark=0x20", oftest.CTNew, oftest.EpochUnset},
		{"hairpin", oftest.PodAToRemote + ",ct_mark=0x40", oftest.CTNew, oftest.EpochUnset},
		{"L7", oftest.PodAToRemote + ",ct_mark=0x80", oftest.CTNew, oftest.EpochUnset},
		{"within the Node", oftest.PodAToPodB, oftest.CTNew, oftest.EpochUnset},
		{"from the gateway", oftest.GWToPodA, oftest.CTNew, oftest.EpochUnset},
		{"from the host", oftest.GWToPodA + ",pkt_mark=0x80000000", oftest.CTNew, oftest.EpochUnset},
		{"from the gateway to a remote Pod", oftest.GWToRemote, oftest.CTNew, oftest.EpochUnset},
		{"to the gateway", oftest.PodAToGW, oftest.CTNew, oftest.EpochUnset},
		{"to the world", oftest.PodAToWorld, oftest.CTNew, oftest.EpochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct)
			require.Equal(t, test.want, w.Epoch(), w.Text)
			if test.want == opening {
				require.Equal(t, 1, w.Recirculations, "one translation for verdict, commit and mark")
				require.Regexp(t, `Datapath actions: \S*ct\(commit,.*set\(skb_mark\(0x207[0-9a-f]{5}/\S+\)\),.*\d+\n?$`, strings.TrimSpace(w.Text))
			}
		})
	}
	t.Run("epoch 0", func(t *testing.T) {
		require.NoError(t, b.C.InstallMarkFlows([]coherency.Mark{{InterfaceName: "pod-a", OFPort: oftest.PodAPort, Openings: true}}))
		require.Zero(t, b.Trace(oftest.PodAToRemote, oftest.CTNew).Epoch())
	})
}

// TestLoggedConnectionsAreNotMarked: the log has a line for each connection, so the next one must also come to Open vSwitch. A repeated SYN, which has no
// line, must not stand for others.
func TestLoggedConnectionsAreNotMarked(t *testing.T) {
	for kind, effect := range map[string]policy.Effect{
		"Kubernetes": policy.Kubernetes,
		"allow":      {Order: policy.Order{Stage: policy.StageTiers, Tier: 250, Policy: 5}, Action: policy.Allow},
		"pass":       {Order: policy.Order{Stage: policy.StageTiers, Tier: 250, Policy: 5}, Action: policy.Pass},
	} {
		for reference, want := range map[string]uint32{"": 0x207, "AntreaNetworkPolicy:ns/a": oftest.EpochUnset} {
			t.Run(kind+" "+reference, func(t *testing.T) {
				b := newOpeningsBridge(t)
				rule := oftest.Egress(3, oftest.PolicyPodA, oftest.Prefixes("10.10.1.0/24"))
				rule.Effect, rule.Name, rule.LogReference = effect, "rule", reference
				require.NoError(t, b.C.UpdatePolicyRules([]*policy.Rule{rule}, nil))
				require.NoError(t, b.C.InstallMarkFlows([]coherency.Mark{{InterfaceName: "pod-a", OFPort: oftest.PodAPort, Epoch: 7, Openings: true}}))
				for _, committed := range []string{"", ",ct_mark=3"} {
					w := b.Trace(oftest.PodAToRemote+committed, oftest.CTNew)
					require.Equal(t, want, w.Epoch(), w.Text)
				}
			})
		}
	}
}

// TestFormerEpochsOfOpenings: the next agent reads the same epoch of a Pod from both kinds of its mark flows.
func TestFormerEpochsOfOpenings(t *testing.T) {
	fake := of.NewFake()
	former := openflow.NewClient(fake, oftest.NoTableNames, openingsFeatures)
	_, err := former.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.NoError(t, former.InstallMarkFlows([]coherency.Mark{{InterfaceName: "pod-a", OFPort: oftest.PodAPort, Epoch: 7, Openings: true}}))
	round, hits := uint16(oftest.TestRound), &formerHits{}
	c := openflow.NewClient(fake, oftest.NoTableNames, openingsFeatures)
	_, err = c.Initialize(t.Context(), openflow.RoundInfo{RoundNum: oftest.TestRound + 1, PrevRoundNum: &round, Hits: hits}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	require.Equal(t, map[uint32]uint16{oftest.PodAPort: 7}, hits.written)
}

// openingsOfPodA asks for marks with openings in each bundle, as the cache does.
func openingsOfPodA() *oftest.Recorder {
	return &oftest.Recorder{Marks: []coherency.Mark{{InterfaceName: "pod-a", OFPort: oftest.PodAPort, Epoch: 7, Openings: true}}}
}

// TestSourcePorts: a Pod with a rule about source ports has no marks of openings from the bundle on that installs the rule, in either direction,
// whatever the rule's effect, until the last one is gone. Other Pods have theirs.
func TestSourcePorts(t *testing.T) {
	const opening, rule, other = 0x207, 3, 4
	from := policy.Service{Protocol: of.IPProtoTCP, SourcePort: 1000, SourceMask: 0xfff8}
	ordered := func(r *policy.Rule, action policy.Action) *policy.Rule {
		r.Name, r.Effect = "rule", policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 250, Policy: 5}, Action: action}
		return r
	}
	for name, applied := range map[string]*policy.Rule{
		"egress drop":   ordered(oftest.Egress(rule, oftest.PolicyPodA, oftest.Prefixes("10.99.0.0/16"), from), policy.Drop),
		"ingress allow": ordered(oftest.Ingress(rule, oftest.PolicyPodA, oftest.Prefixes("10.99.0.0/16"), from), policy.Allow),
	} {
		t.Run(name, func(t *testing.T) {
			b := newOpeningsBridge(t)
			b.C.SetInterceptor(openingsOfPodA())
			require.EqualValues(t, opening, b.Trace(oftest.PodAToRemote, oftest.CTNew).Epoch())
			requireNone := func() {
				for _, packet := range []string{oftest.PodAToRemote, oftest.RemoteToPodA} {
					require.EqualValues(t, oftest.EpochUnset, b.Trace(packet, oftest.CTNew).Epoch(), packet)
				}
				require.EqualValues(t, 7, b.Trace(oftest.PodAToRemote+",ct_mark=3", oftest.CTEstablished).Epoch())
			}
			require.NoError(t, b.C.UpdatePolicyRules([]*policy.Rule{applied}, nil))
			requireNone()
			require.NoError(t, b.C.InstallMarkFlows(openingsOfPodA().Marks), "outside of a change")
			requireNone()
			second := *applied
			second.FlowID = other
			require.NoError(t, b.C.UpdatePolicyRules([]*policy.Rule{&second}, []uint32{rule}))
			requireNone()
			require.NoError(t, b.C.UpdatePolicyRules(nil, []uint32{other}))
			require.EqualValues(t, opening, b.Trace(oftest.PodAToRemote, oftest.CTNew).Epoch())
			require.EqualValues(t, opening, b.Trace(oftest.RemoteToPodA, oftest.CTNew).Epoch())
		})
	}
	t.Run("of another Pod", func(t *testing.T) {
		b := newOpeningsBridge(t)
		b.C.SetInterceptor(openingsOfPodA())
		require.NoError(t, b.C.UpdatePolicyRules([]*policy.Rule{ordered(oftest.Ingress(rule, oftest.PolicyPodB, nil, from), policy.Drop)}, nil))
		require.EqualValues(t, opening, b.Trace(oftest.PodAToRemote, oftest.CTNew).Epoch())
	})
}

// TestSourcePortsOfUnknownBundles: while the switch may have a rule, marks that are sent without a change do not ignore it.
func TestSourcePortsOfUnknownBundles(t *testing.T) {
	c, fake := oftest.NewTestClient(t, openingsFeatures)
	require.NoError(t, oftest.InstallPodA(c))
	c.SetInterceptor(openingsOfPodA())
	install := func() error { return c.InstallMarkFlows(openingsOfPodA().Marks) }
	require.NoError(t, install())
	require.Equal(t, 2, openingFlows(fake))
	rule := oftest.Ingress(3, oftest.PolicyPodA, nil, policy.Service{Protocol: of.IPProtoTCP, SourcePort: 1000, SourceMask: 0xffff})
	fake.FailNext(of.ErrDisconnected)
	require.Error(t, c.UpdatePolicyRules([]*policy.Rule{rule}, nil))
	require.NoError(t, install())
	require.Zero(t, openingFlows(fake))
	require.NoError(t, c.UpdatePolicyRules(nil, nil))
	require.Equal(t, 2, openingFlows(fake), "the change asks for marks again")

	require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule}, nil))
	require.Zero(t, openingFlows(fake))
	r := openingsOfPodA()
	r.OnBegin = func() {
		if len(r.Changes) == 2 {
			fake.FailNext(of.ErrDisconnected)
		}
	}
	c.SetInterceptor(r)
	require.NoError(t, c.UpdatePolicyRules(nil, []uint32{rule.FlowID}), "the rule is gone; only the marks are not there")
	require.Len(t, r.Changes, 2)
	require.Zero(t, openingFlows(fake))
	require.NoError(t, install())
	require.Equal(t, 2, openingFlows(fake))
}

func openingFlows(fake *of.Fake) (n int) {
	for _, flow := range fake.Flows() {
		if strings.Contains(flow.String(), "0x207") {
			n++
		}
	}
	return n
}

// TestRulesOfFormerRounds: they may be about source ports, so no Pod has marks of openings until they are replaced.
func TestRulesOfFormerRounds(t *testing.T) {
	fake := of.NewFake()
	initialize := func(round openflow.RoundInfo) openflow.Client {
		c := openflow.NewClient(fake, oftest.NoTableNames, openingsFeatures)
		_, err := c.Initialize(t.Context(), round, oftest.TestNode, oftest.TestNetwork)
		require.NoError(t, err)
		require.NoError(t, oftest.InstallPodA(c))
		c.SetInterceptor(openingsOfPodA())
		return c
	}
	previous := uint16(oftest.TestRound)
	rule := oftest.Ingress(3, oftest.PolicyPodA, nil, policy.Service{Protocol: of.IPProtoTCP, SourcePort: 1000, SourceMask: 0xffff})
	require.NoError(t, initialize(openflow.RoundInfo{RoundNum: previous}).UpdatePolicyRules([]*policy.Rule{rule}, nil))

	c := initialize(openflow.RoundInfo{RoundNum: previous + 1, PrevRoundNum: &previous})
	install := func() error { return c.InstallMarkFlows(openingsOfPodA().Marks) }
	require.NoError(t, install())
	require.Zero(t, openingFlows(fake))
	onTop := oftest.Ingress(4, oftest.PolicyPodA, oftest.Prefixes("10.10.1.0/24"))
	require.NoError(t, c.UpdatePolicyRulesOnTop([]*policy.Rule{onTop}, nil))
	require.Zero(t, openingFlows(fake), "it leaves them in force")
	fake.FailNext(of.ErrDisconnected)
	require.Error(t, c.UpdatePolicyRules(nil, nil))
	require.NoError(t, install())
	require.Zero(t, openingFlows(fake), "they may still be there")
	require.NoError(t, c.UpdatePolicyRules(nil, nil))
	require.Equal(t, 2, openingFlows(fake))
}

// TestPeersConcernOpenings: a change of nothing but the peers of a rule with an order concerns no established connection, but openings.
func TestPeersConcernOpenings(t *testing.T) {
	rule := func(peers ...string) *policy.Rule {
		r := oftest.Ingress(3, oftest.PolicyPodA, oftest.Prefixes(peers...))
		r.Name, r.Effect = "rule", policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 250, Policy: 5}, Action: policy.Drop}
		return r
	}
	for _, openings := range []bool{false, true} {
		features := openingsFeatures
		features.Openings = openings
		c, _ := oftest.NewTestClient(t, features)
		require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule("10.10.1.0/24")}, nil))
		r := &oftest.Recorder{}
		c.SetInterceptor(r)
		require.NoError(t, c.UpdatePolicyRules([]*policy.Rule{rule("10.10.1.0/24", "10.10.2.0/24")}, nil))
		require.Len(t, r.Changes, 1)
		require.Equal(t, openings, len(r.Changes[0].Interfaces) == 1, "%+v", r.Changes)
	}
}
