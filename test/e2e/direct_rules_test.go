// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

const (
	rulesRate = 100 // datagrams of each flow in a second, each of which has an answer
	// lease is the number of datagrams during which the leases of all entries (5 s) end, if they are not renewed.
	lease = 5 * rulesRate
)

// testHostRules: a rule of the host's firewall, on one of the Nodes, ends a flow that it forbids within two leases, and no other. Without the rule
// the flow is fast again.
func testHostRules(t *testing.T, s *suite) {
	startEcho(t, s.server.Space, s.server.IP)
	s.waitPossible(t, s.client, 4610)
	s.waitPossible(t, s.neighbor, 4610)
	f := s.flow("UDP", 4605, udpEchoPort)
	startPing := func(from *cluster.Pod) *cluster.Process {
		p := start(t, from.Space, "udp-ping", f.from(), f.to(), fmt.Sprint("--rate=", rulesRate), "--progress=100ms")
		waitReceived(t, p, rulesRate, patience)
		return p
	}
	forbidden, allowed := startPing(s.client), startPing(s.neighbor)
	wait := func(datagrams uint64) {
		t.Helper()
		waitReceived(t, allowed, lastReceived(allowed)+datagrams, execTimeout)
	}
	for _, n := range s.nodesOf(f) {
		t.Run(n.Name, func(t *testing.T) {
			s.waitFast(t, f)
			rule := []string{"-s", s.client.IP.String(), "-d", s.server.IP.String(), "-j", "DROP"}
			firewall := func(operation string) {
				succeeds(t, n.Space, append([]string{s.iptables(), operation, "FORWARD"}, rule...)...)
			}
			firewall("-I")
			remove := once(func() { firewall("-D") })
			defer remove()
			wait(2 * lease)
			received, dropped := lastReceived(forbidden), s.droppedByFirst(t, n)
			wait(lease)
			require.Equal(t, received, lastReceived(forbidden), "answers although the host forbids the flow")
			require.Greater(t, s.droppedByFirst(t, n), dropped)
			remove()
			waitReceived(t, forbidden, received+rulesRate, patience)
			s.waitFast(t, f)
		})
	}
	require.Positive(t, stop[report.Ping](t, forbidden).Lost)
	requireNoLoss(t, stop[report.Ping](t, allowed))
}

// droppedByFirst returns the number of packets that the first rule for forwarded packets has matched.
func (s *suite) droppedByFirst(t *testing.T, n *cluster.Node) (packets uint64) {
	t.Helper()
	line := succeeds(t, n.Space, s.iptables(), "-L", "FORWARD", "1", "-v", "-x", "-n")
	packets, err := strconv.ParseUint(strings.Fields(line)[0], 10, 64)
	require.NoError(t, err, line)
	return packets
}

// testPausedRevalidators: packets that come through the host meet a new rule of a policy at once, although Open vSwitch never looks at the megaflows
// of before it: stamps keep them from these. So an open connection is learned again under the new epoch, and new connections are refused.
func testPausedRevalidators(t *testing.T, s *suite) {
	s.label(t, s.server, map[string]string{"app": "server"})
	defer s.label(t, s.server, nil)
	startEcho(t, s.server.Space, s.server.IP)
	f := s.flow("UDP", 4606, udpEchoPort)
	ping := start(t, s.client.Space, "udp-ping", f.from(), f.to(), fmt.Sprint("--rate=", rulesRate), "--progress=100ms")
	waitReceived(t, ping, rulesRate, patience)
	s.waitFastIfGate(t, f)            // with WireGuard there are no hits between Nodes
	s.waitPossible(t, s.client, 4650) // its megaflows stay
	succeeds(t, s.server.Node.Space, "ovs-appctl", "revalidator/pause")
	resume := once(func() { succeeds(t, s.server.Node.Space, "ovs-appctl", "revalidator/resume") })
	defer resume()
	remove := s.applyPolicy(t, ingressTo("deny", "server"))
	for port := uint16(4620); port < 4625; port++ {
		refused := s.newPing(t, s.client, port)
		require.Positive(t, refused.Sent)
		require.Zero(t, refused.Received, "by a megaflow of before the policy: %+v", refused)
		e, err := s.entriesOf(t, s.flow("UDP", port, udpEchoPort), false)
		require.NoError(t, err)
		require.Empty(t, e.ingress.State, "%+v", e)
	}
	s.waitFastIfGate(t, f)
	remove()
	s.waitPossible(t, s.client, 4670)
	s.waitFastIfGate(t, f)
	requireNoLoss(t, stop[report.Ping](t, ping))
}
