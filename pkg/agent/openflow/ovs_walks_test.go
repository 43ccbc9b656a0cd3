// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		name: "Pod to remote Pod, new", packet: podAToRemote, ct: []string{ctNew, ctNew},
		outputs: []int{tunnelPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_dst=192.168.77.102"},
		passes: []string{"PreRoutingClassifier", "EgressRule", "EgressDefaultRule", "ConntrackCommit"},
		avoids: []string{"IngressRule", "ONCacheMark"}, recirculations: 2,
	},
	{
		name: "Pod to remote Pod, established", packet: podAToRemote + ",ct_mark=3", ct: []string{ctEstablished},
		outputs: []int{tunnelPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_dst=192.168.77.102"},
		passes: []string{"AntreaPolicyEgressRule", "EgressMetric", "IngressMetric", "ONCacheMark"},
		avoids: []string{"PreRoutingClassifier", "EgressRule", "EgressDefaultRule", "IngressRule"}, recirculations: 1,
	},
	{
		name: "remote Pod to Pod, new", packet: remoteToPodA, ct: []string{ctNew, ctNew},
		outputs: []int{podAPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:11", "nw_ttl=62"},
		passes: []string{"IngressRule", "IngressDefaultRule"}, avoids: []string{"SpoofGuard", "ONCacheMark"}, recirculations: 2,
	},
	{
		name: "remote Pod to Pod, reply", packet: remoteToPodA + ",ct_mark=3", ct: []string{ctReply},
		outputs: []int{podAPort}, final: []string{"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:11", "nw_ttl=62"},
		passes: []string{"AntreaPolicyIngressRule", "ONCacheMark"}, avoids: []string{"EgressRule", "IngressRule", "IngressDefaultRule"}, recirculations: 1,
	},
	{
		name: "related packet bypasses policy", packet: remoteToPodA + ",ct_mark=3", ct: []string{"trk,rel"},
		outputs: []int{podAPort}, avoids: []string{"EgressRule", "IngressRule"}, recirculations: 1,
	},
	{
		name: "Pod to Pod on the same Node", packet: podAToPodB, ct: []string{ctNew, ctNew},
		outputs: []int{podBPort}, final: []string{"dl_src=0a:00:00:00:00:11,dl_dst=0a:00:00:00:00:12", "nw_ttl=64"},
		passes: []string{"EgressRule", "IngressRule"}, avoids: []string{"L3DecTTL"}, recirculations: 2,
	},
	{
		name: "Pod to gateway", packet: podAToGW, ct: []string{ctNew, ctNew},
		outputs: []int{gwPort}, final: []string{"nw_ttl=63"}, avoids: []string{"IngressRule"}, recirculations: 3,
	},
	{
		name: "Pod to the world", packet: podAToWorld, ct: []string{ctNew, ctNew},
		outputs: []int{gwPort}, final: []string{"dl_dst=0a:00:00:00:00:01", "nw_ttl=64"}, avoids: []string{"IngressRule"}, recirculations: 2,
	},
	{
		name: "gateway to Pod", packet: gwToPodA, ct: []string{ctNew, ctNew},
		outputs: []int{podAPort}, final: []string{"nw_ttl=64"}, passes: []string{"IngressRule"}, recirculations: 2,
	},
	{
		name: "the Node's own packet to Pod skips ingress policy", packet: gwToPodA + ",pkt_mark=0x80000000", ct: []string{ctNew, ctNew},
		outputs: []int{podAPort}, avoids: []string{"IngressRule", "IngressMetric"}, recirculations: 2,
	},
	{
		name: "forwarded packet to Pod", packet: worldToPodA, ct: []string{ctNew, ctNew},
		outputs: []int{podAPort}, passes: []string{"SpoofGuard", "IngressRule"}, recirculations: 2,
	},
	{
		name: "gateway to remote Pod, TTL already decremented", packet: gwToRemote, ct: []string{ctNew, ctNew},
		outputs: []int{tunnelPort}, final: []string{"nw_ttl=64", "tun_dst=192.168.77.102"}, recirculations: 2,
	},
	{
		name: "reply of a connection from the gateway goes back there, wherever it is addressed to", packet: podAToRemote + ",ct_mark=2",
		ct: []string{ctReply}, outputs: []int{gwPort}, final: []string{"dl_dst=0a:00:00:00:00:01"}, recirculations: 1,
	},
	{name: "spoofed source address", packet: strings.ReplaceAll(podAToRemote, podAIP.String(), podBIP.String()), ct: []string{ctNew}},
	{name: "spoofed source MAC", packet: strings.ReplaceAll(podAToRemote, podAMAC.String(), podBMAC.String()), ct: []string{ctNew}},
	{name: "unknown port", packet: strings.ReplaceAll(podAToRemote, "in_port=11", "in_port=77"), ct: []string{ctNew}},
	{name: "unknown local Pod", packet: strings.ReplaceAll(remoteToPodA, podAIP.String(), "10.10.0.200"), ct: []string{ctNew, ctNew}, recirculations: 2},
	{name: "invalid packet", packet: podAToRemote + ",ct_mark=3", ct: []string{"trk,inv"}, recirculations: 1},
	{name: "invalid packet from the tunnel", packet: remoteToPodA + ",ct_mark=3", ct: []string{"trk,inv"}, recirculations: 1},
	{name: "IPv6", packet: "ipv6,in_port=11,dl_src=0a:00:00:00:00:11"},
	{name: "other protocols", packet: "dl_type=0x88cc,in_port=11,dl_src=0a:00:00:00:00:11"},
}

func TestWalks(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	for _, test := range walks {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet, test.ct...)
			require.Equal(t, test.outputs, w.outputs, w.text)
			for _, part := range test.final {
				require.Contains(t, w.finalFlow(), part, w.text)
			}
			for _, table := range test.passes {
				require.Contains(t, w.tables, table, w.text)
			}
			for _, table := range test.avoids {
				require.NotContains(t, w.tables, table, w.text)
			}
			require.Equal(t, test.recirculations, w.recirculations, w.text)
		})
	}
}

func TestARPWalks(t *testing.T) {
	b := newBridge(t, defaultFeatures)
	b.installAll()
	arp := func(port uint32, sha, spa, tpa string) string {
		return fmt.Sprintf("arp,in_port=%d,dl_src=%s,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_sha=%s,arp_spa=%s,arp_tha=00:00:00:00:00:00,arp_tpa=%s", port, sha, sha, spa, tpa)
	}
	gwARP := func(tpa netip.Addr) string { return arp(gwPort, gwMAC.String(), gwIP.String(), tpa.String()) }
	podARP := func(tpa netip.Addr) string { return arp(podAPort, podAMAC.String(), podAIP.String(), tpa.String()) }
	for _, test := range []struct {
		name, packet string
		want         string
	}{
		{"gateway asks for a Pod", gwARP(podAIP), "NORMAL"},
		{"Pod asks for the gateway", podARP(gwIP), "NORMAL"},
		{"Pod announces itself", podARP(podAIP), "NORMAL"},
		{"gateway asks for the remote gateway", gwARP(remoteGW), "IN_PORT"},
		{"Pod with a spoofed address", arp(podAPort, podAMAC.String(), podBIP.String(), gwIP.String()), "drop"},
		{"Pod with a spoofed MAC", arp(podAPort, podBMAC.String(), podAIP.String(), gwIP.String()), "drop"},
		{"Pod claims the gateway", arp(podAPort, podAMAC.String(), gwIP.String(), podBIP.String()), "drop"},
		{"from the tunnel", arp(tunnelPort, podAMAC.String(), remotePodIP.String(), podAIP.String()), "drop"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet)
			switch test.want {
			case "drop":
				require.Contains(t, w.text, "Datapath actions: drop")
				require.NotContains(t, w.tables, "ARPResponder")
			default:
				require.Contains(t, w.text, test.want)
				require.NotContains(t, w.text, "Datapath actions: drop")
			}
		})
	}
	t.Run("the answer for the remote gateway", func(t *testing.T) {
		final := b.trace(gwARP(remoteGW)).finalFlow()
		for _, part := range []string{
			"dl_src=aa:bb:cc:dd:ee:ff,dl_dst=0a:00:00:00:00:01", "arp_op=2",
			"arp_spa=10.10.1.1,arp_tpa=10.10.0.1", "arp_sha=aa:bb:cc:dd:ee:ff,arp_tha=0a:00:00:00:00:01",
		} {
			require.Contains(t, final, part)
		}
	})
}
