// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// streamWindow is the maximum number of pings of a stream in flight.
const streamWindow = 50

// stream is a TCP connection and a 1 kHz UDP ping between client and server that run while a test changes the Nodes.
type stream struct {
	s            *suite
	sender, ping *cluster.Process
	sink, echo   *cluster.Process
	tcp, udp     flow
}

// startStream returns when both flow.
func (s *suite) startStream(t *testing.T) *stream {
	t.Helper()
	r := &stream{s: s, tcp: s.flow("TCP", 4701, sinkPort), udp: s.flow("UDP", 4702, udpEchoPort)}
	r.sink = startSink(t, s.server.Space)
	r.echo = startEcho(t, s.server.Space, s.server.IP)
	r.sender = start(t, s.client.Space, "tcp-send", "--from=:4701", to(s.server.IP, sinkPort), "--rate=500000")
	r.ping = start(t, s.client.Space, "udp-ping", "--from=:4702", to(s.server.IP, udpEchoPort), "--rate=1000", "--window="+strconv.Itoa(streamWindow), "--progress=100ms")
	r.requireFlowing(t)
	return r
}

// requireFlowing waits until both receive something.
func (r *stream) requireFlowing(t *testing.T) {
	t.Helper()
	bytes, pings := lastReceived(r.sink), lastReceived(r.ping)
	waitReceived(t, r.sink, bytes, patience)
	waitReceived(t, r.ping, pings, patience)
}

func (r *stream) waitFastIfGate(t *testing.T) {
	t.Helper()
	r.s.waitFastIfGate(t, r.tcp)
	r.s.waitFastIfGate(t, r.udp)
}

// end checks that nothing was lost. maxLost applies to pings only.
func (r *stream) end(t *testing.T, maxLost int) {
	t.Helper()
	p := stop[report.Ping](t, r.ping)
	sent := stop[report.Send](t, r.sender)
	stop[report.Sink](t, r.sink)
	stop[report.Echo](t, r.echo)
	t.Logf("pings: %d lost of %d (first %d, last %d), longest gap %.0f ms, RTT %+v us; TCP: %d bytes, longest stall %.0f ms",
		p.Lost, p.Sent, p.FirstLost, p.LastLost, p.LongestGapMs, p.RTT, sent.Bytes, sent.Received.LongestStallMs)
	requireIntact(t, sent)
	require.LessOrEqual(t, p.Lost, maxLost, "%+v", p)
	require.Zero(t, p.Duplicated, "%+v", p)
	require.Zero(t, p.Corrupted, "%+v", p)
}

// agentEnd is a way to end an agent.
type agentEnd struct {
	name string
	end  func(*cluster.Node) error
	// early ends the agent before it has completed its round of flows.
	early bool
}

// testAgentRestart stops the agents of both Nodes under traffic, by SIGTERM and by SIGKILL.
func testAgentRestart(t *testing.T, s *suite) {
	s.testAgentEnds(t, agentEnd{"SIGTERM", (*cluster.Node).StopAgent, false}, agentEnd{"SIGKILL", (*cluster.Node).KillAgent, false},
		agentEnd{"SIGKILLSoonAfterItsStart", (*cluster.Node).KillAgent, true})
}

// testAgentCrash is the part of testAgentRestart for clusters in which the way that agents end makes little difference.
func testAgentCrash(t *testing.T, s *suite) {
	s.testAgentEnds(t, agentEnd{"SIGKILL", (*cluster.Node).KillAgent, false})
}

func (s *suite) testAgentEnds(t *testing.T, ends ...agentEnd) {
	for _, c := range ends {
		t.Run(c.name, func(t *testing.T) {
			s.waitRoundsComplete(t)
			if c.early {
				s.restartAgents(t)
			}
			r := s.startStream(t)
			r.waitFastIfGate(t)
			require.NoError(t, s.EachNode(c.end))
			r.requireFlowing(t)
			s.startAgents(t)
			r.requireFlowing(t)
			r.waitFastIfGate(t)
			s.waitRoundsComplete(t) // at its end the flows of earlier rounds are deleted
			r.requireFlowing(t)
			r.end(t, 0)
		})
	}
}

// startAgents starts the agents of all Nodes and waits for them.
func (s *suite) startAgents(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout)
	defer cancel()
	require.NoError(t, s.StartAgents(ctx))
}

// restartAgents ends and starts the agents of all Nodes.
func (s *suite) restartAgents(t *testing.T) {
	t.Helper()
	require.NoError(t, s.EachNode((*cluster.Node).StopAgent))
	s.startAgents(t)
}

// waitRoundsComplete waits until all agents have recorded that only flows of their present run are left.
func (s *suite) waitRoundsComplete(t *testing.T) {
	t.Helper()
	for _, n := range s.Nodes {
		eventually(t, "the round of flows on "+n.Name+" to be complete", func() error {
			recorded := strings.Trim(ovsSetting(t, n, "Bridge", "br-int", "external_ids:roundNum"), `"`)
			for _, f := range dumpFlows(t, n) {
				if f.round() != recorded {
					return fmt.Errorf("round %s is recorded, %s is of round %s", recorded, f, f.round())
				}
			}
			return nil
		})
	}
}
