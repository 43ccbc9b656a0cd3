// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// leastFast is the minimum share of a long flow's packets that must take the fast path. A flow is long if the direction
// with fewer packets has longUDP or longTCP of them, regardless of the time: on a slow machine more packets pass before
// both directions are learned.
const (
	leastFast = 0.99
	longUDP   = 10000
	longTCP   = 6000
)

// testFastPath checks that only the first packets of a connection go through Open vSwitch.
func testFastPath(t *testing.T, s *suite) {
	t.Run("UDP", func(t *testing.T) { testLongUDP(t, s, s.flow("UDP", 4201, udpEchoPort)) })
	t.Run("TCP", func(t *testing.T) { testLongTCP(t, s, s.flow("TCP", 4202, sinkPort)) })
	if !s.path.sameNode {
		t.Run("DatagramsInOneDirection", func(t *testing.T) { testDatagramsInOneDirection(t, s) })
	}
	if s.path != direct {
		return
	}
	t.Run("PodThatWasRedirected", func(t *testing.T) {
		if s.ipv6 || s.directHits {
			t.Skip("nothing answers for remote gateways: to IPv6, the pipeline drops redirects; without the tunnel, the host is the next hop")
		}
		// A Pod does this when the Node has told it, by an ICMP redirect, to use the remote gateway.
		remoteGateway := s.node2.PodCIDR.Addr().Next().String()
		succeeds(t, s.client.Space, "ip", "route", "add", s.server.IP.String(), "via", remoteGateway, "dev", "eth0", "onlink")
		defer succeeds(t, s.client.Space, "ip", "route", "del", s.server.IP.String())
		r := s.startStream(t)
		r.waitFastIfGate(t)
		r.end(t, 0)
	})
	t.Run("TrafficThatIsNotAcceleratedUsesOpenVSwitch", func(t *testing.T) { testNotAccelerated(t, s) })
}

func testLongUDP(t *testing.T, s *suite, f flow) {
	startEcho(t, s.server.Space, s.server.IP)
	m := s.measure(t)
	ping := runTraffic[report.Ping](t, s.client.Space, 2*execTimeout, "udp-ping", f.from(), f.to(), "--rate=1000", "--window=50",
		"--count="+strconv.Itoa(longUDP))
	requireNoLoss(t, ping)
	require.NoError(t, m.fast(t, f))
	for _, onClient := range []bool{true, false} {
		e, err := s.entriesOf(t, f, onClient)
		require.NoError(t, err)
		for _, info := range []api.FlowInfo{e.egress, e.ingress} {
			require.GreaterOrEqual(t, float64(info.Packets), leastFast*float64(ping.Sent), "%+v", info)
			require.LessOrEqual(t, info.Packets, uint64(ping.Sent), "%+v", info)
		}
	}
}

func testLongTCP(t *testing.T, s *suite, f flow) {
	startSink(t, s.server.Space)
	m := s.measure(t)
	args := []string{"tcp-send", f.from(), f.to()}
	if s.isWithin(f) {
		args = append(args, "--rate=20000000") // or one kernel's processor would do nothing else
	}
	sender := start(t, s.client.Space, args...)
	eventuallyWithin(t, execTimeout, "a long flow", func() error {
		e, err := s.entriesOf(t, f, true)
		if err == nil && e.ingress.Packets < longTCP {
			err = notYet(fmt.Sprintf("%d packets of %d on the fast path", e.ingress.Packets, longTCP))
		}
		if err == nil {
			// Before the end of the connection, which deletes its entries. The number of first packets depends on how
			// long a busy machine takes to learn the flow, so the flow continues until they are few.
			err = m.fast(t, f)
		}
		return err
	})
	requireIntact(t, stop[report.Send](t, sender))
}

func testDatagramsInOneDirection(t *testing.T, s *suite) {
	startServer(t, s.server.Space, "udp-echo", "--listen="+netip.AddrPortFrom(s.server.IP, udpEchoPort).String(), "--answers=1")
	f := s.flow("UDP", 4203, udpEchoPort)
	ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=500")
	carried := func(least uint64) (sent, received uint64) {
		t.Helper()
		eventually(t, fmt.Sprintf("the fast path to carry %d packets", least), func() error {
			client, err := s.entriesOf(t, f, true)
			if err != nil {
				return err
			}
			server, err := s.entriesOf(t, f, false)
			if err != nil {
				return err
			}
			if client.ingress.State != "" {
				return fmt.Errorf("the only answer was too early to be learned from, but there is %+v", client.ingress)
			}
			if sent, received = client.egress.Packets, server.ingress.Packets; min(sent, received) < least {
				return fmt.Errorf("%d sent, %d received", sent, received)
			}
			return nil
		})
		return sent, received
	}
	// Entries of a UDP connection younger than two seconds are renewed more often.
	const young = 1200
	sent, received := carried(young)
	slowSent, _ := s.slowPackets(t, s.node1)
	_, slowReceived := s.slowPackets(t, s.node2)
	const count = 1000
	moreSent, moreReceived := carried(max(sent, received) + count)
	allSlowSent, _ := s.slowPackets(t, s.node1)
	_, allSlowReceived := s.slowPackets(t, s.node2)
	require.LessOrEqual(t, float64(allSlowSent-slowSent), (1-leastFast)*float64(moreSent-sent))
	require.LessOrEqual(t, float64(allSlowReceived-slowReceived), (1-leastFast)*float64(moreReceived-received))
	stop[report.Ping](t, ping)
}

func testNotAccelerated(t *testing.T, s *suite) {
	before := oncacheStatus(t, s.node1)
	pingICMP(t, s.client.Space, s.server.IP)
	after := oncacheStatus(t, s.node1)
	require.Equal(t, before.Egress.Hits, after.Egress.Hits)
	require.Greater(t, after.Egress.Uncacheable["protocol"], before.Egress.Uncacheable["protocol"], "ICMP")
}

// measurement compares what the cache and Open vSwitch have carried since its start.
type measurement struct {
	s              *suite
	sent, received map[*cluster.Node]uint64
	// missed are the packets of Pods on the client's Node that have not taken the fast path, counted only with the gate on.
	missed uint64
}

func (s *suite) measure(t *testing.T) *measurement {
	t.Helper()
	m := &measurement{s: s, sent: map[*cluster.Node]uint64{}, received: map[*cluster.Node]uint64{}}
	for _, n := range s.Nodes {
		m.sent[n], m.received[n] = s.slowPackets(t, n)
	}
	if s.oncache {
		m.missed = missedPackets(t, s.node1)
	}
	return m
}

// missedPackets counts the TCP and UDP packets of a Node's Pods that the programs have left to Open vSwitch.
func missedPackets(t *testing.T, n *cluster.Node) uint64 {
	t.Helper()
	sent := oncacheStatus(t, n).Egress
	return sent.Misses + sent.Uncacheable["tcp_flags"]
}

// fast returns the fault of a flow that began after the measurement, or nil. At both ends and in both directions some
// of its packets must have gone through Open vSwitch, and at least leastFast of them must not. Nothing else may have
// been sent since.
func (m *measurement) fast(t *testing.T, f flow) error {
	t.Helper()
	if m.s.isWithin(f) {
		e, err := m.s.entriesOf(t, f, true)
		if err != nil {
			return err
		}
		return m.share(t, fmt.Sprintf("both ends of %s", f), e.egress.Packets+e.ingress.Packets, missedPackets(t, m.s.node1)-m.missed)
	}
	var wrong []error
	for _, n := range m.s.nodesOf(f) {
		e, err := m.s.entriesOf(t, f, n == m.s.node1)
		if err != nil {
			return err
		}
		sent, received := m.s.slowPackets(t, n)
		wrong = append(wrong, m.share(t, fmt.Sprintf("%s sent of %s", n.Name, f), e.egress.Packets, sent-m.sent[n]),
			m.share(t, fmt.Sprintf("%s received of %s", n.Name, f), e.ingress.Packets, received-m.received[n]))
	}
	return errors.Join(wrong...)
}

func (m *measurement) share(t *testing.T, what string, fast, slow uint64) error {
	t.Helper()
	share := float64(fast) / float64(fast+slow)
	text := fmt.Sprintf("%s: %d packets on the fast path, %d through Open vSwitch, %.2f %%", what, fast, slow, 100*share)
	t.Log(text)
	if share < leastFast {
		return fmt.Errorf("%s: want at least %.0f %%", text, 100*leastFast)
	}
	if slow == 0 {
		return fmt.Errorf("%s: the first packets must have used Open vSwitch", text)
	}
	return nil
}
