// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// mixedTunnels has the first Node rewrite hits, and the second one encapsulate them.
func mixedTunnels(o *cluster.Options) {
	o.AgentConfig = func(node int, conf map[string]any) {
		smallCache(node, conf)
		if node == 1 {
			setTunnel(conf, "rewrite")
		}
	}
}

// testMixedTunnels changes the second Node's oncache.tunnel under traffic, to rewrite and back. Hits are rewritten while both Nodes understand
// keys, and only then. No packet may be lost.
func testMixedTunnels(t *testing.T, s *suite) {
	r := s.startStream(t)
	r.waitFastIfGate(t)
	s.requireOnWire(t, false)
	for _, c := range s.cacheCounts(t) {
		require.Zero(t, c.Keys)
	}

	s.changeTunnel(t, s.node2, "rewrite")
	r.waitFastIfGate(t)
	s.requireOnWire(t, true)

	// The first Node continues to use the keys that it was told, until some time after the second one has begun to
	// replace its programs.
	capture := s.captureRewritten(t, s.node1)
	s.changeTunnel(t, s.node2, "encap")
	require.NotZero(t, stop[report.Capture](t, capture).Matched)
	r.waitFastIfGate(t)
	eventuallyWithin(t, 2*patience, "keys to be given back", func() error {
		for n, c := range s.cacheCounts(t) {
			if c.Keys > 0 {
				return notYet(fmt.Sprintf("%s keeps %d", n.Name, c.Keys))
			}
		}
		return nil
	})
	s.requireOnWire(t, false)

	r.end(t, 0)
	s.requireNoUnknownKeys(t)
}

// testOneGateOff turns the second Node's gate off and on again while the first one rewrites packets to it. Its programs
// must continue to restore them until no keys are in use, and the rules for the port must stay for longer. No packet
// may be lost.
func testOneGateOff(t *testing.T, s *suite) {
	s.changeTunnel(t, s.node2, "rewrite")
	r := s.startStream(t)
	r.waitFastIfGate(t)
	s.requireOnWire(t, true)
	capture := s.captureRewritten(t, s.node1)
	s.setGateOf(t, s.node2, false)
	require.NotZero(t, stop[report.Capture](t, capture).Matched)
	r.requireFlowing(t)
	waitRemoved(t, s.node2)
	requireNoTrace(t, s.node2)
	eventuallyWithin(t, 3*patience, "the rules for the port to be removed", func() error {
		if strings.Contains(succeeds(t, s.node2.Space, "iptables-save"), fmt.Sprint("port ", rewritePort)) {
			return notYet("they are there")
		}
		return nil
	})
	r.requireFlowing(t)

	s.setGateOf(t, s.node2, true)
	r.waitFastIfGate(t)
	s.requireOnWire(t, true)
	r.end(t, 0)
	s.requireNoUnknownKeys(t)
}

// testRewritePortIsRolled changes the port of rewritten packets, Node by Node. While the Nodes use different ones, packets between them are
// encapsulated. No packet may be lost.
func testRewritePortIsRolled(t *testing.T, s *suite) {
	for _, n := range s.Nodes {
		s.changeTunnel(t, n, "rewrite")
	}
	r := s.startStream(t)
	r.waitFastIfGate(t)
	s.requireOnWire(t, true)

	s.changeRewritePort(t, s.node2, rewritePort+1)
	r.waitFastIfGate(t)
	s.requireOnWire(t, false)

	before := s.cacheCounts(t)
	s.changeRewritePort(t, s.node1, rewritePort+1)
	r.waitFastIfGate(t)
	s.waitRewritten(t, before, 100)
	r.end(t, 0)
	s.requireNoUnknownKeys(t)
}

// setGateOf restarts the agent of a Node with the gate on or off.
func (s *suite) setGateOf(t *testing.T, n *cluster.Node, on bool) {
	t.Helper()
	require.NoError(t, n.SetFeatureGates(map[string]bool{gate: on}))
	s.restartAgent(t, n)
}

// changeTunnel restarts the agent of a Node with another value of oncache.tunnel.
func (s *suite) changeTunnel(t *testing.T, n *cluster.Node, tunnel string) {
	t.Helper()
	require.NoError(t, n.WriteAgentConfig(func(conf map[string]any) { setTunnel(conf, tunnel) }))
	s.restartAgent(t, n)
}

// changeRewritePort restarts the agent of a Node with another value of oncache.rewritePort.
func (s *suite) changeRewritePort(t *testing.T, n *cluster.Node, port int) {
	t.Helper()
	require.NoError(t, n.WriteAgentConfig(func(conf map[string]any) { conf["oncache"].(map[string]any)["rewritePort"] = port }))
	s.restartAgent(t, n)
}

func (s *suite) restartAgent(t *testing.T, n *cluster.Node) {
	t.Helper()
	require.NoError(t, n.StopAgent())
	s.startAgent(t, n)
	s.waitRoundsComplete(t)
}

// captureRewritten counts the rewritten packets that a Node sends from now on, on the network.
func (s *suite) captureRewritten(t *testing.T, n *cluster.Node) *cluster.Process {
	t.Helper()
	return startServer(t, s.Fabric, "capture", "--device="+n.Name, fmt.Sprint("--port=", rewritePort), "--limit=0")
}

// cacheCounts returns what the caches of all Nodes have counted.
func (s *suite) cacheCounts(t *testing.T) map[*cluster.Node]api.Status {
	t.Helper()
	counts := map[*cluster.Node]api.Status{}
	for _, n := range s.Nodes {
		counts[n] = oncacheStatus(t, n)
	}
	return counts
}

// requireOnWire waits for hits on both Nodes in both directions, rewritten ones or any. If they are not to be rewritten, the Nodes must count none
// that are, and none may be on the network.
func (s *suite) requireOnWire(t *testing.T, rewritten bool) {
	t.Helper()
	const enough = 1000
	captures := map[*cluster.Node]*cluster.Process{}
	for _, n := range s.Nodes {
		captures[n] = s.captureRewritten(t, n)
	}
	before := s.cacheCounts(t)
	hits := func(d api.DirectionStats) uint64 {
		if rewritten {
			return d.RewrittenHits
		}
		return d.Hits
	}
	eventuallyWithin(t, 2*patience, "packets to take the fast path", func() error {
		for n, now := range s.cacheCounts(t) {
			sent, received := hits(now.Egress)-hits(before[n].Egress), hits(now.Ingress)-hits(before[n].Ingress)
			if sent < enough || received < enough {
				return notYet(fmt.Sprintf("%s has sent %d and received %d", n.Name, sent, received))
			}
		}
		return nil
	})
	for n, c := range captures {
		captured := stop[report.Capture](t, c).Matched
		if rewritten {
			require.Greater(t, captured, enough/2, "rewritten packets that %s has sent", n.Name) // some may not have arrived yet
			continue
		}
		now := oncacheStatus(t, n)
		require.Zero(t, captured, "rewritten packets that %s has sent", n.Name)
		require.Equal(t, before[n].Egress.RewrittenHits, now.Egress.RewrittenHits, "%s has rewritten packets", n.Name)
		require.Equal(t, before[n].Ingress.RewrittenHits, now.Ingress.RewrittenHits, "%s has restored packets", n.Name)
	}
}
