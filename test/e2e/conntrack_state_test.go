// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// longTimeout is longer than conntrack keeps a connection with unacknowledged data (5 minutes); an open and idle one is
// kept for five days.
const longTimeout = 24 * time.Hour

// testConntrackState checks what conntrack knows about connections that the fast path has carried
// (docs/design/oncache-conntrack.md; the other cases are in `make test-conntrack`).
func testConntrackState(t *testing.T, s *suite) {
	t.Run("IdleConnection", func(t *testing.T) { testIdleConnection(t, s) })
	t.Run("StreamOfDatagrams", func(t *testing.T) { testStreamOfDatagrams(t, s) })
	if s.oncache && (s.path == direct || all) { // it takes a minute
		t.Run("ResetAfter2GiB", func(t *testing.T) { testResetAfter2GiB(t, s) })
	}
}

// testIdleConnection makes requests, and then none: conntrack must keep the connection as long as any other open one.
func testIdleConnection(t *testing.T, s *suite) {
	startServer(t, s.server.Space, "tcp-echo", fmt.Sprintf("--listen=%s", netip.AddrPortFrom(s.server.IP, idlePort)))
	f := s.flow("TCP", 0, idlePort)
	client := start(t, s.client.Space, "rr", f.to(), "--duration=5m")
	f.client = netip.AddrPortFrom(f.client.Addr(), localPort(t, client))
	s.waitFastIfGate(t, f)
	require.NoError(t, client.Signal(syscall.SIGSTOP))
	for _, n := range s.nodesOf(f) {
		eventually(t, "conntrack of "+n.Name+" to keep an idle connection for days", func() error {
			e, ok := s.conntrackOf(t, n, f)
			switch {
			case !ok:
				return errors.New("it has no entry")
			case e.state != "ESTABLISHED" || e.left < longTimeout:
				return notYet(e.line)
			}
			return nil
		})
	}
	require.NoError(t, client.Signal(syscall.SIGCONT))
	s.waitFastIfGate(t, f)
	require.Positive(t, stop[report.RR](t, client).Transactions)
}

// localPort returns the port from which a traffic program has connected.
func localPort(t *testing.T, p *cluster.Process) uint16 {
	t.Helper()
	waitForStatus(t, p, "connected")
	_, line, _ := strings.Cut("\n"+p.Stderr(), "\nconnected ")
	local, err := netip.ParseAddrPort(strings.Fields(line)[0])
	require.NoError(t, err, line)
	return local.Port()
}

// testStreamOfDatagrams sends datagrams for longer than the two seconds after which the kernel sees a stream, but less than
// a lease.
func testStreamOfDatagrams(t *testing.T, s *suite) {
	startEcho(t, s.server.Space, s.server.IP)
	f := s.flow("UDP", 4904, udpEchoPort)
	p := runTraffic[report.Ping](t, s.client.Space, time.Minute, "udp-ping", f.from(), f.to(), "--rate=50", "--duration=3s")
	requireNoLoss(t, p)
	for _, n := range s.nodesOf(f) {
		e, ok := s.conntrackOf(t, n, f)
		require.True(t, ok, "%s has no entry of %s", n.Name, f)
		require.Contains(t, e.line, "[ASSURED]")
		// A stream has 120 s, other datagrams have 30 s.
		require.Greater(t, e.left, 60*time.Second, e.line)
	}
}

// testResetAfter2GiB resets a connection whose sequence numbers have advanced by half their range since conntrack last saw
// them.
func testResetAfter2GiB(t *testing.T, s *suite) {
	const half = 1 << 31
	sink := startSink(t, s.server.Space)
	f := s.flow("TCP", 4905, sinkPort)
	sender := start(t, s.client.Space, "tcp-send", f.from(), f.to(), "--reset")
	waitForStatus(t, sender, "connected")
	s.waitFastIfGate(t, f)
	waitReceived(t, sink, half+half/16, longFlowTimeout)
	require.Equal(t, "reset", stop[report.Send](t, sender).End)
	for _, n := range s.nodesOf(f) {
		eventually(t, "conntrack of "+n.Name+" to see the reset", func() error {
			if e, ok := s.conntrackOf(t, n, f); ok && e.left > closedTimeout {
				return notYet(e.line)
			}
			return nil
		})
	}
	requireReset(t, sink)
}
