// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

func prefixes(texts ...string) []netip.Prefix {
	var result []netip.Prefix
	for _, text := range texts {
		result = append(result, netip.MustParsePrefix(text))
	}
	return result
}

func addresses(texts ...string) []netip.Addr {
	var result []netip.Addr
	for _, text := range texts {
		result = append(result, netip.MustParseAddr(text))
	}
	return result
}

func TestNodeName(t *testing.T) {
	t.Setenv(nodeNameEnv, "node1")
	name, err := NodeName()
	require.NoError(t, err)
	require.Equal(t, "node1", name)

	t.Setenv(nodeNameEnv, "")
	host, err := os.Hostname()
	require.NoError(t, err)
	name, err = NodeName()
	require.NoError(t, err)
	require.Equal(t, strings.ToLower(host), name)
}

func testNode(podCIDRs []string, nodeAddresses ...corev1.NodeAddress) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node1"},
		Spec:       corev1.NodeSpec{PodCIDRs: podCIDRs},
		Status:     corev1.NodeStatus{Addresses: nodeAddresses},
	}
}

func internalIP(ip string) corev1.NodeAddress {
	return corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip}
}

func TestParseNode(t *testing.T) {
	external := corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.1"}
	hostname := corev1.NodeAddress{Type: corev1.NodeHostName, Address: "node1"}
	for _, tc := range []struct {
		name     string
		node     *corev1.Node
		fallback []netip.Prefix
		want     *nodeInfo
		nodeIP   string
		err      string
	}{
		{
			name: "internal addresses come first", node: testNode([]string{"10.10.1.0/24"}, hostname, external, internalIP("192.168.0.1")),
			want:   &nodeInfo{podIPv4CIDR: prefixes("10.10.1.0/24")[0], addresses: addresses("192.168.0.1", "203.0.113.1")},
			nodeIP: "192.168.0.1",
		},
		{
			name: "dual stack prefers IPv4", node: testNode([]string{"fd00:10::/64", "10.10.1.0/24"}, internalIP("fd00::1"), internalIP("192.168.0.1")),
			want: &nodeInfo{podIPv4CIDR: prefixes("10.10.1.0/24")[0], podIPv6CIDR: prefixes("fd00:10::/64")[0],
				addresses: addresses("fd00::1", "192.168.0.1")},
			nodeIP: "192.168.0.1",
		},
		{
			name: "old field podCIDR",
			node: &corev1.Node{Spec: corev1.NodeSpec{PodCIDR: "10.10.1.0/24"},
				Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{external}}},
			want:   &nodeInfo{podIPv4CIDR: prefixes("10.10.1.0/24")[0], addresses: addresses("203.0.113.1")},
			nodeIP: "203.0.113.1",
		},
		{
			name: "configured Pod CIDR", node: testNode(nil, internalIP("192.168.0.1")), fallback: prefixes("10.20.0.0/24"),
			want:   &nodeInfo{podIPv4CIDR: prefixes("10.20.0.0/24")[0], addresses: addresses("192.168.0.1")},
			nodeIP: "192.168.0.1",
		},
		{
			name: "what is wrong beside what is right", node: testNode([]string{"0.0.0.0/0", "garbage", "10.10.1.0/24"}, internalIP("127.0.0.1"), internalIP("node1"), internalIP("192.168.0.1")),
			want:   &nodeInfo{podIPv4CIDR: prefixes("10.10.1.0/24")[0], addresses: addresses("192.168.0.1")},
			nodeIP: "192.168.0.1",
		},
		{name: "impossible Pod CIDR", node: testNode([]string{"0.0.0.0/0"}, internalIP("192.168.0.1")), err: "0.0.0.0/0"},
		{name: "impossible address", node: testNode([]string{"10.10.1.0/24"}, internalIP("127.0.0.1")), err: "loopback"},
		{name: "no Pod CIDR", node: testNode(nil, internalIP("192.168.0.1")), err: "--allocate-node-cidrs"},
		{name: "no address", node: testNode([]string{"10.10.1.0/24"}, hostname), err: "InternalIP"},
		{name: "bad Pod CIDR", node: testNode([]string{"10.10.1.0"}, internalIP("192.168.0.1")), err: "10.10.1.0"},
		{name: "bad address", node: testNode([]string{"10.10.1.0/24"}, internalIP("node1")), err: `"node1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			info, err := parseNode(tc.node, tc.fallback)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, info)
			require.Equal(t, tc.nodeIP, info.nodeIP().String())
		})
	}
}

func TestWaitForNodeUntilItIsComplete(t *testing.T) {
	kube := fake.NewClientset()
	type result struct {
		info *nodeInfo
		err  error
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() {
		info, err := waitForNode(ctx, kube, "node1", nil, time.Millisecond)
		done <- result{info, err}
	}()
	node, err := kube.CoreV1().Nodes().Create(ctx, testNode(nil, internalIP("192.168.0.1")), metav1.CreateOptions{})
	require.NoError(t, err)
	node.Spec.PodCIDRs = []string{"10.10.1.0/24"}
	_, err = kube.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	require.NoError(t, err)
	r := <-done
	require.NoError(t, r.err)
	require.Equal(t, "10.10.1.0/24", r.info.podIPv4CIDR.String())

	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = waitForNode(short, kube, "other", nil, time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `"other"`)
}

// TestWaitingForTheNodeIsCheap: an agent whose Node gets no Pod network for an hour.
func TestWaitingForTheNodeIsCheap(t *testing.T) {
	lines := logtest.Capture(t)
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(testNode(nil, internalIP("192.168.0.1")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := waitForNode(ctx, kube, "node1", nil, nodePollInterval)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, len(kube.Actions()), 3600/15+10)
	})
	require.Len(t, lines("Waiting for the Node object"), 1)
}

func TestChooseTransport(t *testing.T) {
	devices := []device{
		{name: "lo", index: 1, mtu: 65536, addresses: prefixes("127.0.0.1/8", "::1/128")},
		{name: "eth0", index: 2, mtu: 1500, addresses: prefixes("192.168.0.1/24", "192.168.0.9/24", "fe80::1/64", "fd00::1/64")},
		{name: "eth1", index: 3, mtu: 9000, addresses: prefixes("169.254.7.7/16", "172.16.0.1/16")},
		{name: "eth2", index: 4, mtu: 1500, addresses: prefixes("fe80::2/64")},
	}
	node := addresses("192.168.0.1", "fd00::1")
	for _, tc := range []struct {
		name       string
		iface      string
		cidrs      []netip.Prefix
		node       []netip.Addr
		device     string
		ipv4, ipv6 string
		err        string
	}{
		{name: "device with the Node address", node: node, device: "eth0", ipv4: "192.168.0.1/24", ipv6: "fd00::1/64"},
		{name: "second address of the device is the Node's", node: addresses("192.168.0.9"), device: "eth0", ipv4: "192.168.0.9/24"},
		{name: "later Node address when the first is not here", node: addresses("203.0.113.1", "172.16.0.1"), device: "eth1", ipv4: "172.16.0.1/16"},
		{name: "named device", iface: "eth1", node: node, device: "eth1", ipv4: "172.16.0.1/16"},
		{name: "named device prefers the Node address", iface: "eth0", node: addresses("192.168.0.9"), device: "eth0", ipv4: "192.168.0.9/24", ipv6: "fd00::1/64"},
		{name: "named device wins over CIDRs", iface: "eth0", cidrs: prefixes("172.16.0.0/16"), node: node, device: "eth0", ipv4: "192.168.0.1/24", ipv6: "fd00::1/64"},
		{name: "CIDRs win over the Node address", cidrs: prefixes("172.16.0.0/16"), node: node, device: "eth1", ipv4: "172.16.0.1/16"},
		{name: "first CIDR wins", cidrs: prefixes("10.0.0.0/8", "172.16.0.0/16", "192.168.0.0/16"), node: node, device: "eth1", ipv4: "172.16.0.1/16"},
		{name: "CIDRs of both families", cidrs: prefixes("192.168.0.0/24", "fd00::/64"), node: node, device: "eth0", ipv4: "192.168.0.1/24", ipv6: "fd00::1/64"},
		{name: "named device is absent", iface: "eth9", node: node, err: `transportInterface "eth9" does not exist`},
		{name: "named device has only a link-local address", iface: "eth2", node: node, err: `"eth2" has no address`},
		{name: "no device in CIDRs", cidrs: prefixes("10.0.0.0/8"), node: node, err: "10.0.0.0/8"},
		{name: "Node address on no device", node: addresses("203.0.113.1"), err: "203.0.113.1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			uplink, err := chooseTransport(devices, tc.iface, tc.cidrs, tc.node)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.device, uplink.Name)
			require.Equal(t, tc.ipv4, text(uplink.IPv4))
			require.Equal(t, tc.ipv6, text(uplink.IPv6))
			require.NotZero(t, uplink.LinkIndex)
			require.NotZero(t, uplink.MTU)
		})
	}
}

func text(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

func TestDropUnusedFamily(t *testing.T) {
	v4, v6 := prefixes("192.168.0.1/24")[0], prefixes("fd00::1/64")[0]
	pods4, pods6 := prefixes("10.10.1.0/24")[0], prefixes("fd00:10::/64")[0]
	both := config.Uplink{IPv4: v4, IPv6: v6}
	for _, tc := range []struct {
		name         string
		uplink, want config.Uplink
		node         nodeInfo
	}{
		{"IPv4 Pods", both, config.Uplink{IPv4: v4}, nodeInfo{podIPv4CIDR: pods4}},
		{"IPv6 Pods", both, config.Uplink{IPv6: v6}, nodeInfo{podIPv6CIDR: pods6}},
		{"Pods of both", both, both, nodeInfo{podIPv4CIDR: pods4, podIPv6CIDR: pods6}},
		{"IPv4 Pods over IPv6", config.Uplink{IPv6: v6}, config.Uplink{IPv6: v6}, nodeInfo{podIPv4CIDR: pods4}},
		{"IPv6 Pods over IPv4", config.Uplink{IPv4: v4}, config.Uplink{IPv4: v4}, nodeInfo{podIPv6CIDR: pods6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dropUnusedFamily(&tc.uplink, &tc.node)
			require.Equal(t, tc.want, tc.uplink)
		})
	}
}

func TestEncryptionRefusesIPv6(t *testing.T) {
	v4, v6, pods4, pods6 := prefixes("192.168.0.1/24")[0], prefixes("fd00::1/64")[0], prefixes("10.10.1.0/24")[0], prefixes("fd00:10::/64")[0]
	both := config.Uplink{IPv4: v4, IPv6: v6}
	refused := func(port uint16, uplink config.Uplink, node nodeInfo) error {
		dropUnusedFamily(&uplink, &node)
		return checkEncryption(port, &uplink, &node)
	}
	require.NoError(t, refused(51820, both, nodeInfo{podIPv4CIDR: pods4}), "IPv6 addresses that are not used")
	require.NoError(t, refused(0, both, nodeInfo{podIPv4CIDR: pods4, podIPv6CIDR: pods6}))
	require.ErrorContains(t, refused(51820, config.Uplink{IPv4: v4}, nodeInfo{podIPv4CIDR: pods4, podIPv6CIDR: pods6}), "the Node has fd00:10::/64: set none")
	require.ErrorContains(t, refused(51820, config.Uplink{IPv6: v6}, nodeInfo{podIPv4CIDR: pods4}), "the Node has fd00::1/64: set none")
}

func TestPodMTU(t *testing.T) {
	v4, v6 := prefixes("192.168.0.1/24")[0], prefixes("fd00::1/64")[0]
	for _, tc := range []struct {
		name       string
		configured int
		mode       config.TrafficEncapMode
		tunnel     config.TunnelType
		wireGuard  uint16
		clusters   uint16
		uplink     config.Uplink
		ipv6       bool
		want       int
		err        string
	}{
		{name: "WireGuard", mode: "encap", tunnel: "geneve", wireGuard: 51820, uplink: config.Uplink{MTU: 1500, IPv4: v4}, want: 1440},
		{name: "WireGuard, dual-stack underlay", mode: "encap", tunnel: "geneve", wireGuard: 51820, uplink: config.Uplink{MTU: 1500, IPv4: v4, IPv6: v6}, want: 1420},
		{name: "WireGuard, largest", mode: "encap", tunnel: "geneve", wireGuard: 51820, uplink: config.Uplink{MTU: 65535, IPv4: v4}, want: 65000},
		{name: "WireGuard, configured", configured: 1440, mode: "encap", wireGuard: 51820, uplink: config.Uplink{MTU: 1500, IPv4: v4}, want: 1440},
		{name: "WireGuard, configured, too large", configured: 1441, mode: "encap", wireGuard: 51820, uplink: config.Uplink{Name: "eth0", MTU: 1500, IPv4: v4},
			err: "defaultMTU is 1441: with trafficEncryptionMode wireGuard, device eth0 with MTU 1500 leaves at most 1440 bytes"},
		{name: "WireGuard between clusters", mode: "encap", tunnel: "geneve", clusters: 51821, uplink: config.Uplink{MTU: 1500, IPv4: v4}, want: 1370},
		{name: "WireGuard between clusters, dual-stack underlay", mode: "encap", tunnel: "geneve", clusters: 51821, uplink: config.Uplink{MTU: 1500, IPv4: v4, IPv6: v6}, want: 1350},
		{name: "WireGuard between clusters, configured", configured: 1370, mode: "encap", clusters: 51821, uplink: config.Uplink{MTU: 1500, IPv4: v4}, want: 1370},
		{name: "WireGuard between clusters, configured, too large", configured: 1371, mode: "encap", clusters: 51821, uplink: config.Uplink{Name: "eth0", MTU: 1500, IPv4: v4},
			err: "defaultMTU is 1371: with multicluster.trafficEncryptionMode wireGuard, device eth0 with MTU 1500 leaves at most 1370 bytes"},
		{name: "geneve", mode: "encap", tunnel: "geneve", uplink: config.Uplink{MTU: 1500, IPv4: v4}, want: 1450},
		{name: "vxlan", mode: "encap", tunnel: "vxlan", uplink: config.Uplink{MTU: 9000, IPv4: v4}, want: 8950},
		{name: "gre", mode: "encap", tunnel: "gre", uplink: config.Uplink{MTU: 1500, IPv4: v4}, want: 1458},
		{name: "IPv6 underlay", mode: "encap", tunnel: "geneve", uplink: config.Uplink{MTU: 1500, IPv6: v6}, want: 1430},
		{name: "dual-stack underlay fits the longer header", mode: "encap", tunnel: "geneve", uplink: config.Uplink{MTU: 1500, IPv4: v4, IPv6: v6}, want: 1430},
		{name: "IPv6 Pods over IPv4", mode: "encap", tunnel: "geneve", uplink: config.Uplink{MTU: 1500, IPv4: v4}, ipv6: true, want: 1450},
		{name: "too small for IPv6", mode: "encap", tunnel: "geneve", uplink: config.Uplink{Name: "eth0", MTU: 1300, IPv4: v4}, ipv6: true, err: "at least 1280"},
		{name: "configured, too small for IPv6", configured: 1000, mode: "encap", tunnel: "geneve", uplink: config.Uplink{MTU: 1500, IPv4: v4}, ipv6: true, err: "defaultMTU is 1000"},
		{name: "largest", mode: "encap", tunnel: "geneve", uplink: config.Uplink{MTU: 65535, IPv4: v4}, want: 65000},
		{name: "hybrid", mode: "hybrid", tunnel: "geneve", uplink: config.Uplink{MTU: 1500, IPv4: v4}, want: 1450},
		{name: "without tunnel", mode: "noEncap", tunnel: "geneve", uplink: config.Uplink{MTU: 65535, IPv4: v4}, want: 65535},
		{name: "configured", configured: 1400, mode: "encap", tunnel: "stt", uplink: config.Uplink{MTU: 1500, IPv4: v4}, want: 1400},
		{name: "unknown header", mode: "encap", tunnel: "stt", uplink: config.Uplink{MTU: 1500, IPv4: v4}, err: `"stt"`},
		{name: "too small", mode: "encap", tunnel: "geneve", uplink: config.Uplink{Name: "eth0", MTU: 600, IPv4: v4}, err: "device eth0 with MTU 600"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mtu, err := podMTU(&Options{DefaultMTU: tc.configured, TrafficEncapMode: tc.mode, TunnelType: tc.tunnel, WireGuardPort: tc.wireGuard, ClusterWireGuardPort: tc.clusters}, &tc.uplink, tc.ipv6)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, mtu)
		})
	}
}

func TestTunnelPort(t *testing.T) {
	require.EqualValues(t, 6081, tunnelPort(config.TunnelTypeGeneve, 0))
	require.EqualValues(t, 4789, tunnelPort(config.TunnelTypeVXLAN, 0))
	require.EqualValues(t, 7471, tunnelPort(config.TunnelTypeSTT, 0))
	require.EqualValues(t, 0, tunnelPort(config.TunnelTypeGRE, 0))
	require.EqualValues(t, 6000, tunnelPort(config.TunnelTypeGeneve, 6000))
}

func TestTransportAnnotation(t *testing.T) {
	node := addresses("192.168.0.1", "fd00::1")
	for _, tc := range []struct {
		name   string
		uplink config.Uplink
		want   string
	}{
		{"Node address", config.Uplink{IPv4: prefixes("192.168.0.1/24")[0]}, ""},
		{"both Node addresses", config.Uplink{IPv4: prefixes("192.168.0.1/24")[0], IPv6: prefixes("fd00::1/64")[0]}, ""},
		{"other address", config.Uplink{IPv4: prefixes("172.16.0.1/16")[0]}, "172.16.0.1"},
		{"one of two differs", config.Uplink{IPv4: prefixes("172.16.0.1/16")[0], IPv6: prefixes("fd00::1/64")[0]}, "172.16.0.1,fd00::1"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, transportAnnotation(&tc.uplink, node)) })
	}
}

func TestTunnelAddresses(t *testing.T) {
	addresses := func(texts ...string) (all []netip.Addr) {
		for _, text := range texts {
			all = append(all, netip.MustParseAddr(text))
		}
		return all
	}
	node := addresses("192.168.0.1", "fd00::1", "203.0.113.1")
	uplink := config.Uplink{IPv4: netip.MustParsePrefix("172.16.0.1/24"), IPv6: netip.MustParsePrefix("fd00::1/64")}
	require.Equal(t, addresses("192.168.0.1", "fd00::1", "203.0.113.1", "172.16.0.1"), tunnelAddresses(&uplink, node))
	require.Equal(t, node, tunnelAddresses(&config.Uplink{IPv4: netip.MustParsePrefix("192.168.0.1/24")}, node))
	require.Len(t, node, 3, "the Node's addresses are not changed")
}
