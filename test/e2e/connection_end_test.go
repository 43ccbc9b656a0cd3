// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// closedTimeout is the longest that conntrack keeps a closed connection (nf_conntrack_tcp_timeout_time_wait); an open one is
// kept for five days.
const closedTimeout = 120 * time.Second

// connectionEnd is a way to end a connection.
type connectionEnd struct {
	name  string
	reset bool
	// A packet with this TCP flag must come out of Open vSwitch on the client's Node, if the server is on another one; "" for none.
	flag string
	end  func(t *testing.T, sender, sink *cluster.Process)
}

var connectionEnds = []connectionEnd{
	{"FIN", false, "F", func(t *testing.T, sender, _ *cluster.Process) { requireIntact(t, stop[report.Send](t, sender)) }},
	{"RSTOfTheSender", true, "R", func(t *testing.T, sender, sink *cluster.Process) {
		require.Equal(t, "reset", stop[report.Send](t, sender).End)
		requireReset(t, sink)
	}},
	{"RSTOfTheReceiver", false, "", func(t *testing.T, sender, sink *cluster.Process) {
		sink.Kill() // the sender continues to send to a socket that no longer exists
		eventually(t, "the sender to notice", func() error {
			select {
			case <-sender.Done():
				return nil
			default:
				return notYet("it still sends")
			}
		})
		require.Contains(t, sender.Stdout(), `"end":"reset"`)
	}},
}

// requireReset waits until a sink's only connection has ended, and fails unless that was by RST, which arrives after the sender
// has ended: Open vSwitch forwards it.
func requireReset(t *testing.T, sink *cluster.Process) {
	t.Helper()
	waitForStatus(t, sink, "ended")
	ended := stop[report.Sink](t, sink).Connections
	require.Len(t, ended, 1)
	require.Equal(t, "reset", ended[0].End, "the receiver must learn that the connection has ended")
}

// testConnectionEnd checks that conntrack sees the end of connections that the cache has carried.
func testConnectionEnd(t *testing.T, s *suite) {
	for i, c := range connectionEnds {
		t.Run(c.name, func(t *testing.T) { testOneConnectionEnd(t, s, uint16(4300+i), c) })
	}
	t.Run("TheSameFiveTupleAgain", func(t *testing.T) {
		f := s.flow("TCP", 4310, sinkPort)
		startSink(t, s.server.Space)
		for range 2 {
			sender := start(t, s.client.Space, "tcp-send", f.from(), f.to(), "--rate=2000000", "--reset")
			waitForStatus(t, sender, "connected")
			s.waitFastIfGate(t, f)
			stop[report.Send](t, sender)
		}
	})
}

func testOneConnectionEnd(t *testing.T, s *suite, port uint16, c connectionEnd) {
	f := s.flow("TCP", port, sinkPort)
	sink := startSink(t, s.server.Space)
	var wire *cluster.Process
	if !s.isWithin(f) && s.mode == "" { // a capture at the device of a Pod, or at the gateway, would keep them on Open vSwitch
		wire = startServer(t, s.node1.Space, "capture", "--device="+s.tunnelDevice(), "--outgoing", "--proto=tcp",
			fmt.Sprintf("--source-port=%d", f.client.Port()))
	}
	args := []string{"tcp-send", f.from(), f.to(), "--rate=2000000"}
	if c.reset {
		args = append(args, "--reset")
	}
	sender := start(t, s.client.Space, args...)
	waitForStatus(t, sender, "connected")
	s.waitFastIfGate(t, f)
	for _, n := range s.nodesOf(f) {
		e, ok := s.conntrackOf(t, n, f)
		require.True(t, ok, "%s has no conntrack entry of %s", n.Name, f)
		require.Equal(t, "ESTABLISHED", e.state)
	}
	c.end(t, sender, sink)
	if wire != nil {
		seen := stop[report.Capture](t, wire).Packets
		for _, flag := range []string{"S", c.flag} {
			require.True(t, slices.ContainsFunc(seen, func(p report.Packet) bool { return strings.Contains(p.TCPFlags, flag) }),
				"no packet with flag %s went through Open vSwitch", flag)
		}
	}
	for _, n := range s.nodesOf(f) {
		eventually(t, "conntrack of "+n.Name+" to see the end of "+f.String(), func() error {
			// After RST outside the window that conntrack knows the state stays ESTABLISHED, with the timeout of CLOSE.
			if e, ok := s.conntrackOf(t, n, f); ok && e.left > closedTimeout {
				return notYet(e.line)
			}
			return nil
		})
	}
	if !s.oncache {
		return
	}
	for _, onClient := range []bool{true, false} {
		// A packet that was in flight during the end may have been learned from; the entry lasts for one lease.
		eventually(t, "the cache to forget "+f.String(), func() error {
			e, err := s.entriesOf(t, f, onClient)
			if err == nil && (e.egress.State == "active" || e.ingress.State == "active") {
				err = fmt.Errorf("%+v", e)
			}
			return err
		})
	}
}

// testConntrackLiveness checks with short timeouts that leases keep conntrack's entries alive while traffic flows, and no
// longer. The lease is 5 s.
func testConntrackLiveness(t *testing.T, s *suite) {
	const timeout = 8 * time.Second
	f := s.flow("UDP", 4401, udpEchoPort)
	for _, n := range s.nodesOf(f) {
		for _, name := range []string{"udp_timeout", "udp_timeout_stream"} {
			setSysctl(t, n, "net/netfilter/nf_conntrack_"+name, "8")
		}
	}
	startEcho(t, s.server.Space, s.server.IP)
	ping := func() *cluster.Process {
		return start(t, s.client.Space, "udp-ping", f.from(), f.to(), "--rate=500")
	}

	busy := ping()
	s.waitFastIfGate(t, f)
	for end := time.Now().Add(2*timeout + 2*time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		for _, n := range s.nodesOf(f) {
			_, ok := s.conntrackOf(t, n, f)
			require.True(t, ok, "%s has forgotten a connection that the fast path carries", n.Name)
			if s.directHits && !s.isWithin(f) { // or a connection that the host translates could get the same ports
				_, ok := hostConntrackOf(t, n, f)
				require.True(t, ok, "the host %s has forgotten a connection that the fast path carries", n.Name)
			}
		}
	}
	requireNoLoss(t, stop[report.Ping](t, busy))

	for _, n := range s.nodesOf(f) {
		eventually(t, "conntrack of "+n.Name+" to forget an idle connection", func() error {
			if e, ok := s.conntrackOf(t, n, f); ok {
				return notYet(e.line)
			}
			return nil
		})
	}
	if s.oncache {
		e, err := s.entriesOf(t, f, true)
		require.NoError(t, err)
		require.False(t, e.active(), "%+v", e)
	}

	again := ping()
	s.waitFastIfGate(t, f)
	requireNoLoss(t, stop[report.Ping](t, again))
}

// setSysctl sets a sysctl on a Node until the test ends.
func setSysctl(t *testing.T, n *cluster.Node, name, value string) {
	t.Helper()
	path := "/proc/sys/" + name
	old, err := n.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, n.WriteFile(path, []byte(value)))
	t.Cleanup(func() { require.NoError(t, n.WriteFile(path, old)) })
}
