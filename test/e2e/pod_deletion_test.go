// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testPodDeletion deletes a Pod that receives packets continuously, and makes another one with the same address.
func testPodDeletion(t *testing.T, s *suite) {
	node := s.server.Node
	first := s.createPod(t, node, "first")
	t.Cleanup(func() { deletePod(t, first) })
	startEcho(t, first.Space, first.IP)
	f := s.flow("UDP", 4601, udpEchoPort)
	f.server = netip.AddrPortFrom(first.IP, udpEchoPort)
	if s.path.service {
		f.service = s.createClusterIP(t, "deletion", corev1.ProtocolUDP)
		s.setEndpoint(t, "deletion", corev1.ProtocolUDP, node, f.server)
	}
	ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=200", "--progress=100ms")
	waitReceived(t, ping, 100, patience)
	s.waitFastIfGate(t, f)

	deletePod(t, first)
	deleted := time.Now()
	if s.oncache {
		s.requireNoDelivery(t, f)
		requireNoEntries(t, node, first)
	}

	require.NoError(t, node.SetNextAddress(first.IP))
	second := s.createPod(t, node, "second")
	t.Cleanup(func() { deletePod(t, second) })
	require.Equal(t, first.IP, second.IP, "the test needs the same address")
	startEcho(t, second.Space, second.IP)
	capture := startServer(t, second.Space, "capture", "--proto=udp", "--count=100")
	received := lastReceived(ping)
	waitReceived(t, ping, received+200, patience)
	mac := macOf(t, second.Space, "eth0")
	arrived := result[report.Capture](t, capture, patience).Packets
	require.NotEmpty(t, arrived)
	for _, p := range arrived {
		require.Equal(t, mac, p.DestinationMAC)
		require.EqualValues(t, 64-s.hops(s.path), p.TTL)
	}
	if s.isCached(f) {
		s.waitFast(t, f)
		e, err := s.entriesOf(t, f, false)
		require.NoError(t, err)
		for _, info := range []api.FlowInfo{e.egress, e.ingress} {
			require.Less(t, info.AgeSeconds, time.Since(deleted).Seconds(), "an entry of the old Pod has survived: %+v", info)
		}
	}
	lost := stop[report.Ping](t, ping)
	require.Zero(t, lost.Duplicated, "%+v", lost)
	require.Zero(t, lost.Corrupted, "%+v", lost)
}

// requireNoDelivery waits until packets of a flow whose server is gone go through Open vSwitch, on the Node where it was, and fails if others
// still use the fast path there.
func (s *suite) requireNoDelivery(t *testing.T, f flow) {
	t.Helper()
	node := s.nodeOf(f.server.Addr())
	slow := func() (packets uint64) {
		if s.isWithin(f) {
			return missedPackets(t, node) + oncacheStatus(t, node).Egress.Uncacheable["not_remote"]
		}
		_, packets = s.slowPackets(t, node)
		return packets
	}
	fast := func() uint64 {
		status := oncacheStatus(t, node)
		if s.isWithin(f) {
			return status.Egress.Hits
		}
		return status.Ingress.Hits
	}
	fastBefore, slowBefore := fast(), slow()
	eventually(t, "packets of the old flow to go through Open vSwitch", func() error {
		if slow() < slowBefore+50 {
			return notYet("too few have")
		}
		return nil
	})
	require.Equal(t, fastBefore, fast(), "the fast path still delivers to a Pod that is gone")
}

// requireNoEntries fails when the cache of a Node has a usable entry with the Pod's address, or knows the Pod.
func requireNoEntries(t *testing.T, n *cluster.Node, p *cluster.Pod) {
	t.Helper()
	for _, info := range askAgent[[]api.FlowInfo](t, n, "/oncache?view=flows&ip="+p.IP.String()) {
		require.NotEqual(t, "active", info.State, "%+v", info)
	}
	for _, e := range askAgent[[]api.EndpointInfo](t, n, "/oncache?view=endpoints") {
		require.NotEqual(t, p.Namespace+"/"+p.PodName, e.Pod)
	}
}
