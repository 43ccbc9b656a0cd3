// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// Ports of servers: over TCP the sink, one without a listener, an echo and the sink of streams through a Service, and
// over UDP the echo.
const (
	sinkPort       = 5001
	closedPort     = 5002
	idlePort       = 4903
	streamSinkPort = 5011
	udpEchoPort    = 5002
)

// trafficGrace limits the time for a traffic program to end after SIGTERM: it waits for late replies and confirmations.
const trafficGrace = 70 * time.Second

// start starts a traffic subcommand that ends with the test. Where CPU time is short, as on an emulated machine, agents and
// Open vSwitch have priority.
func start(t *testing.T, s *cluster.Space, args ...string) *cluster.Process {
	t.Helper()
	p, err := s.Start(append([]string{"nice", "traffic"}, args...)...)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

// startServer starts a traffic subcommand and waits until it is usable.
func startServer(t *testing.T, s *cluster.Space, args ...string) *cluster.Process {
	t.Helper()
	p := start(t, s, args...)
	waitForStatus(t, p, "ready")
	return p
}

// startSink and startEcho listen on the standard port, startEcho on one address: a UDP reply must come from the address
// that the request was sent to.
func startSink(t *testing.T, s *cluster.Space) *cluster.Process {
	t.Helper()
	return startServer(t, s, "tcp-sink", fmt.Sprintf("--listen=:%d", sinkPort), "--progress=100ms")
}

func startEcho(t *testing.T, s *cluster.Space, address netip.Addr) *cluster.Process {
	t.Helper()
	return startServer(t, s, "udp-echo", "--listen="+netip.AddrPortFrom(address, udpEchoPort).String())
}

func to(addr netip.Addr, port uint16) string {
	return "--to=" + netip.AddrPortFrom(addr, port).String()
}

// waitForStatus waits until a traffic program has written a line that begins with text.
func waitForStatus(t *testing.T, p *cluster.Process, text string) {
	t.Helper()
	eventually(t, "traffic to say "+text, func() error {
		if strings.Contains("\n"+p.Stderr(), "\n"+text) {
			return nil
		}
		select {
		case <-p.Done():
			require.Fail(t, "traffic has ended", "%s%s", p.Stdout(), p.Stderr())
		default:
		}
		return notYet(lastLines(p.Stderr(), 2))
	})
}

// lastReceived is the number in the last "received NUMBER" line.
func lastReceived(p *cluster.Process) (n uint64) {
	text := p.Stderr()
	if i := strings.LastIndex(text, "received "); i >= 0 && strings.Contains(text[i:], "\n") {
		_, _ = fmt.Sscanf(text[i:], "received %d", &n) // 0 before the first
	}
	return n
}

// waitReceived waits until a sink or udp-ping has received more than n. None of the senders, if given, may end before.
func waitReceived(t *testing.T, p *cluster.Process, n uint64, limit time.Duration, senders ...*cluster.Process) {
	t.Helper()
	eventuallyWithin(t, limit, fmt.Sprintf("more than %d received", n), func() error {
		for _, running := range append(senders, p) {
			select {
			case <-running.Done():
				require.Fail(t, "traffic has ended", "%s%s", running.Stdout(), lastLines(running.Stderr(), 3))
			default:
			}
		}
		if got := lastReceived(p); got <= n {
			return fmt.Errorf("received %d", got)
		}
		return nil
	})
}

// result waits for the end of a traffic program, which must be a success, and decodes its report.
func result[Report any](t *testing.T, p *cluster.Process, limit time.Duration) (r Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	require.NoError(t, p.Wait(ctx))
	require.NoError(t, json.Unmarshal([]byte(p.Stdout()), &r))
	return r
}

// stop sends SIGTERM and returns the result.
func stop[Report any](t *testing.T, p *cluster.Process) (r Report) {
	t.Helper()
	require.NoError(t, p.Stop(trafficGrace))
	return result[Report](t, p, time.Second)
}

// runTraffic runs a traffic subcommand that ends by itself within limit.
func runTraffic[Report any](t *testing.T, s *cluster.Space, limit time.Duration, args ...string) Report {
	t.Helper()
	return result[Report](t, start(t, s, args...), limit)
}

// requireIntact fails unless the sink has confirmed every byte.
func requireIntact(t *testing.T, sent report.Send) {
	t.Helper()
	require.NotNil(t, sent.Received, "%+v", sent.Stream)
	require.Equal(t, sent.Bytes, sent.Received.Bytes)
	require.EqualValues(t, -1, sent.Received.MismatchAt)
	require.Positive(t, sent.Bytes)
}

// requireNoLoss fails unless every ping was answered once, in order and unchanged.
func requireNoLoss(t *testing.T, p report.Ping) {
	t.Helper()
	require.Positive(t, p.Sent)
	require.Zero(t, p.Lost, "%+v", p)
	require.Zero(t, p.Duplicated, "%+v", p)
	require.Zero(t, p.Corrupted, "%+v", p)
	require.Zero(t, p.SendErrors, "%+v", p)
}
