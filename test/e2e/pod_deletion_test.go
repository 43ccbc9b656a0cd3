// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testPodDeletion deletes a Pod that receives packets continuously, and makes another one with the same address.
func testPodDeletion(t *testing.T, s *suite) {
	first := s.createPod(t, s.node2, "first")
	t.Cleanup(func() { deletePod(t, first) })
	startEcho(t, first.Space, first.IP)
	f := flow{proto: "UDP", client: netip.AddrPortFrom(s.client.IP, 4601), server: netip.AddrPortFrom(first.IP, udpEchoPort)}
	ping := start(t, s.client.Space, "udp-ping", "--from=:4601", to(first.IP, udpEchoPort), "--rate=200", "--progress=100ms")
	waitReceived(t, ping, 100, patience)
	s.waitFastIfGate(t, f)

	deletePod(t, first)
	deleted := time.Now()
	if s.oncache {
		before := oncacheStatus(t, s.node2).Ingress.Hits
		_, arrivedBefore := devicePackets(t, s.node2, s.tunnelDevice())
		eventually(t, "packets of the old flow to arrive through Open vSwitch", func() error {
			if _, arrived := devicePackets(t, s.node2, s.tunnelDevice()); arrived < arrivedBefore+50 {
				return notYet("too few have arrived")
			}
			return nil
		})
		require.Equal(t, before, oncacheStatus(t, s.node2).Ingress.Hits, "the fast path still delivers to a Pod that is gone")
		requireNoEntries(t, s.node2, first)
	}

	nextAddress(t, s.node2, first.IP)
	second := s.createPod(t, s.node2, "second")
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
		require.EqualValues(t, arrivalTTL, p.TTL)
	}
	if s.oncache {
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

// requireNoEntries fails when the cache of a Node has a usable entry with the Pod's address, or knows the Pod.
func requireNoEntries(t *testing.T, n *cluster.Node, p *cluster.Pod) {
	t.Helper()
	for _, info := range antctl[[]api.FlowInfo](t, n, "get", "oncache", "flows", "--ip="+p.IP.String()) {
		require.NotEqual(t, "active", info.State, "%+v", info)
	}
	for _, e := range antctl[[]api.EndpointInfo](t, n, "get", "oncache", "endpoints") {
		require.NotEqual(t, p.Namespace+"/"+p.PodName, e.Pod)
	}
}

// nextAddress makes host-local give a certain free address to the next Pod.
func nextAddress(t *testing.T, n *cluster.Node, ip netip.Addr) {
	t.Helper()
	pool := slices.IndexFunc(n.PodCIDRs, func(cidr netip.Prefix) bool { return cidr.Contains(ip) })
	require.NoError(t, n.WriteFile(fmt.Sprintf("%s/last_reserved_ip.%d", leaseDir, pool), []byte(ip.Prev().String())))
}

// leaseDir is where host-local keeps the leases of the network "antrea".
const leaseDir = "/var/lib/cni/networks/antrea"
