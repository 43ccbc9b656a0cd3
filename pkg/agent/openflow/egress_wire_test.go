// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// egressCase has the addresses of one IP version.
type egressCase struct {
	etherType                                           layers.EthernetType
	client, pod, podB, outside, egress, node, remotePod string
	// excepted is in a network that Egresses leave alone.
	excepted string
}

var egressCases = map[string]egressCase{
	"IPv4": {layers.EthernetTypeIPv4, "203.0.113.9:5000", "10.10.0.11:4000", "10.10.0.12:80", "203.0.113.9:80", "192.168.77.200", "192.168.77.102:80", "10.10.1.20:4000", "198.51.100.9:80"},
	"IPv6": {layers.EthernetTypeIPv6, "[2001:db8::9]:5000", "[fd00:10:0:a::11]:4000", "[fd00:10:0:a::12]:80", "[2001:db8::9]:80", "fd00:77::200", "[fd00:77::102]:80", "[fd00:10:0:b::20]:4000", "[2001:db8:77::9]:80"},
}

// TestWireEgress: what a Pod sends to outside the cluster goes to the Node that has its Egress address, with an unchanged TTL; other Nodes, excepted
// networks, other Pods' packets and answers take the usual way. A connection that comes from another Node is dropped, unless it is for an Egress address of this Node.
func TestWireEgress(t *testing.T) {
	node := *oftest.DualStackNode
	node.EgressExcept = []netip.Prefix{netip.MustParsePrefix("198.51.100.7/24"), netip.MustParsePrefix("2001:db8:77::/48")}
	eachDatapathOf(t, oftest.ProxyAllFeatures, &node, testEgress)
}

func testEgress(t *testing.T, w *wire) {
	for name, tc := range egressCases {
		t.Run(name, func(t *testing.T) {
			w.T = t
			addr := netip.MustParseAddr(tc.egress)
			out := segment{tc.pod, tc.outside, ""}
			require.Equal(t, uint8(64), w.pass(oftest.PodAPort, out, oftest.GWPort, out).ttl)

			install := func(source openflow.EgressSource) {
				require.NoError(t, w.C.InstallPodSNATFlows("pod-a", oftest.PodAPort, []openflow.EgressSource{source}))
				w.settle()
			}
			install(openflow.EgressSource{Addr: addr})
			got := w.pass(oftest.PodAPort, out, oftest.TunnelPort, out)
			require.Equal(t, uint8(64), got.ttl)
			require.Equal(t, config.GlobalVirtualMAC.String(), got.dlDst)
			answer := segment{tc.outside, tc.pod, ""}
			w.pass(oftest.TunnelPort, answer, oftest.PodAPort, answer)
			w.pass(oftest.PodAPort, out, oftest.TunnelPort, out)
			excepted := segment{tc.pod, tc.excepted, ""}
			for from, s := range map[uint32]segment{oftest.PodAPort: {tc.pod, tc.node, ""}, oftest.PodBPort: {tc.podB, tc.outside, ""}} {
				w.pass(from, s, oftest.GWPort, s)
			}
			w.pass(oftest.PodAPort, excepted, oftest.GWPort, excepted)
			// A client outside the cluster gets its answers on the way on which it came.
			asks, answers := segment{tc.client, tc.pod, ""}, segment{tc.pod, tc.client, ""}
			network, transport := asks.headers(t)
			w.links[oftest.GWPort].inject(serialize(t, &layers.Ethernet{
				SrcMAC: oftest.GWMAC, DstMAC: oftest.PodAMAC, EthernetType: tc.etherType,
			}, network.(gopacket.SerializableLayer), transport))
			require.Equal(t, asks, w.next(oftest.PodAPort).segment)
			w.pass(oftest.PodAPort, answers, oftest.GWPort, answers)

			install(openflow.EgressSource{Addr: addr, Refused: true})
			w.drop(oftest.PodAPort, out)
			w.pass(oftest.PodAPort, excepted, oftest.GWPort, excepted)
			install(openflow.EgressSource{Addr: addr, Mark: 7})
			w.pass(oftest.PodAPort, out, oftest.GWPort, out)
			require.Regexp(t, regexp.MustCompile(`skb_mark\(?0x7|set\(skb_mark\(0x7\)\)`), w.Appctl("dpctl/dump-flows"))
			require.NoError(t, w.C.UninstallPodSNATFlows("pod-a"))
			w.settle()

			w.drop(oftest.TunnelPort, segment{tc.remotePod, tc.outside, ""})
			dropped := `Datapath actions: drop\s*$`
			require.NoError(t, w.C.InstallSNATMarkFlows(addr, 254))
			require.Regexp(t, `load:0xfe->NXM_NX_PKT_MARK|skb_mark\(0xfe`, w.arrives(tc, tc.egress))
			require.Regexp(t, dropped, w.arrives(tc, tc.node[:len(tc.node)-3]))
			require.NoError(t, w.C.UninstallSNATMarkFlows(addr))
			require.Regexp(t, dropped, w.arrives(tc, tc.egress))
		})
	}
}

// arrives traces the first packet of a connection of a remote Pod to outside the cluster, from the tunnel with that outer destination.
func (w *wire) arrives(tc egressCase, outer string) string {
	w.T.Helper()
	src, dst := netip.MustParseAddrPort(tc.remotePod), netip.MustParseAddrPort(tc.outside)
	protocol, ip, tun := "udp", "nw", "tun_dst"
	if src.Addr().Is6() {
		protocol, ip, tun = "udp6", "ipv6", "tun_ipv6_dst"
	}
	outer = netip.MustParseAddr(regexp.MustCompile(`[][]`).ReplaceAllString(outer, "")).String()
	flow := fmt.Sprintf("in_port=%d,%s,dl_src=0a:00:00:00:01:01,dl_dst=%s,%s_src=%s,%s_dst=%s,udp_src=4000,udp_dst=80,nw_ttl=64,%s=%s",
		oftest.TunnelPort, protocol, config.GlobalVirtualMAC, ip, src.Addr(), ip, dst.Addr(), tun, outer)
	return w.Appctl("ofproto/trace", oftest.BridgeName, flow, "--ct-next", "trk,new")
}

// TestEgressRefusesMarks: a mark must be one that the host knows as an Egress's.
func TestEgressRefusesMarks(t *testing.T) {
	c, _ := oftest.NewTestClientOf(t, oftest.DefaultFeatures, oftest.TestNode)
	addr := netip.MustParseAddr("192.168.77.200")
	require.ErrorContains(t, c.InstallSNATMarkFlows(addr, 0), "must be 1 to 254")
	require.ErrorContains(t, c.InstallSNATMarkFlows(addr, 255), "must be 1 to 254")
	require.ErrorContains(t, c.InstallSNATMarkFlows(netip.MustParseAddr("fd00::1"), 1), "IP version")
	off, _ := oftest.NewTestClientOf(t, oftest.MinimalFeatures, oftest.TestNode)
	require.ErrorContains(t, off.InstallSNATMarkFlows(addr, 1), "feature gate Egress")
}
