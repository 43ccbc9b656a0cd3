// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testOpenVSwitch stops Open vSwitch under running and starting agents.
func testOpenVSwitch(t *testing.T, s *suite) {
	t.Run("BothDaemonsRestartUnderTraffic", func(t *testing.T) {
		// Without forwarding until the agent's flows are back: vswitchd starts with flow-restore-wait.
		s.testOVSRestart(t, func(t *testing.T, n *cluster.Node) { require.NoError(t, n.RestartOVS(t.Context())) })
	})
	t.Run("VSwitchdCrashesUnderTraffic", func(t *testing.T) {
		s.testOVSRestart(t, func(t *testing.T, n *cluster.Node) {
			n.KillVSwitchd()
			startVSwitchd(t, n)
		})
	})
	t.Run("BothDaemonsAndAgentAreReplacedUnderTraffic", func(t *testing.T) { s.testReplacement(t) })
	t.Run("AgentWaitsForOpenVSwitch", func(t *testing.T) {
		require.NoError(t, s.node1.StopAgent())
		s.node1.KillVSwitchd()
		s.node1.KillOVSDB()
		log := followLog(t, s.node1)
		require.NoError(t, s.node1.StartAgent())
		log.waitFor(t, "OVSDB cannot be reached", ovsRunDir+"/db.sock")
		startOVSDB(t, s.node1)
		log.waitFor(t, "Waiting for Open vSwitch")
		startVSwitchd(t, s.node1)
		require.NoError(t, s.node1.WaitAgentReady(t.Context()))
		s.waitRoundsComplete(t) // flows to remote Nodes may appear after readiness
		s.requireConnectivity(t, s.client.Space, s.server.Space, s.server.IP)
	})
}

// testOVSRestart restarts Open vSwitch on both Nodes. Packets may be lost; the TCP connection must survive.
func (s *suite) testOVSRestart(t *testing.T, restart func(*testing.T, *cluster.Node)) {
	t.Helper()
	r := s.startStream(t)
	r.waitFastIfGate(t)
	var flows [][]ofFlow
	for _, n := range s.Nodes {
		flows = append(flows, dumpFlows(t, n))
		log := followLog(t, n)
		restart(t, n)
		log.waitFor(t, "Replayed all flows")
	}
	for i, n := range s.Nodes {
		require.Len(t, dumpFlows(t, n), len(flows[i]), "flows of %s", n.Name)
	}
	r.requireFlowing(t)
	r.waitFastIfGate(t)
	r.end(t, 1<<30)
	s.requireConnectivity(t, s.client.Space, s.server.Space, s.server.IP)
	for _, n := range s.Nodes {
		require.NotContains(t, ovsSetting(t, n, "Open_vSwitch", ".", "other_config"), "flow-restore-wait")
	}
}

// replacementLoss is the number of packets, at 100 a second, that may be lost in three replacements, with the gate off
// and on. Measured on a busy emulated machine were none with the gate on. With the gate off, 0 to 41 were lost in each
// while ovs-vswitchd recreated the tunnel device, and twice 281 and 561: all until there were new flows. The probable
// cause is the command exit, by which ovs-vswitchd was stopped: right after a change that makes ovs-vswitchd check the
// kernel's flows (forward-bpdu, in the same turn of its main loop), it deleted 2 to 4 of 4 flows in use in 5 of 22
// stops. In 25 stops by SIGTERM it deleted none, nor in 110 by exit at 0 to 300 ms from a change of OpenFlow flows. The
// losses have not been seen to be the same.
var replacementLoss = map[bool]int{false: 400, true: 50}

// testReplacement replaces agent and Open vSwitch of one Node after the other, as the update of a DaemonSet does, and once without antrea-controller. Until the new agent has installed
// its flows, packets have only the flows that the kernel has kept. The TCP connection must survive; what was lost when is in the output.
func (s *suite) testReplacement(t *testing.T) {
	r := s.startStream(t)
	r.waitFastIfGate(t)
	// Without a window, so that each loss stands for a hundredth of a second.
	steady := start(t, s.client.Space, "udp-ping", "--from=:4703", to(s.server.IP, udpEchoPort), "--rate=100", "--progress=100ms")
	s.waitFastIfGate(t, s.flow("UDP", 4703, udpEchoPort))
	var phases timeline
	var kernel datapathDumps
	for _, n := range s.Nodes {
		s.replace(t, n, r, &phases, &kernel)
	}
	// Its policies come from files, after 5 s.
	phases.add("antrea-controller stops")
	require.NoError(t, s.StopController())
	t.Cleanup(func() { _ = s.StartController() })
	s.replace(t, s.node1, r, &phases, &kernel)
	phases.add("antrea-controller starts")
	require.NoError(t, s.StartController())
	p := stop[report.Ping](t, steady)
	t.Logf("%d of %d datagrams lost, 100 per second:\n%s", p.Lost, p.Sent, phases.with(p.Losses))
	allowed := replacementLoss[s.isCached(s.flow("UDP", 4703, udpEchoPort))]
	if p.Lost > allowed {
		t.Log(kernel.String())
	}
	require.LessOrEqual(t, p.Lost, allowed)
	r.end(t, 1<<30)
	for _, n := range s.Nodes {
		require.NotContains(t, ovsSetting(t, n, "Open_vSwitch", ".", "other_config"), "flow-restore-wait")
	}
}

// replace replaces agent and Open vSwitch of a Node, and returns when everything is as before.
func (s *suite) replace(t *testing.T, n *cluster.Node, r *stream, phases *timeline, kernel *datapathDumps) {
	t.Helper()
	phases.add(n.Name + ": agent stops")
	require.NoError(t, n.StopAgent())
	kernel.add(t, n, "the agent has stopped")
	phases.add(n.Name + ": Open vSwitch stops")
	require.NoError(t, n.StopOVS())
	kernel.add(t, n, "Open vSwitch has stopped")
	phases.add(n.Name + ": Open vSwitch starts")
	require.NoError(t, n.RestartOVS(t.Context()))
	kernel.add(t, n, "Open vSwitch has started")
	phases.add(n.Name + ": agent starts")
	s.startAgent(t, n)
	phases.add(n.Name + ": agent is ready")
	kernel.add(t, n, "the agent is ready")
	r.requireFlowing(t)
	phases.add(n.Name + ": traffic flows")
	s.waitRoundsComplete(t)
	phases.add(n.Name + ": round is complete")
	r.waitFastIfGate(t)
}

// datapathDumps has what the kernel's datapath of a Node had at some times: its ports and flows. It reads them itself, whether or not
// ovs-vswitchd is there.
type datapathDumps struct{ strings.Builder }

func (d *datapathDumps) add(t *testing.T, n *cluster.Node, when string) {
	t.Helper()
	fmt.Fprintf(d, "%s %s, %s:\n", time.Now().Format("15:04:05.000"), n.Name, when)
	for _, what := range []string{"show", "dump-flows"} {
		out, err := n.Exec(t.Context(), "ovs-dpctl", what)
		fmt.Fprintf(d, "%s", out)
		if err != nil {
			fmt.Fprintln(d, err)
		}
	}
}

// timeline has what a test has done, and when.
type timeline []event

type event struct {
	at   time.Time
	what string
}

func (l *timeline) add(what string) { *l = append(*l, event{time.Now(), what}) }

// with returns the timeline as text, with the losses.
func (l timeline) with(losses []report.Loss) string {
	all := slices.Clone(l)
	for _, loss := range losses {
		began, ended := time.Unix(0, loss.Began), time.Unix(0, loss.Ended)
		all.add(fmt.Sprintf("  %d lost, until %s", loss.Lost, ended.Format("15:04:05.000")))
		all[len(all)-1].at = began
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.at.Compare(b.at) })
	var text strings.Builder
	for _, e := range all {
		fmt.Fprintf(&text, "%s %s\n", e.at.Format("15:04:05.000"), e.what)
	}
	return text.String()
}

func exists(path string) error {
	_, err := os.Stat(path)
	return err
}
