// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

const (
	forgeryPort = 4501
	// markerPayload makes crafted packets recognizable by their length.
	markerPayload = 333
	// arrivalTTL is 64 less one for each Node.
	arrivalTTL = 62
)

// testForgery sends crafted packets alongside a flow that is on the fast path with the gate on. The packets that arrive
// must be the same with the gate on and off.
func testForgery(t *testing.T, s *suite) {
	startEcho(t, s.server.Space, s.server.IP)
	f := s.flow("UDP", forgeryPort, udpEchoPort)
	cover := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=100")
	waitForStatus(t, cover, "connected")
	s.waitFastIfGate(t, f)
	clientMAC := macOf(t, s.client.Space, "eth0")

	t.Run("EveryTypeOfServiceArrivesUnchanged", func(t *testing.T) { testEveryTypeOfService(t, s, f) })
	for _, c := range []struct {
		name   string
		sender *cluster.Pod
		args   string
		want   int
	}{
		{"ForgedSourceAddressIsDropped", s.client, "--source=" + s.unusedPodAddress(), 0},
		{"SourceAddressOfARemotePodIsDropped", s.client, "--source=" + s.server.IP.String(), 0},
		{"ForgedSourceMACIsDropped", s.client, "--source-mac=02:00:00:00:00:99", 0},
		{"FlowOfAnotherPodIsDropped", s.neighbor, "--source=" + s.client.IP.String(), 0},
		{"FlowAndMACOfAnotherPodIsDropped", s.neighbor, "--source=" + s.client.IP.String() + " --source-mac=" + clientMAC, 0},
		{"TTLThatEndsAtTheFirstNode", s.client, "--ttl=1", 0},
		{"TTLThatEndsAtTheSecondNode", s.client, "--ttl=2", 0},
		{"TTLThatIsJustEnough", s.client, "--ttl=3", 1},
		{"OptionsArrive", s.client, "--option=router-alert", 1},
		{"FragmentsArrive", s.client, s.fragmented(), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.craft(t, c.sender, f, c.args)
			require.Len(t, got, c.want, "%+v", got)
			switch {
			case strings.Contains(c.args, "--ttl="):
				for _, p := range got {
					require.EqualValues(t, 1, p.TTL)
				}
			case strings.Contains(c.args, "--option="):
				require.Equal(t, map[bool]int{false: 4, true: 8}[s.ipv6], got[0].OptionBytes)
			}
		})
	}
	t.Run("AnotherPodCannotEndAConnection", func(t *testing.T) { s.testForeignReset(t, clientMAC) })
	requireNoLoss(t, stop[report.Ping](t, cover))
}

func testEveryTypeOfService(t *testing.T, s *suite, f flow) {
	serverMAC, gatewayMAC := macOf(t, s.server.Space, "eth0"), macOf(t, s.node2.Space, "antrea-gw0")
	before, _ := s.entriesOfIfGate(t, f)
	outer := startServer(t, s.node1.Space, "capture", "--outgoing", "--proto=udp", "--destination="+s.transportIP(s.node2).String())
	got := s.craft(t, s.client, f, "--every-tos")
	require.Len(t, got, 256)
	var seen [256]int
	for _, p := range got {
		seen[p.TOS]++
		require.EqualValues(t, arrivalTTL, p.TTL)
		require.Equal(t, gatewayMAC, p.SourceMAC)
		require.Equal(t, serverMAC, p.DestinationMAC)
	}
	for tos, n := range seen {
		require.Equal(t, 1, n, "type of service %#x", tos)
	}
	s.requireOuterTOS(t, stop[report.Capture](t, outer))
	if after, ok := s.entriesOfIfGate(t, f); ok {
		require.GreaterOrEqual(t, after.egress.Packets-before.egress.Packets, uint64(250), "crafted packets should have used the fast path")
	}
}

// fragmented makes two fragments of a packet. Fragments of IPv6 must be longer than the minimum MTU: conntrack reassembles
// them, and the kernel does not fragment smaller packets again.
func (s *suite) fragmented() string {
	if s.ipv6 {
		return "--payload=2600 --fragment=1304"
	}
	return "--fragment=200"
}

func (s *suite) markerLength() int { return s.ipHeader() + 8 + markerPayload }

// craft sends crafted packets in a flow from a Pod on the client's Node and returns those that arrive at the server.
func (s *suite) craft(t *testing.T, sender *cluster.Pod, f flow, args string) []report.Packet {
	t.Helper()
	arrivals := startServer(t, s.server.Space, "capture", "--limit=100000", "--proto=udp")
	all := []string{
		"send-raw", "--proto=udp", "--destination=" + f.dialed().Addr().String(), fmt.Sprintf("--source-port=%d", f.client.Port()),
		fmt.Sprintf("--port=%d", f.dialed().Port()), fmt.Sprintf("--payload=%d", markerPayload),
	}
	runTraffic[report.Sent](t, sender.Space, execTimeout, append(all, strings.Fields(args)...)...)
	// Packets that were sent before these have arrived, or never will.
	pingICMP(t, s.client.Space, s.server.IP)
	var marked []report.Packet
	for _, p := range stop[report.Capture](t, arrivals).Packets {
		if p.Length-p.OptionBytes == s.markerLength() || p.FragmentOffset > 0 || p.MoreFragments {
			marked = append(marked, p)
		}
	}
	return marked
}

// testForeignReset makes the neighbor Pod send RST and FIN in a TCP connection of the client.
func (s *suite) testForeignReset(t *testing.T, clientMAC string) {
	f := s.flow("TCP", forgeryPort+1, sinkPort)
	startSink(t, s.server.Space)
	sender := start(t, s.client.Space, "tcp-send", f.from(), f.to(), "--rate=500000")
	waitForStatus(t, sender, "connected")
	s.waitFastIfGate(t, f)
	before, _ := s.entriesOfIfGate(t, f)
	for _, flags := range []string{"R", "FA", "S"} {
		runTraffic[report.Sent](t, s.neighbor.Space, execTimeout, "send-raw", "--proto=tcp", "--flags="+flags,
			"--source="+s.client.IP.String(), "--source-mac="+clientMAC, "--destination="+f.dialed().Addr().String(),
			fmt.Sprintf("--source-port=%d", f.client.Port()), fmt.Sprintf("--port=%d", f.dialed().Port()), "--count=5")
	}
	if after, ok := s.entriesOfIfGate(t, f); ok {
		require.GreaterOrEqual(t, after.egress.AgeSeconds, before.egress.AgeSeconds, "another Pod has evicted the entry")
		require.GreaterOrEqual(t, after.ingress.AgeSeconds, before.ingress.AgeSeconds, "another Pod has evicted the entry")
		s.waitFast(t, f)
	}
	requireIntact(t, stop[report.Send](t, sender))
}

// entriesOfIfGate returns the entries on the client's Node, where there is a cache.
func (s *suite) entriesOfIfGate(t *testing.T, f flow) (entries, bool) {
	t.Helper()
	if !s.oncache {
		return entries{}, false
	}
	e, err := s.entriesOf(t, f, true)
	require.NoError(t, err)
	return e, true
}

// requireOuterTOS checks tunnel packets: they may show no DSCP bit of a Pod, and ECN as in RFC 6040.
func (s *suite) requireOuterTOS(t *testing.T, c report.Capture) {
	t.Helper()
	counts := map[uint8]int{}
	for _, p := range c.Packets {
		if p.Length == s.markerLength()+s.outerHeaders() {
			counts[p.TOS]++
		}
	}
	// A quarter of all values has each ECN code point; congestion experienced (3) is not copied but becomes ECT(0) (2).
	require.Equal(t, map[uint8]int{0: 64, 1: 64, 2: 128}, counts)
}

func macOf(t *testing.T, s *cluster.Space, device string) string {
	t.Helper()
	out := succeeds(t, s, "ip", "-o", "link", "show", device)
	_, rest, found := strings.Cut(out, "link/ether ")
	require.True(t, found, out)
	return strings.Fields(rest)[0]
}
