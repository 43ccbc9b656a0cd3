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
