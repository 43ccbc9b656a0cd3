// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// Addresses in the device that encrypts, of this cluster and of another, and the gateway Node of the latter.
var (
	ownBase, otherBase = netip.MustParseAddr("10.96.0.0"), netip.MustParseAddr("10.112.0.0")
	otherGateway       = netip.MustParseAddr("192.168.77.99")
	// transport is this Node's address.
	transport = netip.MustParseAddr("192.168.77.11")
)

// newClustersClient makes a client of an agent that encrypts what crosses clusters, and a device in the place of the one that does it.
func newClustersClient(t *testing.T) *Client {
	t.Helper()
	newNetNS(t)
	newGateway(t)
	newUplink(t)
	for _, router := range []string{"192.168.77.1", otherGateway.String()} {
		run(t, "ip", "neighbor", "add", router, "lladdr", "02:00:00:00:00:01", "dev", "up0")
	}
	run(t, "ip", "route", "add", "default", "via", "192.168.77.1")
	makeClusterDevice(t)
	return anotherClustersClient(t)
}

// anotherClustersClient makes the client of the next agent.
func anotherClustersClient(t *testing.T) *Client {
	t.Helper()
	network, node := testConfigs()
	network.ClusterWireGuardPort, node.Addresses = 51821, []netip.Addr{transport}
	c, err := NewClient(network, node, Options{Sysctls: newRecord(t)})
	require.NoError(t, err)
	require.NoError(t, c.Initialize())
	return c
}

func makeClusterDevice(t *testing.T) {
	t.Helper()
	run(t, "ip", "link", "add", config.ClusterWireGuardDevice, "type", "veth", "peer", "name", "cipher")
	run(t, "ip", "link", "set", "cipher", "up")
	run(t, "ip", "link", "set", config.ClusterWireGuardDevice, "up")
	run(t, "ip", "addr", "add", ownBase.String()+"/32", "dev", config.ClusterWireGuardDevice)
	run(t, "ip", "route", "add", otherBase.String(), "dev", config.ClusterWireGuardDevice, "scope", "link")
	run(t, "ip", "neighbor", "add", otherBase.String(), "lladdr", "02:00:00:00:00:02", "dev", config.ClusterWireGuardDevice)
}

// sendTo sends a UDP packet of the Node.
func sendTo(t *testing.T, to netip.Addr, port uint16) {
	t.Helper()
	connection, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, port)))
	require.NoError(t, err)
	defer connection.Close()
	_, _ = connection.Write([]byte("tunnel")) // a dropped packet may be an error
}

// TestNothingLeavesForClustersInClear: tunnel packets to another cluster do not leave when the device is gone, nor to its gateway Node. Tunnel packets to Nodes do.
func TestNothingLeavesForClustersInClear(t *testing.T) {
	c := newClustersClient(t)
	require.NoError(t, c.GuardClusters([]netip.Addr{otherBase, otherGateway}))
	const rule = "drop tunnel packets to other clusters that are not encrypted"
	requireDropped := func(want int, why string) {
		t.Helper()
		require.Equal(t, want, dropped(t, rule), why)
	}
	sendTo(t, otherBase, 6081)
	requireDropped(0, "it leaves by the device")
	sendTo(t, peerIP, 6081)
	requireDropped(0, "it is for a Node of this cluster")
	sendTo(t, otherGateway, 51821)
	requireDropped(0, "it is encrypted")
	sendTo(t, otherGateway, 6081)
	requireDropped(1, "to the gateway Node")
	run(t, "ip", "link", "del", config.ClusterWireGuardDevice)
	sendTo(t, otherBase, 6081)
	requireDropped(2, "the device is gone")

	require.NoError(t, c.GuardClusters([]netip.Addr{otherBase}))
	sendTo(t, otherGateway, 6081)
	requireDropped(2, "not another cluster any more")
	require.NoError(t, familyIPv4.clusterSet().remove(netip.PrefixFrom(otherBase, 32)))
	require.NoError(t, c.sync(t.Context())) // it begins to count again
	before := dropped(t, rule)
	sendTo(t, otherBase, 6081)
	requireDropped(before+1, "another program has changed the set")
}

// TestNothingComesFromClustersInClear: a cluster's tunnel packets are dropped unless they come from the device, and what comes from there must be a tunnel
// packet to the device's address.
func TestNothingComesFromClustersInClear(t *testing.T) {
	c := newClustersClient(t)
	require.NoError(t, c.GuardClusters([]netip.Addr{otherBase, otherGateway}))
	const clear, unknown = "drop tunnel packets of other clusters that are not encrypted", "drop tunnel packets to addresses that no Node sends them to"
	const elsewhere, otherPort = "drop packets of other clusters to other addresses", "drop packets of other clusters to other ports"
	rules := []string{clear, unknown, elsewhere, otherPort}
	for _, test := range []struct {
		what, from, into    string
		source, destination netip.Addr
		port                uint16
		by                  string
	}{
		{"encrypted", "cipher", config.ClusterWireGuardDevice, otherBase, ownBase, 6081, ""},
		{"encrypted, to another port", "cipher", config.ClusterWireGuardDevice, otherBase, ownBase, 10250, otherPort},
		{"encrypted, to the tunnel between Nodes", "cipher", config.ClusterWireGuardDevice, otherBase, transport, 6081, elsewhere},
		{"encrypted, to be forwarded", "cipher", config.ClusterWireGuardDevice, otherBase, peerIP, 6081, elsewhere},
		{"in clear, from a Node", "wire0", "up0", peerIP, transport, 6081, ""},
		{"in clear, from the gateway Node", "wire0", "up0", otherGateway, transport, 6081, clear},
		{"in clear, with the address in the device", "wire0", "up0", otherBase, transport, 6081, clear},
		{"in clear, to the device's address", "wire0", "up0", peerIP, ownBase, 6081, unknown},
		{"not a tunnel packet", "wire0", "up0", otherGateway, transport, 51821, ""},
	} {
		before := map[string]int{}
		for _, rule := range rules {
			before[rule] = dropped(t, rule)
		}
		injectTo(t, test.from, test.into, test.source, test.destination, test.port)
		for _, rule := range rules {
			want := before[rule]
			if rule == test.by {
				want++
			}
			require.Equal(t, want, dropped(t, rule), "%s: %s", test.what, rule)
		}
	}
}

// TestClustersOfAFormerAgent: what a former agent has guarded stays until the clusters are known, and goes when encryption is off.
func TestClustersOfAFormerAgent(t *testing.T) {
	former := newClustersClient(t)
	require.NoError(t, former.GuardClusters([]netip.Addr{otherBase, otherGateway}))
	entries := func() int {
		found, err := familyIPv4.clusterSet().entries()
		require.NoError(t, err)
		return len(found)
	}
	c := anotherClustersClient(t)
	require.NoError(t, c.sync(t.Context()))
	require.Equal(t, 2, entries())
	require.NoError(t, c.GuardClusters([]netip.Addr{otherBase}))
	require.Equal(t, 1, entries())

	off := newTestClient(t, Options{})
	require.NoError(t, off.Initialize())
	require.NoError(t, off.GuardClusters([]netip.Addr{otherBase}))
	require.NotContains(t, run(t, "iptables-save"), "51821")
	_, err := familyIPv4.clusterSet().list()
	require.Error(t, err, "the set is gone")
}
