// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/connectivity"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// IPv6 packets as they enter the bridge.
var ipv6Walks = []struct {
	name, packet string
	ct           []string
	// outputs is empty when the packet must be dropped.
	outputs []int
	// final are parts of the packet as it leaves; passes and avoids are tables.
	final, passes, avoids []string
	epoch                 uint32
}{
	{name: "Pod to remote Pod, new", packet: oftest.PodAToRemote6, ct: []string{oftest.CTNew, oftest.CTNew}, outputs: []int{oftest.TunnelPort},
		final:  []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_ipv6_dst=fd00:77::102"},
		passes: []string{"SpoofGuard", "IPv6", "EgressRule", "ConntrackCommit"}, avoids: []string{"IngressRule", "ONCacheMark"}},
	{name: "Pod to remote Pod, established", packet: oftest.PodAToRemote6 + ",ct_mark=3", ct: []string{oftest.CTEstablished}, outputs: []int{oftest.TunnelPort},
		final:  []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_ipv6_dst=fd00:77::102"},
		avoids: []string{"EgressRule", "IngressRule"}, epoch: 7},
	{name: "remote Pod to Pod, new", packet: oftest.RemoteToPodA6, ct: []string{oftest.CTNew, oftest.CTNew}, outputs: []int{oftest.PodAPort},
		final:  []string{"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:11", "nw_ttl=62"},
		passes: []string{"IngressRule"}, avoids: []string{"SpoofGuard", "IPv6", "ONCacheMark"}},
	{name: "remote Pod to Pod, reply", packet: oftest.RemoteToPodA6 + ",ct_mark=3", ct: []string{oftest.CTReply}, outputs: []int{oftest.PodAPort},
		final: []string{"nw_ttl=62"}, avoids: []string{"IngressRule"}, epoch: 7},
	{name: "Pod to Pod on the same Node", packet: oftest.PodAToPodB6, ct: []string{oftest.CTNew, oftest.CTNew}, outputs: []int{oftest.PodBPort},
		final: []string{"dl_src=0a:00:00:00:00:11,dl_dst=0a:00:00:00:00:12", "nw_ttl=64"}, passes: []string{"EgressRule", "IngressRule"}},
	{name: "Pod to gateway", packet: oftest.Packet6(oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, oftest.PodA6IP, oftest.GW6IP, 64), ct: []string{oftest.CTNew, oftest.CTNew}, outputs: []int{oftest.GWPort}},
	{name: "Pod to the gateway's link-local address", packet: oftest.Packet6(oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, connectivity.LinkLocalAddress(oftest.PodAMAC), connectivity.LinkLocalAddress(oftest.GWMAC), 64),
		ct: []string{oftest.CTNew, oftest.CTNew}, outputs: []int{oftest.GWPort}},
	{name: "Pod to the world", packet: oftest.Packet6(oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, oftest.PodA6IP, oftest.World6, 64), ct: []string{oftest.CTNew, oftest.CTNew}, outputs: []int{oftest.GWPort}},
	{name: "gateway to Pod", packet: oftest.GWToPodA6, ct: []string{oftest.CTNew, oftest.CTNew}, outputs: []int{oftest.PodAPort}, passes: []string{"IngressRule"}},
	{name: "the Node's own packet to Pod skips ingress policy", packet: oftest.GWToPodA6 + ",pkt_mark=0x80000000", ct: []string{oftest.CTNew, oftest.CTNew},
		outputs: []int{oftest.PodAPort}, avoids: []string{"IngressRule"}},
	{name: "gateway to remote Pod", packet: oftest.GWToRemote6, ct: []string{oftest.CTNew, oftest.CTNew}, outputs: []int{oftest.TunnelPort},
		final: []string{"nw_ttl=64", "tun_ipv6_dst=fd00:77::102"}},
	{name: "reply of a connection from the gateway", packet: oftest.Packet6(oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, oftest.PodA6IP, oftest.World6, 64) + ",ct_mark=2",
		ct: []string{oftest.CTReply}, outputs: []int{oftest.GWPort}},
	{name: "not committed", packet: oftest.PodAToRemote6, ct: []string{oftest.CTEstablished}, outputs: []int{oftest.TunnelPort}},
	{name: "Service connection", packet: oftest.PodAToRemote6 + ",ct_mark=0x13", ct: []string{oftest.CTEstablished}, outputs: []int{oftest.TunnelPort}, epoch: 7},
	{name: "Service connection from the gateway", packet: oftest.PodAToRemote6 + ",ct_mark=0x12", ct: []string{oftest.CTReply}, outputs: []int{oftest.GWPort}},

	{name: "spoofed source address", packet: oftest.Packet6(oftest.PodAPort, oftest.PodAMAC, oftest.GWMAC, oftest.PodB6IP, oftest.RemotePod6, 64), ct: []string{oftest.CTNew}},
	{name: "spoofed source MAC", packet: oftest.Packet6(oftest.PodAPort, oftest.PodBMAC, oftest.GWMAC, oftest.PodA6IP, oftest.RemotePod6, 64), ct: []string{oftest.CTNew}},
	{name: "the gateway's address", packet: oftest.Packet6(oftest.PodAPort, oftest.PodAMAC, oftest.PodBMAC, oftest.GW6IP, oftest.PodB6IP, 64), ct: []string{oftest.CTNew}},
	{name: "another link-local address", packet: oftest.Packet6(oftest.PodAPort, oftest.PodAMAC, oftest.PodBMAC, connectivity.LinkLocalAddress(oftest.PodBMAC), oftest.PodB6IP, 64), ct: []string{oftest.CTNew}},
	{name: "no address", packet: oftest.Packet6(oftest.PodAPort, oftest.PodAMAC, oftest.PodBMAC, netip.IPv6Unspecified(), oftest.PodB6IP, 64), ct: []string{oftest.CTNew}},
	{name: "invalid packet", packet: oftest.PodAToRemote6 + ",ct_mark=3", ct: []string{"trk,inv"}},
}

func TestIPv6Walks(t *testing.T) {
	for nodeName, node := range map[string]*config.NodeConfig{"dual stack": oftest.DualStackNode, "IPv6 only": oftest.Ipv6Node} {
		b := oftest.NewBridge6(t, node)
		for _, test := range ipv6Walks {
			t.Run(nodeName+", "+test.name, func(t *testing.T) {
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
				require.Equal(t, test.epoch, w.Epoch(), w.Text)
				if w.Recirculations > 0 {
					require.Contains(t, w.Text, "zone=65510", "connections of IPv6 have a zone of their own")
				}
			})
		}
	}
}

func TestIPv6PolicyWalks(t *testing.T) {
	for nodeName, node := range map[string]*config.NodeConfig{"dual stack": oftest.DualStackNode, "IPv6 only": oftest.Ipv6Node} {
		b := oftest.NewBridge6(t, node)
		podA := policy.Pod{InterfaceName: "pod-a", OFPort: oftest.PodAPort, IPs: []netip.Addr{oftest.PodAIP, oftest.PodA6IP}}
		podB := policy.Pod{InterfaceName: "pod-b", OFPort: oftest.PodBPort, IPs: []netip.Addr{oftest.PodBIP, oftest.PodB6IP}}
		require.NoError(t, oftest.Install(
			oftest.Ingress(2, podA, oftest.Prefixes("10.10.1.20/32", "fd00:10:0:b::20/128"), oftest.Tcp(80)),
			oftest.Egress(3, podB, oftest.Prefixes("fd00:10:0:b::/64"), policy.PortRange(of.IPProtoUDP, 5000, 5003)...),
		)(b.C))
		podBToRemote := oftest.Packet6(oftest.PodBPort, oftest.PodBMAC, oftest.GWMAC, oftest.PodB6IP, oftest.RemotePod6, 64)
		asUDP := func(packet string) string { return strings.Replace(packet, "tcp6", "udp6", 1) }
		for _, test := range []struct {
			name, packet string
			ct           []string
			outputs      []int
		}{
			{"allowed peer and port", oftest.RemoteToPodA6 + ",tcp_dst=80", []string{oftest.CTNew, oftest.CTNew}, []int{oftest.PodAPort}},
			{"another port", oftest.RemoteToPodA6 + ",tcp_dst=81", []string{oftest.CTNew, oftest.CTNew}, nil},
			{"another protocol", asUDP(oftest.RemoteToPodA6) + ",udp_dst=80", []string{oftest.CTNew, oftest.CTNew}, nil},
			{"another peer", strings.Replace(oftest.RemoteToPodA6, oftest.RemotePod6.String(), "fd00:10:0:b::21", 1) + ",tcp_dst=80", []string{oftest.CTNew, oftest.CTNew}, nil},
			{"another port of an open connection", oftest.RemoteToPodA6 + ",tcp_dst=81,ct_mark=1", []string{oftest.CTEstablished}, []int{oftest.PodAPort}},
			{"the Node's own packet", oftest.GWToPodA6 + ",tcp_dst=81,pkt_mark=0x80000000", []string{oftest.CTNew, oftest.CTNew}, []int{oftest.PodAPort}},
			{"allowed destination", asUDP(podBToRemote) + ",udp_dst=5003", []string{oftest.CTNew, oftest.CTNew}, []int{oftest.TunnelPort}},
			{"another destination port", asUDP(podBToRemote) + ",udp_dst=5004", []string{oftest.CTNew, oftest.CTNew}, nil},
			{"another destination", oftest.Packet6(oftest.PodBPort, oftest.PodBMAC, oftest.GWMAC, oftest.PodB6IP, oftest.World6, 64), []string{oftest.CTNew, oftest.CTNew}, nil},
			{"a Pod without policies", oftest.PodAToRemote6, []string{oftest.CTNew, oftest.CTNew}, []int{oftest.TunnelPort}},
		} {
			t.Run(nodeName+", "+test.name, func(t *testing.T) {
				w := b.Trace(test.packet, test.ct...)
				require.Equal(t, test.outputs, w.Outputs, w.Text)
			})
		}
	}
}

// Which messages Pods may send. Tests in package cniserver check that real messages get through.
func TestNeighborDiscoveryWalks(t *testing.T) {
	b := oftest.NewBridge6(t, oftest.DualStackNode)
	allNodes := netip.IPv6LinkLocalAllNodes()
	message := func(port uint32, dlSrc net.HardwareAddr, src netip.Addr, rest string) string {
		return fmt.Sprintf("icmp6,in_port=%d,dl_src=%v,dl_dst=33:33:00:00:00:01,ipv6_src=%v,ipv6_dst=%v,nw_ttl=255,%s", port, dlSrc, src, allNodes, rest)
	}
	fromPod := func(rest string) string { return message(oftest.PodAPort, oftest.PodAMAC, oftest.PodA6IP, rest) }
	ask := "icmpv6_type=135,icmpv6_code=0,nd_target=%v,nd_sll=%v"
	tell := "icmpv6_type=136,icmpv6_code=0,nd_target=%v,nd_tll=%v"
	for _, test := range []struct {
		name, packet string
		floods       bool
	}{
		{"Pod asks for the gateway", fromPod(fmt.Sprintf(ask, oftest.GW6IP, oftest.PodAMAC)), true},
		{"Pod asks, from its link-local address", message(oftest.PodAPort, oftest.PodAMAC, connectivity.LinkLocalAddress(oftest.PodAMAC), fmt.Sprintf(ask, oftest.GW6IP, oftest.PodAMAC)), true},
		{"Pod answers", fromPod(fmt.Sprintf(tell, oftest.PodA6IP, oftest.PodAMAC)), true},
		{"Pod answers without the option", fromPod(fmt.Sprintf(tell, oftest.PodA6IP, connectivity.NoMAC)), true},
		{"gateway asks", message(oftest.GWPort, oftest.GWMAC, oftest.GW6IP, fmt.Sprintf(ask, oftest.PodA6IP, oftest.GWMAC)), true},
		{"gateway answers", message(oftest.GWPort, oftest.GWMAC, oftest.GW6IP, fmt.Sprintf(tell, oftest.GW6IP, oftest.GWMAC)), true},
		{"multicast listener report", fromPod("icmpv6_type=143,icmpv6_code=0"), true},
		{"router solicitation", fromPod("icmpv6_type=133,icmpv6_code=0"), true},

		{"Pod answers for the gateway", fromPod(fmt.Sprintf(tell, oftest.GW6IP, oftest.PodAMAC)), false},
		{"Pod answers for another Pod", fromPod(fmt.Sprintf(tell, oftest.PodB6IP, oftest.PodAMAC)), false},
		{"Pod answers with another MAC address", fromPod(fmt.Sprintf(tell, oftest.PodA6IP, oftest.PodBMAC)), false},
		{"Pod asks with another MAC address", fromPod(fmt.Sprintf(ask, oftest.GW6IP, oftest.PodBMAC)), false},
		{"Pod asks without MAC address", fromPod(fmt.Sprintf(ask, oftest.GW6IP, connectivity.NoMAC)), false},
		{"another code", fromPod("icmpv6_type=136,icmpv6_code=1"), false},
		{"router advertisement", fromPod("icmpv6_type=134,icmpv6_code=0"), false},
		{"redirect", fromPod("icmpv6_type=137,icmpv6_code=0"), false},
		{"detection of duplicates", message(oftest.PodAPort, oftest.PodAMAC, netip.IPv6Unspecified(), fmt.Sprintf(ask, oftest.PodA6IP, connectivity.NoMAC)), false},
		{"multicast with another Pod's address", message(oftest.PodAPort, oftest.PodAMAC, oftest.PodB6IP, "icmpv6_type=143,icmpv6_code=0"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet)
			if test.floods {
				require.Contains(t, w.Text, "NORMAL", w.Text)
				require.NotContains(t, w.Text, "Datapath actions: drop")
				return
			}
			require.True(t, strings.Contains(w.Text, "Datapath actions: drop"), w.Text)
			require.NotContains(t, w.Text, "NORMAL")
		})
	}
	t.Run("from the tunnel", func(t *testing.T) {
		w := b.Trace(message(oftest.TunnelPort, oftest.RemoteGWMAC, oftest.RemotePod6, fmt.Sprintf(tell, oftest.GW6IP, oftest.RemoteGWMAC)), oftest.CTNew, oftest.CTNew)
		require.NotContains(t, w.Text, "NORMAL", "tunnel packets are routed, never flooded")
		require.NotContains(t, w.Outputs, oftest.PodAPort)
	})
}
