// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// routedToPodA is a packet of a remote Pod that the host has forwarded.
var routedToPodA = strings.Replace(oftest.WorldToPodA, "203.0.113.9", oftest.RemotePodIP.String(), 1)

// directWalks are packets of a peer that is reached directly.
var directWalks = []struct {
	name, packet, ct string
	port             int
	// passes is a table, avoids another one.
	passes, avoids string
	final          string
}{
	{"Pod to remote Pod, new", oftest.PodAToRemote, oftest.CTNew, oftest.GWPort, "EgressRule", "EgressMark", "dl_dst=0a:00:00:00:00:01"},
	{"Pod to remote Pod, established", oftest.PodAToRemote + ",ct_mark=3", oftest.CTEstablished, oftest.GWPort, "EgressMetric", "EgressMark", "nw_ttl=63"},
	{"answer to a connection opened through the tunnel", oftest.PodAToRemote + ",ct_mark=1", oftest.CTReply, oftest.GWPort, "EgressMetric", "EgressMark", "nw_ttl=63"},
	{"answer to a connection opened directly", oftest.PodAToRemote + ",ct_mark=2", oftest.CTReply, oftest.GWPort, "EgressMetric", "EgressMark", "nw_ttl=63"},
	{"remote Pod to Pod, new", routedToPodA, oftest.CTNew, oftest.PodAPort, "IngressRule", "EgressMark", "dl_dst=0a:00:00:00:00:11"},
	{"remote Pod to Pod, established", routedToPodA + ",ct_mark=3", oftest.CTReply, oftest.PodAPort, "AntreaPolicyIngressRule", "IngressRule", "nw_ttl=64"},
	{"a Pod with an address of the peer", strings.Replace(oftest.PodAToPodB, "nw_src=10.10.0.11", "nw_src=10.10.1.20", 1), oftest.CTNew, 0, "SpoofGuard", "EgressRule", ""},
}

// TestDirectWalks: packets of a peer that is reached directly pass the same tables as others, between the Pod and the host, and packets that come
// through the tunnel nevertheless, as while the mode changes, are answered.
func TestDirectWalks(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	install := func(kind reach.Kind) {
		require.NoError(t, b.C.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR: {
			Gateway: oftest.RemoteGW, Reach: reach.Reach{Kind: kind, Address: oftest.RemotePeer}}}))
	}
	install(reach.Direct)
	for _, test := range directWalks {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct)
			if test.port == 0 {
				require.Empty(t, w.Outputs, w.Text)
			} else {
				require.Equal(t, []int{test.port}, w.Outputs, w.Text)
				require.Contains(t, w.FinalFlow(), test.final, w.Text)
			}
			require.Contains(t, w.Tables, test.passes, w.Text)
			require.NotContains(t, w.Tables, test.avoids, w.Text)
		})
	}
	w := b.Trace(oftest.RemoteToPodA, oftest.CTNew)
	require.Equal(t, []int{oftest.PodAPort}, w.Outputs, w.Text)
}

// TestAnswersAfterAChange: behind the tunnel, a peer that was reached without it when it opened a connection gets the answers of Pods through the tunnel.
// The cache does not learn from them, and answers that the host translates, or that are for others, return to the host.
func TestAnswersAfterAChange(t *testing.T) {
	b := oftest.NewBridge6(t, oftest.DualStackNode)
	for family, packet := range map[string]string{"IPv4": oftest.PodAToRemote, "IPv6": oftest.PodAToRemote6} {
		for _, test := range []struct {
			name, mark, ct string
			port           int
		}{
			{"answer", "2", oftest.CTReply, oftest.TunnelPort},
			{"error", "2", "trk,rel,rpl", oftest.TunnelPort},
			{"the Pod has opened the connection", "3", oftest.CTEstablished, oftest.TunnelPort},
			{"to a Service, through the host", "0x12", oftest.CTReply, oftest.GWPort},
			{"to a Service, with another source", "0x32", oftest.CTReply, oftest.GWPort},
		} {
			t.Run(family+", "+test.name, func(t *testing.T) {
				w := b.Trace(packet+",ct_mark="+test.mark, test.ct)
				require.Equal(t, []int{test.port}, w.Outputs, w.Text)
				require.Contains(t, w.FinalFlow(), "nw_ttl=63", w.Text)
				require.Contains(t, w.Tables, "EgressMetric", w.Text)
				if test.mark != "3" {
					require.EqualValues(t, oftest.EpochUnset, w.Epoch(), w.Text)
				}
			})
		}
	}
	w := b.Trace(oftest.PodAToWorld+",ct_mark=2", oftest.CTReply)
	require.Equal(t, []int{oftest.GWPort}, w.Outputs, w.Text)
	w = b.Trace(oftest.GWToRemote+",ct_mark=2", oftest.CTReply)
	require.Empty(t, w.Outputs, "an answer that comes from the host: "+w.Text)
}
