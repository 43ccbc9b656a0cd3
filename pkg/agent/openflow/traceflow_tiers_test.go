// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// Reports tell which rule of a tier denies a packet, in which direction, also if the packet is logged.
func TestWireTraceflowOfTiers(t *testing.T) { eachDatapath(t, testTraceflowOfTiers) }

func testTraceflowOfTiers(t *testing.T, w *wire) {
	r := newTracer(t, w)
	rule := func(r *policy.Rule, action policy.Action, stage policy.Stage) *policy.Rule {
		r.Effect = policy.Effect{Order: policy.Order{Stage: stage, Tier: 250, Policy: 5, Rule: int32(r.FlowID)}, Action: action}
		r.LogReference = "AntreaClusterNetworkPolicy:a"
		return r
	}
	require.NoError(t, w.C.UpdatePolicyRules([]*policy.Rule{
		rule(oftest.Egress(21, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(82)), policy.Drop, policy.StageTiers),
		rule(oftest.Ingress(22, oftest.PolicyPodB, oftest.Everybody, oftest.Tcp(83)), policy.Reject, policy.StageTiers),
		rule(oftest.Egress(23, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(84)), policy.Pass, policy.StageTiers),
		rule(oftest.Egress(24, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(84)), policy.Drop, policy.StageBaseline),
		rule(oftest.Egress(25, oftest.PolicyPodA, oftest.Everybody, oftest.Tcp(85)), policy.Allow, policy.StageTiers),
		rule(oftest.Ingress(26, oftest.PolicyPodB, oftest.Everybody, oftest.Tcp(85)), policy.Pass, policy.StageTiers),
	}, nil))
	for port, want := range map[uint16]openflow.TraceReport{
		82: {Outcome: openflow.TraceDropped, Table: "EgressMetric", DeniedBy: 21},
		83: {Outcome: openflow.TraceDropped, Table: "IngressMetric", DeniedBy: 22},
		84: {Outcome: openflow.TraceDropped, Table: "EgressMetric", DeniedBy: 24},
		85: {Outcome: openflow.TraceLeft, Table: "Output", EgressFlowID: 25},
	} {
		require.NoError(t, w.C.InstallTraceflowFlows(5, openflow.TraceflowFlows{Sender: oftest.PodAPort}))
		w.settle()
		require.NoError(t, w.C.SendTraceflowPacket(t.Context(), 5, ippacket.Outline{
			SrcMAC: oftest.PodAMAC, DstMAC: oftest.PodBMAC, Src: oftest.PodAIP, Dst: oftest.PodBIP, TTL: 64, Protocol: ippacket.TCP, SrcPort: 40000, DstPort: port, TCPFlags: 2,
		}, oftest.PodAPort))
		got := r.outcome()
		require.Equal(t, want, openflow.TraceReport{Outcome: got.Outcome, Table: got.Table, DeniedBy: got.DeniedBy, EgressFlowID: got.EgressFlowID, IngressFlowID: got.IngressFlowID}, port)
		require.NoError(t, w.C.UninstallTraceflowFlows(5))
	}
}
