// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// settled changes the MTU and waits until the watcher knows, which is when it has handled all messages about links from before. Others come by sockets of
// their own. It returns the numbers of evictions, of everything and of single Nodes.
func settled(t *testing.T, k *uplinkKeeper, mtu int) (all, nodes uint64) {
	t.Helper()
	ip(t, fmt.Sprintf("link set up0 mtu %d", mtu))
	require.Eventually(t, func() bool { return k.dp.Nodes()[0].MTU == mtu }, waitLimit, 10*time.Millisecond)
	return k.evictions.Load(), k.evictedNodes.Load()
}

// TestNeighborsOfNodesOnly: a next hop that changes its MAC address evicts the Nodes that it leads to, and no others. Other neighbors are not even
// remembered.
func TestNeighborsOfNodesOnly(t *testing.T) {
	k := newUplink(t, func(*uplinkKeeper) { ip(t, "neigh replace 192.168.77.12 lladdr 02:00:00:00:00:12 dev up0") })
	stop := startWatching(t, k)
	k.dp.SetNode(2, netip.MustParseAddr("192.168.77.14"))
	k.nodesChanged <- struct{}{}
	all, nodes := settled(t, k, 1400)
	for i := range 20 {
		ip(t, fmt.Sprintf("neigh replace 192.168.77.200 lladdr 02:00:00:00:09:%02d dev up0", i))
		ip(t, fmt.Sprintf("neigh replace 192.168.77.%d lladdr 02:00:00:00:0a:01 dev up0", 100+i))
	}
	ip(t, "neigh replace 192.168.77.14 lladdr 02:00:00:00:00:14 dev up0")
	gotAll, gotNodes := settled(t, k, 1401)
	require.Equal(t, all, gotAll)
	require.Equal(t, nodes, gotNodes, "foreign neighbors, and the first MAC address of a next hop")

	ip(t, "neigh replace 192.168.77.12 lladdr 02:00:00:00:01:12 dev up0")
	require.Eventually(t, func() bool { return k.evictedNodes.Load() >= nodes+2 }, waitLimit, 10*time.Millisecond)
	gotAll, gotNodes = settled(t, k, 1402)
	require.Equal(t, all, gotAll)
	require.Equal(t, nodes+2, gotNodes, "this neighbor leads to itself and to the Node behind the route, not to the third one")
	k.dp.ClearNode(2)
	k.nodesChanged <- struct{}{}
	settled(t, k, 1403)
	stop()
	require.Len(t, k.paths.nodes, 2)
	require.Len(t, k.paths.macs, 1)
}

// TestEachOfSeveralNextHops: any of several next hops may have made the header of a Node, so it evicts the Node when it has another MAC address.
func TestEachOfSeveralNextHops(t *testing.T) {
	k := newUplink(t, func(*uplinkKeeper) {
		ip(t, "route replace 10.99.0.0/16 nexthop via 192.168.77.13 nexthop via 192.168.77.14")
		ip(t, "neigh replace 192.168.77.13 lladdr 02:00:00:00:00:13 dev up0")
		ip(t, "neigh replace 192.168.77.14 lladdr 02:00:00:00:00:14 dev up0")
	})
	stop := startWatching(t, k)
	_, nodes := settled(t, k, 1400)
	for i, hop := range []string{"13", "14"} {
		ip(t, "neigh replace 192.168.77."+hop+" lladdr 02:00:00:00:01:"+hop+" dev up0")
		require.Eventually(t, func() bool { return k.evictedNodes.Load() > nodes }, waitLimit, 10*time.Millisecond, hop)
		_, now := settled(t, k, 1401+i)
		require.Equal(t, nodes+1, now, hop)
		nodes = now
	}
	stop()
	for i, hop := range []string{"13", "14"} {
		ip(t, "neigh replace 192.168.77."+hop+" lladdr 02:00:00:00:02:"+hop+" dev up0")
		stop = startWatching(t, k)
		_, now := settled(t, k, 1403+i)
		stop()
		require.Equal(t, nodes+1, now, "%s, while messages were lost", hop)
		nodes = now
	}
}

// TestLostMessages: when messages of the kernel were lost, what has not changed stays, and what has is evicted.
func TestLostMessages(t *testing.T) {
	k := newUplink(t)
	const mac = "neigh replace 192.168.77.12 lladdr 02:00:00:00:00:12 dev up0"
	mtu := 1400
	for _, tt := range []struct {
		name          string
		changes, undo []string
		all           bool   // everything is evicted
		nodes         uint64 // otherwise the number of Nodes that are
	}{
		{name: "nothing"},
		{name: "foreign things", changes: []string{
			"neigh replace 192.168.77.200 lladdr 02:00:00:00:09:01 dev up0", "route add 10.98.0.0/16 via 192.168.77.30", "address add 192.168.78.1/24 dev up0",
		}},
		{name: "the MAC address of a next hop", changes: []string{"neigh replace 192.168.77.12 lladdr 02:00:00:00:01:12 dev up0"}, nodes: 2},
		{name: "a next hop that is gone", changes: []string{"neigh del 192.168.77.12 dev up0"}},
		{name: "a route", changes: []string{"route add 10.99.0.0/24 via 192.168.77.13"}, undo: []string{"route del 10.99.0.0/24"}, nodes: 1},
		{name: "a route to the same next hop", changes: []string{"route add 10.99.0.0/24 via 192.168.77.12"}, undo: []string{"route del 10.99.0.0/24"}, nodes: 1},
		{name: "no route", changes: []string{"route del 10.99.0.0/16"}, undo: []string{"route add 10.99.0.0/16 nhid 7"}, nodes: 1},
		{
			name:    "a policy rule",
			changes: []string{"route add 10.99.0.0/16 via 192.168.77.13 table 77", "rule add to 10.99.0.1 table 77"},
			undo:    []string{"rule del to 10.99.0.1 table 77"}, nodes: 1,
		},
		{name: "a nexthop object", changes: []string{"nexthop replace id 7 via 192.168.77.13 dev up0"}, undo: []string{"nexthop replace id 7 via 192.168.77.12 dev up0"}, nodes: 2},
		{name: "the MAC address of the uplink", changes: []string{"link set up0 address 02:00:00:00:00:77"}, all: true},
		{name: "the transport address", changes: []string{"address del 192.168.77.11/24 dev up0"}, all: true},
	} {
		ip(t, mac)
		k.paths = nil // as at the start of an agent
		stop := startWatching(t, k)
		mtu += 2
		all, nodes := settled(t, k, mtu)
		stop()
		for _, change := range tt.changes {
			ip(t, change)
		}
		stop = startWatching(t, k)
		if tt.all {
			require.Eventually(t, func() bool { return k.evictions.Load() > all }, waitLimit, 10*time.Millisecond, tt.name)
		} else {
			gotAll, gotNodes := settled(t, k, mtu+1)
			require.Equal(t, []uint64{0, tt.nodes}, []uint64{gotAll - all, gotNodes - nodes}, "%s: evictions of everything, and of Nodes", tt.name)
		}
		stop()
		for _, change := range tt.undo {
			ip(t, change)
		}
	}
}

// TestNextHopThatComesBackAnother: a next hop that the kernel forgets while its messages are lost, and that has another MAC address later, evicts.
func TestNextHopThatComesBackAnother(t *testing.T) {
	k := newUplink(t, func(*uplinkKeeper) { ip(t, "neigh replace 192.168.77.12 lladdr 02:00:00:00:00:12 dev up0") })
	stop := startWatching(t, k)
	_, nodes := settled(t, k, 1400)
	stop()
	ip(t, "neigh del 192.168.77.12 dev up0")
	stop = startWatching(t, k)
	defer func() { stop() }()
	_, now := settled(t, k, 1401)
	require.Equal(t, nodes, now, "its place is not taken yet")
	ip(t, "neigh replace 192.168.77.12 lladdr 02:00:00:00:01:12 dev up0")
	require.Eventually(t, func() bool { return k.evictedNodes.Load() >= nodes+2 }, waitLimit, 10*time.Millisecond)
	_, now = settled(t, k, 1402)
	require.Equal(t, nodes+2, now)
}

// TestNeighborsThatGoTogether: neighbors that the kernel removes together make more messages at once than a socket holds by default, or at all. They
// cost no flow its entry. Pods can cause them by sending to addresses that no host has.
func TestNeighborsThatGoTogether(t *testing.T) {
	k := newUplink(t)
	stop := startWatching(t, k)
	for i, neighbors := range []int{2000, 40000} {
		all, nodes := settled(t, k, 1400+2*i)
		lost := k.failures.counts[operationUplink].Load()
		ip(t, "link add other0 type veth peer name other0p")
		ip(t, "link set other0 up")
		var batch strings.Builder
		for n := range neighbors {
			fmt.Fprintf(&batch, "neigh add 10.77.%d.%d lladdr 02:00:00:00:00:01 dev other0\n", n>>8, n&255)
		}
		add := exec.Command("ip", "-batch", "-")
		add.Stdin = strings.NewReader(batch.String())
		out, err := add.CombinedOutput()
		require.NoError(t, err, "%s", out)
		ip(t, "link del other0")
		gotAll, gotNodes := settled(t, k, 1401+2*i)
		t.Logf("%d neighbors: subscriptions were lost %d times", neighbors, k.failures.counts[operationUplink].Load()-lost)
		require.Equal(t, []uint64{0, 0}, []uint64{gotAll - all, gotNodes - nodes}, "%d neighbors: evictions of everything, and of Nodes", neighbors)
	}
	stop()
	require.LessOrEqual(t, len(k.paths.macs), 2, "next hops of Nodes only")
}

// TestDevicesOfPods: devices that are made and deleted together, such as Pods' devices, evict nothing.
func TestDevicesOfPods(t *testing.T) {
	k := watchedUplink(t)
	all, nodes := settled(t, k, 1400)
	var batch strings.Builder
	for i := range 60 {
		fmt.Fprintf(&batch, "link add c%d type veth peer name d%d\nlink set c%d up\nlink set d%d up\n", i, i, i, i)
	}
	for i := range 60 {
		fmt.Fprintf(&batch, "link del c%d\n", i)
	}
	run := exec.Command("ip", "-batch", "-")
	run.Stdin = strings.NewReader(batch.String())
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	gotAll, gotNodes := settled(t, k, 1401)
	require.Equal(t, []uint64{0, 0}, []uint64{gotAll - all, gotNodes - nodes}, "evictions of everything, and of Nodes")
}
