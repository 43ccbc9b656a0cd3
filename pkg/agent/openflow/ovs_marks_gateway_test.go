// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

var remoteToGW = fmt.Sprintf("tcp,in_port=%d,dl_src=0a:00:00:00:01:01,dl_dst=aa:bb:cc:dd:ee:ff,nw_src=%v,nw_dst=%v,nw_ttl=63", tunnelPort, remotePodIP, gwIP)

// TestGatewayIsMarked: with a mark of the gateway, packets of connections that the host has opened carry its epoch, and no others. Those to
// the gateway's address go through conntrack twice, before the first policy table.
func TestGatewayIsMarked(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	require.NoError(t, b.c.InstallMarkFlows([]coherency.Mark{markOf("antrea-gw0", gwPort, 9)}))
	for _, test := range []struct {
		name, packet string
		ct           []string
		want         uint32
	}{
		{"host to remote Pod", gwToRemote + ",ct_mark=2", []string{ctEstablished}, 9},
		{"host to remote Pod, through a Service", gwToRemote + ",ct_mark=0x12", []string{ctEstablished}, 9},
		{"remote Pod to host", remoteToGW + ",ct_mark=2", []string{ctNew, ctReply}, 9},
		{"remote Pod to host, through a Service", remoteToGW + ",ct_mark=0x12", []string{ctNew, ctReply}, 9},
		{"Pods have their own", podAToRemote + ",ct_mark=3", []string{ctEstablished}, 7},

		{"new, out", gwToRemote, []string{ctNew, ctNew}, epochUnset},
		{"new, and committed meanwhile", gwToRemote, []string{ctNew, ctEstablished}, epochUnset},
		{"related", remoteToGW + ",ct_mark=2", []string{ctNew, "trk,rel,rpl"}, epochUnset},
		{"not committed", gwToRemote, []string{ctEstablished}, epochUnset},
		{"opened from the tunnel, out", gwToRemote + ",ct_mark=1", []string{ctReply}, epochUnset},
		{"opened from the tunnel, in", remoteToGW + ",ct_mark=1", []string{ctNew, ctEstablished}, epochUnset},
		{"opened by a Pod", gwToRemote + ",ct_mark=3", []string{ctEstablished}, epochUnset},
		{"SNAT", gwToRemote + ",ct_mark=0x32", []string{ctReply}, epochUnset},
		{"hairpin", gwToRemote + ",ct_mark=0x52", []string{ctReply}, epochUnset},
		{"L7", gwToRemote + ",ct_mark=0x82", []string{ctEstablished}, epochUnset},
		{"host to a Pod of the Node", gwToPodA + ",ct_mark=2", []string{ctEstablished}, epochUnset},
		{"Pod of the Node to host", podAToGW + ",ct_mark=2", []string{ctNew, ctReply}, epochUnset},
		{"Pod to remote Pod, opened by the host", podAToRemote + ",ct_mark=2", []string{ctEstablished}, epochUnset},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet, test.ct...)
			require.Equal(t, test.want, w.epoch(), w.text)
			if test.want != epochUnset {
				require.Equal(t, len(test.ct), w.recirculations, "one translation for verdict and mark")
				require.NotContains(t, w.text, "Datapath actions: drop")
			}
		})
	}
	t.Run("the host's packets are not routed, those to the host keep their source MAC address", func(t *testing.T) {
		w := b.trace(gwToRemote+",ct_mark=2", ctEstablished)
		require.Equal(t, []int{tunnelPort}, w.outputs)
		require.Regexp(t, fmt.Sprintf("dl_src=%v,dl_dst=aa:bb:cc:dd:ee:ff,.*nw_ttl=64", gwMAC), w.finalFlow())
		w = b.trace(remoteToGW+",ct_mark=2", ctNew, ctReply)
		require.Equal(t, []int{gwPort}, w.outputs)
		require.Regexp(t, fmt.Sprintf("dl_src=0a:00:00:00:01:01,dl_dst=%v,.*nw_ttl=62", gwMAC), w.finalFlow())
	})
	t.Run("stamps of the host's packets", func(t *testing.T) {
		for _, packet := range []string{gwToPodA, gwToRemote} {
			w := b.trace(packet+",ct_mark=2,pkt_mark=0xaa500000", ctEstablished)
			require.Contains(t, w.text, "pkt_mark=0x2a500000/0x3ff00000", w.text)
			require.Regexp(t, "reg8=0x2a5[0-9a-f]{4}[,)]", w.finalFlow(), w.text)
		}
	})
}
