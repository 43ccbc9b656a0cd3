// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testConnectivity checks every kind of traffic that a Pod has.
func testConnectivity(t *testing.T, s *suite) {
	for _, c := range []struct {
		name     string
		from, to *cluster.Space
		address  netip.Addr
	}{
		{"PodToPodOnTheSameNode", s.client.Space, s.neighbor.Space, s.neighbor.IP},
		{"PodToPodAcrossNodes", s.client.Space, s.server.Space, s.server.IP},
		{"PodToItsOwnNode", s.client.Space, s.node1.Space, s.node1.IP},
		{"PodToRemoteNode", s.client.Space, s.node2.Space, s.node2.IP},
		{"NodeToItsOwnPod", s.node1.Space, s.client.Space, s.client.IP},
		{"NodeToRemotePod", s.node1.Space, s.server.Space, s.server.IP},
	} {
		t.Run(c.name, func(t *testing.T) { s.requireConnectivity(t, c.from, c.to, c.address) })
		if s.ipv6 {
			// The path MTU that a Node has learned to another Node, whose Pods have the smaller MTU, also applies to tunnel
			// packets.
			for _, n := range s.Nodes {
				succeeds(t, n.Space, "ip", "-6", "route", "flush", "cache")
			}
		}
	}
	for _, p := range everyPath {
		if p.service {
			t.Run("Pod"+p.name, func(t *testing.T) {
				server := s.serverOn(p)
				s.requireTransports(t, s.client.Space, server.Space, server.IP, s.flowOn(p, "", 0, sinkPort).dialed(), s.flowOn(p, "", 0, udpEchoPort).dialed())
			})
		}
	}
	t.Run("PodToOutsideAsItsNode", func(t *testing.T) {
		pingICMP(t, s.client.Space, s.internet(), "-s", strconv.Itoa(s.fullPayload()))
		requireTCP(t, s.client.Space, s.Internet, netip.AddrPortFrom(s.internet(), sinkPort), s.node1.IP)
	})
	t.Run("PacketsLargerThanTheMTUAreRefusedInThePod", func(t *testing.T) {
		out := fails(t, s.client.Space, "ping", "-c1", "-W1", "-Mdo", "-s"+strconv.Itoa(s.fullPayload()+1), s.server.IP.String())
		require.Contains(t, out.Stdout+out.Stderr, "essage too long")
	})
}

func (s *suite) requireConnectivity(t *testing.T, from, server *cluster.Space, address netip.Addr) {
	t.Helper()
	for _, options := range [][]string{{"-Mdo", "-s" + strconv.Itoa(s.fullPayload())}, {"-s2000"}} {
		if s.ipv6 {
			// Routers do not fragment IPv6 packets: the first answer that is too large for its path is lost, and its sender
			// is told.
			_, _ = from.Exec(t.Context(), append(append([]string{"ping", "-c1", "-W2"}, options...), address.String())...)
		}
		pingICMP(t, from, address, options...)
	}
	s.requireTransports(t, from, server, address, netip.AddrPortFrom(address, sinkPort), netip.AddrPortFrom(address, udpEchoPort))
}

// requireTransports checks TCP and UDP. The client connects to the addresses tcp and udp, and the server listens at address.
func (s *suite) requireTransports(t *testing.T, from, server *cluster.Space, address netip.Addr, tcp, udp netip.AddrPort) {
	t.Helper()
	requireTCP(t, from, server, tcp, netip.Addr{})
	echo := startEcho(t, server, address)
	for _, size := range []int{64, s.fullPayload(), 4000} {
		p := runTraffic[report.Ping](t, from, patience, "udp-ping", to(udp.Addr(), udp.Port()), "--rate=100", "--duration=200ms", "--size="+strconv.Itoa(size))
		requireNoLoss(t, p)
	}
	stop[report.Echo](t, echo)
}

// pingICMP requires an answer to each of three echo requests.
func pingICMP(t *testing.T, from *cluster.Space, address netip.Addr, options ...string) {
	t.Helper()
	args := append([]string{"ping", "-c3", "-i0.2", "-W5"}, options...)
	out := succeeds(t, from, append(args, address.String())...)
	require.True(t, strings.Contains(out, " 0% packet loss"), "%s", out)
}

// requireTCP sends some megabytes; the sink must see the connection come from source, unless that is the zero Addr.
func requireTCP(t *testing.T, from, server *cluster.Space, address netip.AddrPort, source netip.Addr) {
	t.Helper()
	sink := startSink(t, server)
	sent := runTraffic[report.Send](t, from, execTimeout, "tcp-send", to(address.Addr(), address.Port()), "--bytes=5000000")
	requireIntact(t, sent)
	stop[report.Sink](t, sink)
	if source.IsValid() {
		require.Equal(t, source, netip.MustParseAddrPort(sent.Received.Remote).Addr())
	}
}
