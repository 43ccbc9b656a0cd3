// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// TestPretendedReach: a kind of Reach is chosen in one place, and what does not implement it refuses it. The Node has neither flows nor
// routes then, not even former ones through the tunnel; other Nodes are connected.
func TestPretendedReach(t *testing.T) {
	const pretended = reach.Kind(77)
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		nodes := client.CoreV1().Nodes()
		var objects []*corev1.Node
		for i := range 3 {
			cidr, address := honest(i)
			objects = append(objects, node(nodeName(i), address.String(), cidr.String()))
			require.NoError(t, client.Tracker().Add(objects[i]))
		}
		a := startAgent(t, client, 0)
		defer a.stop()
		quiet()
		cidr1, ip1 := honest(1)
		cidr2, ip2 := honest(2)
		throughTunnel := func(name string, cidr netip.Prefix, ip netip.Addr) Peer {
			return Peer{Name: name, Networks: []Network{{cidr, reach.ThroughTunnel(ip)}}}
		}
		require.Equal(t, []Peer{throughTunnel("node-1", cidr1, ip1), throughTunnel("node-2", cidr2, ip2)}, a.Peers())
		both := a.host.sw.Flows()

		kinds := map[netip.Addr]reach.Kind{ip1: pretended}
		touch := func(value string) {
			objects[1].Labels = map[string]string{"touched": value}
			_, err := nodes.Update(t.Context(), objects[1], metav1.UpdateOptions{})
			require.NoError(t, err)
			quiet()
		}
		a.local.reach = func(_ netip.Prefix, address netip.Addr) reach.Reach {
			if kind, found := kinds[address]; found {
				return reach.Reach{Kind: kind, Address: address}
			}
			return reach.ThroughTunnel(address)
		}
		touch("pretended")
		require.Equal(t, []Peer{throughTunnel("node-2", cidr2, ip2)}, a.Peers())
		require.Equal(t, map[netip.Prefix]string{cidr2: "node-2"}, a.host.routes)
		require.Less(t, len(a.host.sw.Flows()), len(both))
		list, _ := a.problems.List()
		require.Len(t, list, 1)
		require.Equal(t, ReasonNodeNotConnected, list[0].Reason)
		require.Contains(t, list[0].Message, `the Pod network 10.10.1.0/24: flows cannot lead to a peer by "kind 77" (kind 77 to 192.168.0.11): this version only implements "tunnel", "direct", "routed" and "wireGuard"`)

		delete(kinds, ip1)
		touch("tunnel")
		require.Equal(t, both, a.host.sw.Flows())
		require.Empty(t, a.problemList())
	})
}

func TestReachIn(t *testing.T) {
	uplink4, uplink6 := netip.MustParsePrefix("192.168.77.11/24"), netip.MustParsePrefix("fd00:77::11/64")
	const cidr4, cidr6 = "10.10.2.0/24", "fd00:10:2::/64"
	const near4, far4, near6, far6 = "192.168.77.12", "192.168.78.12", "fd00:77::12", "fd00:78::12"
	for _, tc := range []struct {
		mode          config.TrafficEncapMode
		cidr, address string
		want          reach.Kind
	}{
		{config.TrafficEncapModeEncap, cidr4, near4, reach.Tunnel},
		{config.TrafficEncapModeEncap, cidr4, far4, reach.Tunnel},
		{config.TrafficEncapModeHybrid, cidr4, near4, reach.Direct},
		{config.TrafficEncapModeHybrid, cidr4, far4, reach.Tunnel},
		{config.TrafficEncapModeHybrid, cidr6, near6, reach.Direct},
		{config.TrafficEncapModeHybrid, cidr6, far6, reach.Tunnel},
		{config.TrafficEncapModeHybrid, cidr6, near4, reach.Tunnel},
		{config.TrafficEncapModeHybrid, cidr4, near6, reach.Tunnel},
		{config.TrafficEncapModeNoEncap, cidr4, near4, reach.Direct},
		{config.TrafficEncapModeNoEncap, cidr4, far4, reach.Routed},
		{config.TrafficEncapModeNoEncap, cidr6, near6, reach.Direct},
		{config.TrafficEncapModeNoEncap, cidr6, near4, reach.Routed},
	} {
		address := netip.MustParseAddr(tc.address)
		got := reachIn(&config.NetworkConfig{TrafficEncapMode: tc.mode}, newSubnets(uplink4, uplink6))(netip.MustParsePrefix(tc.cidr), address)
		require.Equal(t, reach.Reach{Kind: tc.want, Address: address}, got, "%s: %s at %s", tc.mode, tc.cidr, tc.address)
	}
	encrypted := reachIn(&config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap, WireGuardPort: 51820}, newSubnets(uplink4, uplink6))
	require.Equal(t, reach.Reach{Kind: reach.WireGuard, Address: netip.MustParseAddr(near4)}, encrypted(netip.MustParsePrefix(cidr4), netip.MustParseAddr(near4)))
	alone := reachIn(&config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeHybrid}, newSubnets(netip.Prefix{}, netip.Prefix{}))
	require.Equal(t, reach.Tunnel, alone(netip.MustParsePrefix(cidr4), netip.MustParseAddr(near4)).Kind, "a Node without subnet is near no other")
}

// TestNodeMovesBetweenSubnets: in mode hybrid, flows of a peer are replaced, never removed, when the peer moves to another subnet and back. In the end
// they are as they were.
func TestNodeMovesBetweenSubnets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		for i := range 2 {
			cidr, address := honest(i)
			require.NoError(t, client.Tracker().Add(node(nodeName(i), address.String(), cidr.String())))
		}
		a := startAgent(t, client, 0)
		defer a.stop()
		quiet()
		cidr, near := honest(1)
		far := netip.MustParseAddr("192.168.99.11")
		a.local.reach = reachIn(&config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeHybrid}, newSubnets(netip.PrefixFrom(near, 24)))
		move := func(to netip.Addr) {
			_, err := client.CoreV1().Nodes().Update(t.Context(), node(nodeName(1), to.String(), cidr.String()), metav1.UpdateOptions{})
			require.NoError(t, err)
			quiet()
		}
		move(far)
		before := a.host.sw.Flows()
		for _, step := range []struct {
			to   netip.Addr
			want reach.Kind
		}{{near, reach.Direct}, {far, reach.Tunnel}, {near, reach.Direct}, {far, reach.Tunnel}} {
			history := len(a.host.sw.History())
			move(step.to)
			require.Equal(t, []Peer{{Name: nodeName(1), Networks: []Network{{cidr, reach.Reach{Kind: step.want, Address: step.to}}}}}, a.Peers())
			require.Equal(t, map[netip.Prefix]string{cidr: nodeName(1)}, a.host.routes)
			require.Len(t, a.host.sw.History(), history+1, "one bundle replaces the flows")
			require.Empty(t, a.problemList())
		}
		require.Equal(t, before, a.host.sw.Flows())
	})
}

// TestSubnetChanges: in mode hybrid, a peer is reached in another way when this Node's own subnet grows or shrinks; other addresses of the device, and
// one that is missing for a moment, change nothing.
func TestSubnetChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		for i := range 2 {
			cidr, address := honest(i)
			require.NoError(t, client.Tracker().Add(node(nodeName(i), address.String(), cidr.String())))
		}
		a := startAgent(t, client, 0)
		defer a.stop()
		quiet()
		cidr, peer := honest(1)
		_, own := honest(0)
		other := netip.MustParsePrefix("10.0.0.1/8")
		a.Controller.subnets = newSubnets(netip.PrefixFrom(own, 32), netip.Prefix{})
		a.local.reach = reachIn(&config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeHybrid}, a.Controller.subnets)
		for _, step := range []struct {
			device []netip.Prefix
			want   reach.Kind
		}{
			{[]netip.Prefix{other, netip.PrefixFrom(own, 24)}, reach.Direct},
			{[]netip.Prefix{other}, reach.Direct},
			{[]netip.Prefix{netip.PrefixFrom(own, 32), netip.PrefixFrom(own, 24)}, reach.Direct}, // while it is being replaced
			{[]netip.Prefix{netip.PrefixFrom(own, 32)}, reach.Tunnel},
		} {
			before := a.Controller.subnets.list()
			changed := a.Controller.subnets.update(step.device)
			require.Equal(t, changed, before[0] != a.Controller.subnets.list()[0])
			if changed {
				a.enqueueAll()
			}
			quiet()
			require.Equal(t, []Peer{{Name: nodeName(1), Networks: []Network{{cidr, reach.Reach{Kind: step.want, Address: peer}}}}}, a.Peers())
			require.Equal(t, netip.Prefix{}, a.Controller.subnets.list()[1])
		}
	})
}

// TestAddressesOf: addresses have the lengths of their prefixes.
func TestAddressesOf(t *testing.T) {
	found, err := addressesOf("lo")
	require.NoError(t, err)
	require.Contains(t, found, netip.MustParsePrefix("127.0.0.1/8"))
	_, err = addressesOf("missing")
	require.ErrorContains(t, err, "find device missing")
}
