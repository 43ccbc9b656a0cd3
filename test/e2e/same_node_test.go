// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// sameNodeTTL is the TTL of a packet that comes from a Pod of the same Node: nobody routes it.
const sameNodeTTL = 64

// testSameNode checks that connections between two Pods of one Node take the fast path, directly and through a Service, and leave it when
// either Pod changes.
func testSameNode(t *testing.T, s *suite) {
	t.Run("UDP", func(t *testing.T) { testSameNodeUDP(t, s, s.flowWithin("UDP", 4701, udpEchoPort)) })
	t.Run("TCP", func(t *testing.T) { testSameNodeTCP(t, s, s.flowWithin("TCP", 4702, sinkPort)) })
	t.Run("PolicyOfEither", func(t *testing.T) { testSameNodePolicy(t, s, s.flowWithin("UDP", 4703, udpEchoPort)) })
	t.Run("PodDeletion", func(t *testing.T) { testSameNodeDeletion(t, s) })
	t.Run("Service", func(t *testing.T) { testSameNodeService(t, s) })
}

// testSameNodeService does the same with connections to a Service whose Endpoint is on the client's Node.
func testSameNodeService(t *testing.T, s *suite) {
	if s.ipv6 {
		t.Skip("the testbed's API server gives Services IPv4 addresses")
	}
	for _, test := range []struct {
		name, service string
		flow          flow
		run           func(*testing.T, *suite, flow)
	}{
		{"UDP", "within-udp", s.flowWithin("UDP", 4705, udpEchoPort), testSameNodeUDP},
		{"TCP", "within-tcp", s.flowWithin("TCP", 4706, sinkPort), testSameNodeTCP},
		{"PolicyOfEither", "within-policy", s.flowWithin("UDP", 4707, udpEchoPort), testSameNodePolicy},
	} {
		t.Run(test.name, func(t *testing.T) {
			protocol := corev1.Protocol(test.flow.proto)
			test.flow.service = s.createClusterIP(t, test.service, protocol)
			s.setEndpoint(t, test.service, protocol, s.node1, test.flow.server)
			test.run(t, s, test.flow)
		})
	}
}

func testSameNodeUDP(t *testing.T, s *suite, f flow) {
	startEcho(t, s.neighbor.Space, s.neighbor.IP)
	before := oncacheStatus(t, s.node1)
	ping := runTraffic[report.Ping](t, s.client.Space, 2*execTimeout, "udp-ping", fmt.Sprintf("--from=:%d", f.client.Port()),
		to(f.dialed().Addr(), f.dialed().Port()), "--rate=1000", "--window=50", "--count="+strconv.Itoa(longUDP))
	requireNoLoss(t, ping)
	there, back := s.entriesWithin(t, f)
	for _, info := range []api.FlowInfo{there, back} {
		require.GreaterOrEqual(t, float64(info.Packets), leastFast*float64(ping.Sent), "%+v", info)
		require.LessOrEqual(t, info.Packets, uint64(ping.Sent), "%+v", info)
	}
	require.Equal(t, there.Packets+back.Packets, oncacheStatus(t, s.node1).Egress.LocalHits-before.Egress.LocalHits)
}

func testSameNodeTCP(t *testing.T, s *suite, f flow) {
	startSink(t, s.neighbor.Space)
	// Without a limit, sender and receiver would leave nothing of the machine's only processor to others.
	sender := start(t, s.client.Space, "tcp-send", fmt.Sprintf("--from=:%d", f.client.Port()), to(f.dialed().Addr(), f.dialed().Port()), "--rate=20000000")
	var there, back api.FlowInfo
	eventuallyWithin(t, execTimeout, "a long flow", func() error {
		// The receiver acknowledges several segments at once.
		if there, back = s.entriesWithin(t, f); there.Packets < longTCP || back.Packets < longTCP/4 {
			return notYet(fmt.Sprintf("%d and %d packets on the fast path", there.Packets, back.Packets))
		}
		return nil
	})
	requireIntact(t, stop[report.Send](t, sender))
	require.Eventually(t, func() bool {
		there, back = s.entriesWithin(t, f)
		return there.State == "" && back.State == ""
	}, patience, patience/100, "the end of the connection deletes both entries")
}

// flowWithin is a connection from the client to its neighbor.
func (s *suite) flowWithin(proto string, clientPort, serverPort uint16) flow {
	return flow{proto: proto, client: netip.AddrPortFrom(s.client.IP, clientPort), server: netip.AddrPortFrom(s.neighbor.IP, serverPort)}
}

// entriesWithin returns the entries of a flow between two Pods of the first Node. An entry that does not exist has State "".
func (s *suite) entriesWithin(t *testing.T, f flow) (there, back api.FlowInfo) {
	t.Helper()
	endpoint, service := "", ""
	if f.service.IsValid() {
		endpoint, service = f.server.String(), f.service.String()
	}
	for _, info := range antctl[[]api.FlowInfo](t, s.node1, "get", "oncache", "flows", "--ip="+f.client.Addr().String()) {
		switch {
		case info.Protocol != f.proto:
		case info.Source == f.client.String() && info.Destination == f.dialed().String() && info.Translated == endpoint:
			there = info
		case info.Source == f.server.String() && info.Destination == f.client.String() && info.Translated == service:
			back = info
		}
	}
	return there, back
}

// waitFastWithin waits until both directions of a flow within the first Node are active and have carried more packets than now.
func (s *suite) waitFastWithin(t *testing.T, f flow) {
	t.Helper()
	there, back := s.entriesWithin(t, f)
	eventually(t, f.String()+" to take the fast path", func() error {
		nowThere, nowBack := s.entriesWithin(t, f)
		active := nowThere.State == "active" && nowBack.State == "active"
		if active && nowThere.Packets > there.Packets && nowBack.Packets > back.Packets {
			return nil
		}
		if nowThere.Packets < there.Packets || nowBack.Packets < back.Packets {
			there, back = nowThere, nowBack // the entries were replaced
		}
		return fmt.Errorf("there %+v, back %+v", nowThere, nowBack)
	})
}

// testSameNodePolicy changes the policies of the sender and of the receiver: each voids both directions, which are then learned again.
func testSameNodePolicy(t *testing.T, s *suite, f flow) {
	startEcho(t, s.neighbor.Space, s.neighbor.IP)
	ping := start(t, s.client.Space, "udp-ping", fmt.Sprintf("--from=:%d", f.client.Port()), to(f.dialed().Addr(), f.dialed().Port()), "--rate=200", "--progress=100ms")
	for app, pod := range map[string]*cluster.Pod{"same-node-client": s.client, "same-node-server": s.neighbor} {
		s.label(t, pod, map[string]string{"app": app})
		s.waitFastWithin(t, f)
		before := oncacheStatus(t, s.node1).Egress.MissReasons["stale_endpoint"]
		remove := s.applyPolicy(t, ingressTo(app, app))
		eventually(t, "packets of both directions that miss because "+app+" has changed", func() error {
			if now := oncacheStatus(t, s.node1).Egress.MissReasons["stale_endpoint"]; now < before+2 {
				return notYet(fmt.Sprintf("%d, %d before", now, before))
			}
			return nil
		})
		s.waitFastWithin(t, f)
		remove()
		s.waitFastWithin(t, f)
	}
	stop[report.Ping](t, ping)
}

// requireNoLocalHits waits until Pods have sent some packets to a Pod that is gone, and fails if a packet has taken the fast path to a Pod
// of the Node meanwhile.
func requireNoLocalHits(t *testing.T, s *suite) {
	t.Helper()
	before := oncacheStatus(t, s.node1).Egress
	eventually(t, "packets to the Pod that is gone", func() error {
		now := oncacheStatus(t, s.node1).Egress
		if sent := now.Uncacheable["not_remote"] - before.Uncacheable["not_remote"]; sent < 20 {
			return notYet(fmt.Sprint(sent))
		}
		require.Equal(t, before.LocalHits, now.LocalHits, "the fast path still delivers to a Pod that is gone")
		return nil
	})
}

// testSameNodeDeletion deletes a Pod that receives packets of a neighbor, and makes another one with the same address.
func testSameNodeDeletion(t *testing.T, s *suite) {
	first := s.createPod(t, s.node1, "first-neighbor")
	t.Cleanup(func() { deletePod(t, first) })
	startEcho(t, first.Space, first.IP)
	f := flow{proto: "UDP", client: netip.AddrPortFrom(s.client.IP, 4704), server: netip.AddrPortFrom(first.IP, udpEchoPort)}
	ping := start(t, s.client.Space, "udp-ping", "--from=:4704", to(first.IP, udpEchoPort), "--rate=200", "--progress=100ms")
	waitReceived(t, ping, 100, patience)
	s.waitFastWithin(t, f)
	deletePod(t, first)
	requireNoLocalHits(t, s)
	nextAddress(t, s.node1, first.IP)
	second := s.createPod(t, s.node1, "second-neighbor")
	t.Cleanup(func() { deletePod(t, second) })
	require.Equal(t, first.IP, second.IP, "the test needs the same address")
	startEcho(t, second.Space, second.IP)
	capture := startServer(t, second.Space, "capture", "--proto=udp", "--count=100")
	waitReceived(t, ping, lastReceived(ping)+200, patience)
	mac := macOf(t, second.Space, "eth0")
	arrived := result[report.Capture](t, capture, patience).Packets
	require.NotEmpty(t, arrived)
	for _, p := range arrived {
		require.Equal(t, mac, p.DestinationMAC)
		require.EqualValues(t, sameNodeTTL, p.TTL)
	}
	s.waitFastWithin(t, f)
	stop[report.Ping](t, ping)
}
