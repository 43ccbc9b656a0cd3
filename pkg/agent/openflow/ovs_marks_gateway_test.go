// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

var remoteToGW = fmt.Sprintf("tcp,in_port=%d,dl_src=0a:00:00:00:01:01,dl_dst=aa:bb:cc:dd:ee:ff,nw_src=%v,nw_dst=%v,nw_ttl=63", oftest.TunnelPort, oftest.RemotePodIP, oftest.GWIP)

// TestGatewayIsMarked: with a mark of the gateway, exactly the packets of connections that the host has opened carry its epoch.
// Packets to the gateway's address pass conntrack twice, before the first policy table.
func TestGatewayIsMarked(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	require.NoError(t, b.C.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("antrea-gw0", oftest.GWPort, 9)}))
	for _, test := range []struct {
		name, packet string
		ct           []string
		want         uint32
	}{
		{"host to remote Pod", oftest.GWToRemote + ",ct_mark=2", []string{oftest.CTEstablished}, 9},
		{"host to remote Pod, through a Service", oftest.GWToRemote + ",ct_mark=0x12", []string{oftest.CTEstablished}, 9},
		{"remote Pod to host", remoteToGW + ",ct_mark=2", []string{oftest.CTNew, oftest.CTReply}, 9},
		{"remote Pod to host, through a Service", remoteToGW + ",ct_mark=0x12", []string{oftest.CTNew, oftest.CTReply}, 9},
		{"Pods have their own", oftest.PodAToRemote + ",ct_mark=3", []string{oftest.CTEstablished}, 7},

		{"new, out", oftest.GWToRemote, []string{oftest.CTNew, oftest.CTNew}, oftest.EpochUnset},
		{"new, then committed by another packet", oftest.GWToRemote, []string{oftest.CTNew, oftest.CTEstablished}, oftest.EpochUnset},
		{"related", remoteToGW + ",ct_mark=2", []string{oftest.CTNew, "trk,rel,rpl"}, oftest.EpochUnset},
		{"not committed", oftest.GWToRemote, []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"opened from the tunnel, out", oftest.GWToRemote + ",ct_mark=1", []string{oftest.CTReply}, oftest.EpochUnset},
		{"opened from the tunnel, in", remoteToGW + ",ct_mark=1", []string{oftest.CTNew, oftest.CTEstablished}, oftest.EpochUnset},
		{"opened by a Pod", oftest.GWToRemote + ",ct_mark=3", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"SNAT", oftest.GWToRemote + ",ct_mark=0x32", []string{oftest.CTReply}, oftest.EpochUnset},
		{"hairpin", oftest.GWToRemote + ",ct_mark=0x52", []string{oftest.CTReply}, oftest.EpochUnset},
		{"L7", oftest.GWToRemote + ",ct_mark=0x82", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"host to a Pod of the Node", oftest.GWToPodA + ",ct_mark=2", []string{oftest.CTEstablished}, oftest.EpochUnset},
		{"Pod of the Node to host", oftest.PodAToGW + ",ct_mark=2", []string{oftest.CTNew, oftest.CTReply}, oftest.EpochUnset},
		{"Pod to remote Pod, opened by the host", oftest.PodAToRemote + ",ct_mark=2", []string{oftest.CTEstablished}, oftest.EpochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct...)
			require.Equal(t, test.want, w.Epoch(), w.Text)
			if test.want != oftest.EpochUnset {
				require.Equal(t, len(test.ct), w.Recirculations, "one translation for verdict and mark")
				require.NotContains(t, w.Text, "Datapath actions: drop")
			}
		})
	}
	t.Run("packets of the host are not routed, packets to the host keep their source MAC address", func(t *testing.T) {
		w := b.Trace(oftest.GWToRemote+",ct_mark=2", oftest.CTEstablished)
		require.Equal(t, []int{oftest.TunnelPort}, w.Outputs)
		require.Regexp(t, fmt.Sprintf("dl_src=%v,dl_dst=aa:bb:cc:dd:ee:ff,.*nw_ttl=64", oftest.GWMAC), w.FinalFlow())
		w = b.Trace(remoteToGW+",ct_mark=2", oftest.CTNew, oftest.CTReply)
		require.Equal(t, []int{oftest.GWPort}, w.Outputs)
		require.Regexp(t, fmt.Sprintf("dl_src=0a:00:00:00:01:01,dl_dst=%v,.*nw_ttl=62", oftest.GWMAC), w.FinalFlow())
	})
	t.Run("stamps of the host's packets", func(t *testing.T) {
		for _, packet := range []string{oftest.GWToPodA, oftest.GWToRemote} {
			w := b.Trace(packet+",ct_mark=2,pkt_mark=0xaa500000", oftest.CTEstablished)
			require.Contains(t, w.Text, "pkt_mark=0x2a500000/0x3ff00000", w.Text)
			require.Regexp(t, "reg8=0x2a5[0-9a-f]{4}[,)]", w.FinalFlow(), w.Text)
		}
	})
}
