// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// Reports tell whether the host gives a packet an Egress address, and the one that it goes to on another Node.
func TestWireTraceflowOfEgress(t *testing.T) { eachDatapath(t, testTraceflowOfEgress) }

func testTraceflowOfEgress(t *testing.T, w *wire) {
	r := newTracer(t, w)
	egress, world := netip.MustParseAddr("192.168.77.200"), netip.MustParseAddr("203.0.113.9")
	for _, test := range []struct {
		name    string
		sources []openflow.EgressSource
		dst     netip.Addr
		port    uint32
		marked  bool
		tunnel  netip.Addr
	}{
		{"none", nil, world, oftest.GWPort, false, netip.Addr{}},
		{"here", []openflow.EgressSource{{Addr: egress, Mark: 7}}, world, oftest.GWPort, true, netip.Addr{}},
		{"elsewhere", []openflow.EgressSource{{Addr: egress}}, world, oftest.TunnelPort, false, egress},
		{"to a Pod", []openflow.EgressSource{{Addr: egress, Mark: 7}}, oftest.RemotePodIP, oftest.TunnelPort, false, netip.MustParseAddr("192.168.77.102")},
	} {
		require.NoError(t, w.C.InstallPodSNATFlows("pod-a", oftest.PodAPort, test.sources))
		require.NoError(t, w.C.InstallTraceflowFlows(5, openflow.TraceflowFlows{Sender: oftest.PodAPort}))
		w.settle()
		require.NoError(t, w.C.SendTraceflowPacket(t.Context(), 5, ippacket.Outline{
			SrcMAC: oftest.PodAMAC, DstMAC: oftest.GWMAC, Src: oftest.PodAIP, Dst: test.dst, TTL: 64, Protocol: ippacket.UDP, SrcPort: 9, DstPort: 53,
		}, oftest.PodAPort))
		report := r.outcome()
		require.Equal(t, openflow.TraceLeft, report.Outcome, test.name)
		require.Equal(t, []any{test.marked, test.tunnel, test.port}, []any{report.Marked, report.TunnelDst, report.OutPort}, test.name)
		w.next(test.port)
	}
}
