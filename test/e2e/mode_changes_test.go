// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// setTrafficMode restarts the agents of Nodes with another traffic mode, or with encryption.
func (s *suite) setTrafficMode(t *testing.T, mode string, nodes ...*cluster.Node) {
	t.Helper()
	for _, n := range nodes {
		require.NoError(t, n.WriteAgentConfig(cluster.Mode(mode).Configure))
		require.NoError(t, n.StopAgent())
	}
	for _, n := range nodes {
		s.startAgent(t, n)
	}
	s.waitRoundsComplete(t)
}

// testModeChanges changes from each mode to all others under traffic: connections that were opened in any of them continue, directly and through
// Services, and packets travel as the mode says. Without encryption, packets also arrive while the two Nodes have different modes.
func testModeChanges(t *testing.T, s *suite) {
	defer dropInvalid(t, s.Nodes...)()
	now := wireGuardMode
	for _, changes := range [][]string{{"encap", "noEncap"}, {"encap", wireGuardMode, "hybrid", "encap"}, {"noEncap", wireGuardMode}} {
		r := s.startStream(t) // which opens connections in the present mode
		for _, next := range changes {
			if now != wireGuardMode && next != wireGuardMode {
				s.setTrafficMode(t, next, s.node1)
				for _, c := range r.connections {
					waitReceived(t, c.ping, lastReceived(c.ping), patience)
				}
				s.setTrafficMode(t, next, s.node2)
			} else {
				s.setTrafficMode(t, next, s.Nodes...)
			}
			s.requireMode(t, next)
			r.requireFlowing(t)
			now = next
		}
		r.end(t, 1<<30) // packets were dropped while the Nodes had different modes; TCP has lost nothing
	}
}

// requireMode requires that packets between Pods of the two Nodes travel as the mode says, which is the same on both.
func (s *suite) requireMode(t *testing.T, mode string) {
	t.Helper()
	s.waitPing(t)
	pings := func() {
		pingICMP(t, s.client.Space, s.far.IP)
		pingICMP(t, s.far.Space, s.client.IP, "-s2000")
	}
	routes := func(toNode2, toNode1 string) {
		requireOwnRoutes(t, s.node1, s.node2.PodCIDR, toNode2)
		requireOwnRoutes(t, s.node2, s.node1.PodCIDR, toNode1)
	}
	switch mode {
	case wireGuardMode:
		routes("dev antrea-wg0", "dev antrea-wg0")
		s.requireNothingInClear(t, pings)
	case "encap":
		routes("dev antrea-gw0", "dev antrea-gw0")
		s.requireWay(t, false, pings)
	default: // the Nodes are in one subnet
		routes("via "+s.node2.IP.String(), "via "+s.node1.IP.String())
		s.requireWay(t, true, pings)
	}
}
