// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// With flow records of denied connections, what rules drop and what isolation drops comes to the agent, with the rule that decides.
func TestDeniedPacketsAreStored(t *testing.T) {
	features := oftest.ProxyAllFeatures
	features.RecordDenied = true
	b := oftest.NewBridge(t, features)
	b.InstallAll()
	sw := of.NewSwitch(b.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, sw.Close()) }()
	packets, err := sw.PacketIns(t.Context(), openflow.PolicyLogController, 10, nil)
	require.NoError(t, err)
	defer packets.Close()
	drop := &policy.Rule{FlowID: 21, Name: "no", Direction: policy.Egress, Effect: policy.Effect{Order: policy.Order{Stage: policy.StageTiers, Tier: 250, Policy: 5}, Action: policy.Drop},
		AppliedTo: []policy.Pod{oftest.PolicyPodA}, Peers: oftest.Prefixes("10.10.1.0/24"), LogReference: "AntreaClusterNetworkPolicy:a"}
	require.NoError(t, b.C.UpdatePolicyRules([]*policy.Rule{drop, oftest.Ingress(22, oftest.PolicyPodB, nil)}, nil))
	next := func(from uint32, name string, to netip.Addr, mac []byte) openflow.PolicyPacket {
		t.Helper()
		frame, err := ippacket.Build(ippacket.Outline{SrcMAC: macs[from][0], DstMAC: mac, Src: oftest.PodAIP, Dst: to, TTL: 64, Protocol: ippacket.TCP, SrcPort: 1, DstPort: 2, TCPFlags: 2})
		require.NoError(t, err)
		b.Inject(name, frame)
		select {
		case <-packets.Ready():
			p := packets.Next()
			parsed, err := b.C.ParsePolicyPacket(p)
			require.NoError(t, err)
			return parsed
		case <-time.After(20 * time.Second):
			require.Fail(t, "no packet")
			return openflow.PolicyPacket{}
		}
	}
	dropped := next(oftest.PodAPort, "pod-a", oftest.RemotePodIP, oftest.GWMAC)
	require.Equal(t, []any{openflow.OperationStore | openflow.OperationLog, policy.Egress, policy.Drop, uint32(21), "AntreaPolicyEgressRule", "no", "AntreaClusterNetworkPolicy:a"},
		[]any{dropped.Operations, dropped.Direction, dropped.Action, dropped.FlowID, dropped.Table, dropped.Rule.Name, dropped.Reference})
	require.NotZero(t, dropped.Priority)
	isolated := next(oftest.PodAPort, "pod-a", oftest.PodBIP, oftest.PodBMAC)
	require.Equal(t, []any{openflow.OperationStore, policy.Ingress, policy.Drop, uint32(0), "IngressDefaultRule", uint32(oftest.PodBPort)},
		[]any{isolated.Operations, isolated.Direction, isolated.Action, isolated.FlowID, isolated.Table, isolated.PodPort})
}
