// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
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
	{name: "Pod to remote Pod, new", packet: podAToRemote6, ct: []string{ctNew, ctNew}, outputs: []int{tunnelPort},
		final:  []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_ipv6_dst=fd00:77::102"},
		passes: []string{"SpoofGuard", "IPv6", "EgressRule", "ConntrackCommit"}, avoids: []string{"IngressRule", "ONCacheMark"}},
	{name: "Pod to remote Pod, established", packet: podAToRemote6 + ",ct_mark=3", ct: []string{ctEstablished}, outputs: []int{tunnelPort},
		final:  []string{"dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff", "nw_ttl=63", "tun_ipv6_dst=fd00:77::102"},
		avoids: []string{"EgressRule", "IngressRule"}, epoch: 7},
	{name: "remote Pod to Pod, new", packet: remoteToPodA6, ct: []string{ctNew, ctNew}, outputs: []int{podAPort},
		final:  []string{"dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:11", "nw_ttl=62"},
		passes: []string{"IngressRule"}, avoids: []string{"SpoofGuard", "IPv6", "ONCacheMark"}},
	{name: "remote Pod to Pod, reply", packet: remoteToPodA6 + ",ct_mark=3", ct: []string{ctReply}, outputs: []int{podAPort},
		final: []string{"nw_ttl=62"}, avoids: []string{"IngressRule"}, epoch: 7},
	{name: "Pod to Pod on the same Node", packet: podAToPodB6, ct: []string{ctNew, ctNew}, outputs: []int{podBPort},
		final: []string{"dl_src=0a:00:00:00:00:11,dl_dst=0a:00:00:00:00:12", "nw_ttl=64"}, passes: []string{"EgressRule", "IngressRule"}},
	{name: "Pod to gateway", packet: packet6(podAPort, podAMAC, gwMAC, podA6IP, gw6IP, 64), ct: []string{ctNew, ctNew}, outputs: []int{gwPort}},
	{name: "Pod to the gateway's link-local address", packet: packet6(podAPort, podAMAC, gwMAC, linkLocalAddress(podAMAC), linkLocalAddress(gwMAC), 64),
		ct: []string{ctNew, ctNew}, outputs: []int{gwPort}},
	{name: "Pod to the world", packet: packet6(podAPort, podAMAC, gwMAC, podA6IP, world6, 64), ct: []string{ctNew, ctNew}, outputs: []int{gwPort}},
	{name: "gateway to Pod", packet: gwToPodA6, ct: []string{ctNew, ctNew}, outputs: []int{podAPort}, passes: []string{"IngressRule"}},
	{name: "the Node's own packet to Pod skips ingress policy", packet: gwToPodA6 + ",pkt_mark=0x80000000", ct: []string{ctNew, ctNew},
		outputs: []int{podAPort}, avoids: []string{"IngressRule"}},
	{name: "gateway to remote Pod", packet: gwToRemote6, ct: []string{ctNew, ctNew}, outputs: []int{tunnelPort},
		final: []string{"nw_ttl=64", "tun_ipv6_dst=fd00:77::102"}},
	{name: "reply of a connection from the gateway", packet: podAToRemote6 + ",ct_mark=2", ct: []string{ctReply}, outputs: []int{gwPort}},
	{name: "not committed", packet: podAToRemote6, ct: []string{ctEstablished}, outputs: []int{tunnelPort}},
	{name: "Service connection", packet: podAToRemote6 + ",ct_mark=0x13", ct: []string{ctEstablished}, outputs: []int{tunnelPort}, epoch: 7},
	{name: "Service connection from the gateway", packet: podAToRemote6 + ",ct_mark=0x12", ct: []string{ctReply}, outputs: []int{gwPort}},

	{name: "spoofed source address", packet: packet6(podAPort, podAMAC, gwMAC, podB6IP, remotePod6, 64), ct: []string{ctNew}},
	{name: "spoofed source MAC", packet: packet6(podAPort, podBMAC, gwMAC, podA6IP, remotePod6, 64), ct: []string{ctNew}},
	{name: "the gateway's address", packet: packet6(podAPort, podAMAC, podBMAC, gw6IP, podB6IP, 64), ct: []string{ctNew}},
	{name: "another link-local address", packet: packet6(podAPort, podAMAC, podBMAC, linkLocalAddress(podBMAC), podB6IP, 64), ct: []string{ctNew}},
	{name: "no address", packet: packet6(podAPort, podAMAC, podBMAC, netip.IPv6Unspecified(), podB6IP, 64), ct: []string{ctNew}},
	{name: "invalid packet", packet: podAToRemote6 + ",ct_mark=3", ct: []string{"trk,inv"}},
}

func TestIPv6Walks(t *testing.T) {
	for nodeName, node := range map[string]*config.NodeConfig{"dual stack": dualStackNode, "IPv6 only": ipv6Node} {
		b := newBridge6(t, node)
		for _, test := range ipv6Walks {
			t.Run(nodeName+", "+test.name, func(t *testing.T) {
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
				require.Equal(t, test.epoch, w.epoch(), w.text)
				if w.recirculations > 0 {
					require.Contains(t, w.text, "zone=65510", "connections of IPv6 have a zone of their own")
				}
			})
		}
	}
}

func TestIPv6PolicyWalks(t *testing.T) {
	for nodeName, node := range map[string]*config.NodeConfig{"dual stack": dualStackNode, "IPv6 only": ipv6Node} {
		b := newBridge6(t, node)
		podA := policy.Pod{InterfaceName: "pod-a", OFPort: podAPort, IPs: []netip.Addr{podAIP, podA6IP}}
		podB := policy.Pod{InterfaceName: "pod-b", OFPort: podBPort, IPs: []netip.Addr{podBIP, podB6IP}}
		require.NoError(t, install(
			ingress(2, podA, prefixes("10.10.1.20/32", "fd00:10:0:b::20/128"), tcp(80)),
			egress(3, podB, prefixes("fd00:10:0:b::/64"), policy.PortRange(of.IPProtoUDP, 5000, 5003)...),
		)(b.c))
		podBToRemote := packet6(podBPort, podBMAC, gwMAC, podB6IP, remotePod6, 64)
		asUDP := func(packet string) string { return strings.Replace(packet, "tcp6", "udp6", 1) }
		for _, test := range []struct {
			name, packet string
			ct           []string
			outputs      []int
		}{
			{"allowed peer and port", remoteToPodA6 + ",tcp_dst=80", []string{ctNew, ctNew}, []int{podAPort}},
			{"another port", remoteToPodA6 + ",tcp_dst=81", []string{ctNew, ctNew}, nil},
			{"another protocol", asUDP(remoteToPodA6) + ",udp_dst=80", []string{ctNew, ctNew}, nil},
			{"another peer", strings.Replace(remoteToPodA6, remotePod6.String(), "fd00:10:0:b::21", 1) + ",tcp_dst=80", []string{ctNew, ctNew}, nil},
			{"another port of an open connection", remoteToPodA6 + ",tcp_dst=81,ct_mark=1", []string{ctEstablished}, []int{podAPort}},
			{"the Node's own packet", gwToPodA6 + ",tcp_dst=81,pkt_mark=0x80000000", []string{ctNew, ctNew}, []int{podAPort}},
			{"allowed destination", asUDP(podBToRemote) + ",udp_dst=5003", []string{ctNew, ctNew}, []int{tunnelPort}},
			{"another destination port", asUDP(podBToRemote) + ",udp_dst=5004", []string{ctNew, ctNew}, nil},
			{"another destination", packet6(podBPort, podBMAC, gwMAC, podB6IP, world6, 64), []string{ctNew, ctNew}, nil},
			{"a Pod without policies", podAToRemote6, []string{ctNew, ctNew}, []int{tunnelPort}},
		} {
			t.Run(nodeName+", "+test.name, func(t *testing.T) {
				w := b.trace(test.packet, test.ct...)
				require.Equal(t, test.outputs, w.outputs, w.text)
			})
		}
	}
}

// Which messages Pods may send. Tests in package cniserver check that real messages get through.
func TestNeighborDiscoveryWalks(t *testing.T) {
	b := newBridge6(t, dualStackNode)
	allNodes := netip.IPv6LinkLocalAllNodes()
	message := func(port uint32, dlSrc net.HardwareAddr, src netip.Addr, rest string) string {
		return fmt.Sprintf("icmp6,in_port=%d,dl_src=%v,dl_dst=33:33:00:00:00:01,ipv6_src=%v,ipv6_dst=%v,nw_ttl=255,%s", port, dlSrc, src, allNodes, rest)
	}
	fromPod := func(rest string) string { return message(podAPort, podAMAC, podA6IP, rest) }
	ask := "icmpv6_type=135,icmpv6_code=0,nd_target=%v,nd_sll=%v"
	tell := "icmpv6_type=136,icmpv6_code=0,nd_target=%v,nd_tll=%v"
	for _, test := range []struct {
		name, packet string
		floods       bool
	}{
		{"Pod asks for the gateway", fromPod(fmt.Sprintf(ask, gw6IP, podAMAC)), true},
		{"Pod asks, from its link-local address", message(podAPort, podAMAC, linkLocalAddress(podAMAC), fmt.Sprintf(ask, gw6IP, podAMAC)), true},
		{"Pod answers", fromPod(fmt.Sprintf(tell, podA6IP, podAMAC)), true},
		{"Pod answers without the option", fromPod(fmt.Sprintf(tell, podA6IP, noMAC)), true},
		{"gateway asks", message(gwPort, gwMAC, gw6IP, fmt.Sprintf(ask, podA6IP, gwMAC)), true},
		{"gateway answers", message(gwPort, gwMAC, gw6IP, fmt.Sprintf(tell, gw6IP, gwMAC)), true},
		{"multicast listener report", fromPod("icmpv6_type=143,icmpv6_code=0"), true},
		{"router solicitation", fromPod("icmpv6_type=133,icmpv6_code=0"), true},

		{"Pod answers for the gateway", fromPod(fmt.Sprintf(tell, gw6IP, podAMAC)), false},
		{"Pod answers for another Pod", fromPod(fmt.Sprintf(tell, podB6IP, podAMAC)), false},
		{"Pod answers with another MAC address", fromPod(fmt.Sprintf(tell, podA6IP, podBMAC)), false},
		{"Pod asks with another MAC address", fromPod(fmt.Sprintf(ask, gw6IP, podBMAC)), false},
		{"Pod asks without MAC address", fromPod(fmt.Sprintf(ask, gw6IP, noMAC)), false},
		{"another code", fromPod("icmpv6_type=136,icmpv6_code=1"), false},
		{"router advertisement", fromPod("icmpv6_type=134,icmpv6_code=0"), false},
		{"redirect", fromPod("icmpv6_type=137,icmpv6_code=0"), false},
		{"detection of duplicates", message(podAPort, podAMAC, netip.IPv6Unspecified(), fmt.Sprintf(ask, podA6IP, noMAC)), false},
		{"multicast with another Pod's address", message(podAPort, podAMAC, podB6IP, "icmpv6_type=143,icmpv6_code=0"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.trace(test.packet)
			if test.floods {
				require.Contains(t, w.text, "NORMAL", w.text)
				require.NotContains(t, w.text, "Datapath actions: drop")
				return
			}
			require.True(t, strings.Contains(w.text, "Datapath actions: drop"), w.text)
			require.NotContains(t, w.text, "NORMAL")
		})
	}
	t.Run("from the tunnel", func(t *testing.T) {
		w := b.trace(message(tunnelPort, remoteGWMAC, remotePod6, fmt.Sprintf(tell, gw6IP, remoteGWMAC)), ctNew, ctNew)
		require.NotContains(t, w.text, "NORMAL", "tunnel packets are routed, never flooded")
		require.NotContains(t, w.outputs, podAPort)
	})
}
