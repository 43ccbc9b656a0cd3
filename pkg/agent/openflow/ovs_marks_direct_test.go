// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// TestDirectPacketsAreMarked: packets between a Pod and the gateway carry the Pod's epoch, if their connection is established, one that the
// cache can know, and the host decides about nothing but the route. The Pod's other packets are marked as others are.
func TestDirectPacketsAreMarked(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	mark := oftest.MarkOf("pod-a", oftest.PodAPort, 7)
	mark.Direct = true
	require.NoError(t, b.C.InstallMarkFlows([]coherency.Mark{mark}))
	require.NoError(t, b.C.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR: {
		Gateway: oftest.RemoteGW, Reach: reach.Reach{Kind: reach.Direct, Address: oftest.RemotePeer}}}))
	for _, test := range []struct {
		name, packet string
		ct           []string
		want         uint32
	}{
		{"out, opened by the Pod", oftest.PodAToRemote + ",ct_mark=3", []string{oftest.CTEstablished}, 7},
		{"out, opened by the Pod through a Service", oftest.PodAToRemote + ",ct_mark=0x13", []string{oftest.CTEstablished}, 7},
		{"out, opened by the other end", oftest.PodAToRemote + ",ct_mark=2", []string{oftest.CTReply}, 7},
		{"in, opened by the Pod", routedToPodA + ",ct_mark=3", []string{oftest.CTReply}, 7},
		{"in, opened by the Pod through a Service", routedToPodA + ",ct_mark=0x13", []string{oftest.CTReply}, 7},
		{"in, opened by the other end", routedToPodA + ",ct_mark=2", []string{oftest.CTEstablished}, 7},
		{"out, opened by the other end, in the tunnel", oftest.PodAToRemote + ",ct_mark=1", []string{oftest.CTReply}, 7},
		{"in, opened by the other end, in the tunnel", routedToPodA + ",ct_mark=1", []string{oftest.CTEstablished}, 7},
		{"the ticket's bits are kept", oftest.PodAToRemote + ",ct_mark=3,pkt_mark=0xf3f00", []string{oftest.CTEstablished}, 7},

		{"new, out", oftest.PodAToRemote, []string{oftest.CTNew, oftest.CTNew}, oftest.EpochUnset},
		{"new, in", routedToPodA, []string{oftest.CTNew, oftest.CTNew}, oftest.EpochUnset},
		{"related", oftest.PodAToRemote + ",ct_mark=3", []string{"trk,rel"}, oftest.EpochUnset},
		{"not committed", oftest.PodAToRemote, []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"to a Service, opened from the tunnel", routedToPodA + ",ct_mark=0x11", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"through a Service, opened by the other end", routedToPodA + ",ct_mark=0x12", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"SNAT", oftest.PodAToRemote + ",ct_mark=0x23", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"hairpin", oftest.PodAToRemote + ",ct_mark=0x43", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"L7", oftest.PodAToRemote + ",ct_mark=0x83", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"L7, opened by the other end", routedToPodA + ",ct_mark=0x82", []string{oftest.CTEstablished}, oftest.EpochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct...)
			require.Equal(t, test.want, w.Epoch(), w.Text)
			if test.want != oftest.EpochUnset {
				require.Equal(t, 1, w.Recirculations, "one translation for verdict and mark")
				require.NotContains(t, w.Text, "Datapath actions: drop")
			}
		})
	}
	t.Run("TTL and MAC addresses", func(t *testing.T) {
		w := b.Trace(oftest.PodAToRemote+",ct_mark=3", oftest.CTEstablished)
		require.Equal(t, []int{oftest.GWPort}, w.Outputs)
		require.Contains(t, w.FinalFlow(), "nw_ttl=63", "the programs expect one of the two routers here")
		w = b.Trace(routedToPodA+",ct_mark=3", oftest.CTReply)
		require.Equal(t, []int{oftest.PodAPort}, w.Outputs)
		require.Contains(t, w.FinalFlow(), "nw_ttl=64", "the host is the only router")
	})
	t.Run("the Node moves behind the tunnel", func(t *testing.T) {
		require.NoError(t, oftest.InstallRemoteNode(b.C))
		out, in := b.Trace(oftest.PodAToRemote+",ct_mark=2", oftest.CTReply), b.Trace(oftest.RemoteToPodA+",ct_mark=2", oftest.CTEstablished)
		require.Equal(t, []uint32{7, 7}, []uint32{out.Epoch(), in.Epoch()}, "opened by the other end: %s%s", out.Text, in.Text)
		require.Equal(t, []int{oftest.TunnelPort, oftest.PodAPort}, append(out.Outputs, in.Outputs...))
		for _, ctMark := range []string{"0x12", "0x22", "0x42", "0x82"} {
			require.Zero(t, b.Trace(oftest.RemoteToPodA+",ct_mark="+ctMark, oftest.CTEstablished).Epoch(), ctMark)
		}
		toPodB := strings.Replace(oftest.RemoteToPodA, oftest.PodAIP.String(), oftest.PodBIP.String(), 1)
		require.Zero(t, b.Trace(toPodB+",ct_mark=2", oftest.CTEstablished).Epoch(), "it has no direct marks")
	})
	t.Run("after removal nothing is marked", func(t *testing.T) {
		require.NoError(t, b.C.UninstallMarkFlows([]string{"pod-a"}))
		require.Zero(t, b.Trace(oftest.PodAToRemote+",ct_mark=3", oftest.CTEstablished).Epoch())
		require.Zero(t, b.Trace(routedToPodA+",ct_mark=3", oftest.CTReply).Epoch())
	})
}
