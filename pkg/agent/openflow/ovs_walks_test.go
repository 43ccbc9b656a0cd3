// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

var walks = []struct {
	name   string
	packet string
	ct     []string
	// outputs is empty when the packet must be dropped.
	outputs []int
	// final are parts of the packet as it leaves.
	final []string
	// passes, avoids are tables.
	passes, avoids []string
	recirculations int
}{
	{
		name: "Pod to remote Pod, new", packet: oftest.PodAToRemote, ct: []string{oftest.CTNew},
		outputs: []int{oftest.TunnelPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_dst=192.168.77.102"},
		passes: []string{"PreRoutingClassifier", "EgressRule", "EgressDefaultRule", "ConntrackCommit"},
		avoids: []string{"IngressRule", "ONCacheMark"}, recirculations: 1,
	},
	{
		name: "Pod to remote Pod, established", packet: oftest.PodAToRemote + ",ct_mark=3", ct: []string{oftest.CTEstablished},
		outputs: []int{oftest.TunnelPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_dst=192.168.77.102"},
		passes: []string{"AntreaPolicyEgressRule", "EgressMetric", "IngressMetric", "ONCacheMark"},
		avoids: []string{"PreRoutingClassifier", "EgressRule", "EgressDefaultRule", "IngressRule"}, recirculations: 1,
	},
	{
		name: "remote Pod to Pod, new", packet: oftest.RemoteToPodA, ct: []string{oftest.CTNew},
		outputs: []int{oftest.PodAPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:11", "nw_ttl=62"},
		passes: []string{"IngressRule", "IngressDefaultRule"}, avoids: []string{"SpoofGuard", "ONCacheMark"}, recirculations: 1,
	},
	{
		name: "remote Pod to Pod, reply", packet: oftest.RemoteToPodA + ",ct_mark=3", ct: []string{oftest.CTReply},
		outputs: []int{oftest.PodAPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:11", "nw_ttl=62"},
		passes: []string{"AntreaPolicyIngressRule", "ONCacheMark"}, avoids: []string{"EgressRule", "IngressRule", "IngressDefaultRule"}, recirculations: 1,
	},
	{
		name: "related packet bypasses policy", packet: oftest.RemoteToPodA + ",ct_mark=3", ct: []string{"trk,rel"},
		outputs: []int{oftest.PodAPort}, avoids: []string{"EgressRule", "IngressRule"}, recirculations: 1,
	},
	{
		name: "Pod to Pod on the same Node", packet: oftest.PodAToPodB, ct: []string{oftest.CTNew},
		outputs: []int{oftest.PodBPort}, final: []string{"dl_src=0a:00:00:00:00:11,dl_dst=0a:00:00:00:00:12", "nw_ttl=64"},
		passes: []string{"EgressRule", "IngressRule"}, avoids: []string{"L3DecTTL"}, recirculations: 1,
	},
	{
		name: "Pod to gateway", packet: oftest.PodAToGW, ct: []string{oftest.CTNew},
		outputs: []int{oftest.GWPort}, final: []string{"nw_ttl=63"}, avoids: []string{"IngressRule"}, recirculations: 2,
	},
	{
		name: "Pod to the world", packet: oftest.PodAToWorld, ct: []string{oftest.CTNew},
		outputs: []int{oftest.GWPort}, final: []string{"dl_dst=0a:00:00:00:00:01", "nw_ttl=64"}, avoids: []string{"IngressRule"}, recirculations: 1,
	},
	{
		name: "gateway to Pod", packet: oftest.GWToPodA, ct: []string{oftest.CTNew},
		outputs: []int{oftest.PodAPort}, final: []string{"nw_ttl=64"}, passes: []string{"IngressRule"}, recirculations: 1,
	},
	{
		name: "the Node's own packet to Pod skips ingress policy", packet: oftest.GWToPodA + ",pkt_mark=0x80000000", ct: []string{oftest.CTNew},
		outputs: []int{oftest.PodAPort}, avoids: []string{"IngressRule", "IngressMetric"}, recirculations: 1,
	},
	{
		name: "forwarded packet to Pod", packet: oftest.WorldToPodA, ct: []string{oftest.CTNew},
		outputs: []int{oftest.PodAPort}, passes: []string{"SpoofGuard", "IngressRule"}, recirculations: 1,
	},
	{
		name: "gateway to remote Pod, TTL already decremented", packet: oftest.GWToRemote, ct: []string{oftest.CTNew},
		outputs: []int{oftest.TunnelPort}, final: []string{"nw_ttl=64", "tun_dst=192.168.77.102"}, recirculations: 1,
	},
	{
		name: "reply of a connection from the gateway goes back there", packet: oftest.PodAToWorld + ",ct_mark=2",
		ct: []string{oftest.CTReply}, outputs: []int{oftest.GWPort}, final: []string{"dl_dst=0a:00:00:00:00:01"}, recirculations: 1,
	},
	{name: "spoofed source address", packet: strings.ReplaceAll(oftest.PodAToRemote, oftest.PodAIP.String(), oftest.PodBIP.String()), ct: []string{oftest.CTNew}},
	{name: "spoofed source MAC", packet: strings.ReplaceAll(oftest.PodAToRemote, oftest.PodAMAC.String(), oftest.PodBMAC.String()), ct: []string{oftest.CTNew}},
	{name: "unknown port", packet: strings.ReplaceAll(oftest.PodAToRemote, "in_port=11", "in_port=77"), ct: []string{oftest.CTNew}},
	{name: "unknown local Pod", packet: strings.ReplaceAll(oftest.RemoteToPodA, oftest.PodAIP.String(), "10.10.0.200"), ct: []string{oftest.CTNew}, recirculations: 1},
	{name: "invalid packet", packet: oftest.PodAToRemote + ",ct_mark=3", ct: []string{"trk,inv"}, recirculations: 1},
	{name: "invalid packet from the tunnel", packet: oftest.RemoteToPodA + ",ct_mark=3", ct: []string{"trk,inv"}, recirculations: 1},
	{name: "IPv6", packet: "ipv6,in_port=11,dl_src=0a:00:00:00:00:11"},
	{name: "other protocols", packet: "dl_type=0x88cc,in_port=11,dl_src=0a:00:00:00:00:11"},
}

func TestWalks(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	for _, test := range walks {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct...)
			require.Equal(t, test.outputs, w.Outputs, w.Text)
			for _, part := range test.final {
				require.Contains(t, w.FinalFlow(), part, w.Text)
			}
			for _, table := range test.passes {
				require.Contains(t, w.Tables, table, w.Text)
			}
			for _, table := range test.avoids {
				require.NotContains(t, w.Tables, table, w.Text)
			}
			require.Equal(t, test.recirculations, w.Recirculations, w.Text)
		})
	}
}

func TestARPWalks(t *testing.T) {
	b := oftest.NewBridge(t, oftest.DefaultFeatures)
	b.InstallAll()
	arp := func(port uint32, sha, spa, tpa string) string {
		return fmt.Sprintf("arp,in_port=%d,dl_src=%s,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_sha=%s,arp_spa=%s,arp_tha=00:00:00:00:00:00,arp_tpa=%s", port, sha, sha, spa, tpa)
	}
	gwARP := func(tpa netip.Addr) string {
		return arp(oftest.GWPort, oftest.GWMAC.String(), oftest.GWIP.String(), tpa.String())
	}
	podARP := func(tpa netip.Addr) string {
		return arp(oftest.PodAPort, oftest.PodAMAC.String(), oftest.PodAIP.String(), tpa.String())
	}
	for _, test := range []struct {
		name, packet string
		want         string
	}{
		{"gateway asks for a Pod", gwARP(oftest.PodAIP), "NORMAL"},
		{"Pod asks for the gateway", podARP(oftest.GWIP), "NORMAL"},
		{"Pod announces itself", podARP(oftest.PodAIP), "NORMAL"},
		{"gateway asks for the remote gateway", gwARP(oftest.RemoteGW), "IN_PORT"},
		{"Pod with a spoofed address", arp(oftest.PodAPort, oftest.PodAMAC.String(), oftest.PodBIP.String(), oftest.GWIP.String()), "drop"},
		{"Pod with a spoofed MAC", arp(oftest.PodAPort, oftest.PodBMAC.String(), oftest.PodAIP.String(), oftest.GWIP.String()), "drop"},
		{"Pod claims the gateway", arp(oftest.PodAPort, oftest.PodAMAC.String(), oftest.GWIP.String(), oftest.PodBIP.String()), "drop"},
		{"from the tunnel", arp(oftest.TunnelPort, oftest.PodAMAC.String(), oftest.RemotePodIP.String(), oftest.PodAIP.String()), "drop"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet)
			switch test.want {
			case "drop":
				require.Contains(t, w.Text, "Datapath actions: drop")
				require.NotContains(t, w.Tables, "ARPResponder")
			default:
				require.Contains(t, w.Text, test.want)
				require.NotContains(t, w.Text, "Datapath actions: drop")
			}
		})
	}
	t.Run("the answer for the remote gateway", func(t *testing.T) {
		final := b.Trace(gwARP(oftest.RemoteGW)).FinalFlow()
		for _, part := range []string{
			"dl_src=aa:bb:cc:dd:ee:ff,dl_dst=0a:00:00:00:00:01", "arp_op=2",
			"arp_spa=10.10.1.1,arp_tpa=10.10.0.1", "arp_sha=aa:bb:cc:dd:ee:ff,arp_tha=0a:00:00:00:00:01",
		} {
			require.Contains(t, final, part)
		}
	})
}
