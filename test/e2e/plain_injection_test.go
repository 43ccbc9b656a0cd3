// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

const plainCount = 10

// testPlainArrives is the counterpart of testPlainIsRefused: without the tunnel, packets of another Node's Pods come from the network as they are.
func testPlainArrives(t *testing.T, s *suite) {
	open, connecting := s.openAndNew(t)
	for _, f := range []flow{open, connecting} {
		require.Equal(t, plainCount, s.injectPlain(t, f), "%s", f)
	}
}

// testPlainIsRefused sends, from the network, what the second Node would send without encryption: packets of its Pod to the client, as they are, in
// an open connection and in a new one, and in the tunnel. The first Node's rules drop all of them.
func testPlainIsRefused(t *testing.T, s *suite) {
	open, connecting := s.openAndNew(t)
	want := map[string]int{
		s.node1.Name + ": drop packets from Pods of other Nodes that are not encrypted": 2 * plainCount,
		s.node1.Name + ": drop tunnel packets, which are not encrypted":                 plainCount,
	}
	// An agent may write its rules again, and their counters restart at 0.
	eventually(t, "the rules to drop all packets in clear", func() error {
		before := s.drops(t)
		for _, f := range []flow{open, connecting} {
			require.Zero(t, s.injectPlain(t, f), "%s", f)
		}
		s.sendFromNetwork(t, netip.AddrPortFrom(s.node2.IP, 5555), netip.AddrPortFrom(s.node1.IP, s.tunnelPort()))
		pingICMP(t, s.node2.Space, s.node1.IP)
		if dropped := s.dropsSince(t, before); !maps.Equal(want, dropped) {
			return fmt.Errorf("dropped %v, want %v", dropped, want)
		}
		return nil
	})
}

// openAndNew opens a connection to the server, which lasts until the test ends, and names another one. Both are used from the server's end.
func (s *suite) openAndNew(t *testing.T) (open, connecting flow) {
	t.Helper()
	startEcho(t, s.far.Space, s.far.IP)
	open, connecting = s.flowOn(direct, "UDP", 4811, udpEchoPort), s.flowOn(direct, "UDP", 4812, udpEchoPort)
	ping := start(t, s.client.Space, "udp-ping", open.from(), open.to(), "--rate=100", "--progress=100ms")
	waitReceived(t, ping, 100, patience)
	s.waitFastIfGate(t, open)
	return open, connecting
}

// injectPlain sends packets of the flow's server to its client from the network, and returns how many have arrived.
func (s *suite) injectPlain(t *testing.T, f flow) (arrived int) {
	t.Helper()
	arrivals := startServer(t, s.client.Space, "capture", "--limit=100000", "--proto=udp", "--source="+f.server.Addr().String(), fmt.Sprint("--port=", f.client.Port()))
	s.sendFromNetwork(t, f.server, f.client)
	pingICMP(t, s.far.Space, s.client.IP) // packets that were sent before have arrived, or never will
	for _, p := range stop[report.Capture](t, arrivals).Packets {
		if p.Length == s.markerLength() {
			arrived++
		}
	}
	return arrived
}

// sendFromNetwork sends marked datagrams to the first Node, as the second one forwards them.
func (s *suite) sendFromNetwork(t *testing.T, from, to netip.AddrPort) {
	t.Helper()
	const routedTwice = 62
	sent := runTraffic[report.Sent](t, s.Fabric, execTimeout, "send-raw", "--device="+s.node1.Name, "--proto=udp", fmt.Sprint("--ttl=", routedTwice),
		"--source-mac="+macOf(t, s.node2.Space, cluster.Uplink), "--destination-mac="+macOf(t, s.node1.Space, cluster.Uplink),
		"--source="+from.Addr().String(), fmt.Sprint("--source-port=", from.Port()), "--destination="+to.Addr().String(), fmt.Sprint("--port=", to.Port()),
		fmt.Sprint("--payload=", markerPayload), fmt.Sprint("--count=", plainCount))
	require.Equal(t, plainCount, sent.Frames)
}
