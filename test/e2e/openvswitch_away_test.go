// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// absenceRate is the datagrams of each flow in a second, each of which has an answer.
const absenceRate = 100

// pastLeases is a number of datagrams during which all leases (5 s) end, if they are neither renewed nor held.
const pastLeases = 7 * absenceRate

// lostProbes are the datagrams that may be lost until the agent misses flows or the kernel's datapath, since they are probes: one of each direction and
// 300 ms of lease, and on a slow machine the agent takes longer.
const lostProbes = 4

// absenceCase takes Open vSwitch away from the client's Node and brings it back.
type absenceCase struct {
	name       string
	away, back func(*testing.T, *absentNode)
	// noticed is the agent's message about it; "" if nothing is away, or for too short a time.
	noticed string
	// maxLost limits the losses of each flow.
	maxLost int
	// gateway says that the gateway's device goes as well. With hits without a tunnel that ends all hits: flows stand still until the device is back.
	gateway bool
	// seldom is run by `make suite S=e2e-all` only.
	seldom bool
}

// absentNode is the Node, with what is needed to bring back what was taken away.
type absentNode struct {
	*cluster.Node
	log agentLog
}

// again waits until the agent has sent all its flows.
func (n *absentNode) again(t *testing.T) { n.log.waitFor(t, "Replayed all flows") }

// testOpenVSwitchAway requires that established flows on the fast path do not notice that Open vSwitch is away, for longer than a lease, and how little
// they may lose when it comes back.
func testOpenVSwitchAway(t *testing.T, s *suite) {
	const savedDatabase = ovsRunDir + "/conf.db.saved"
	for _, c := range []absenceCase{
		{
			// Kernel flows also answer probes, but nothing revalidates them or makes new ones.
			name: "VSwitchdIsDead", noticed: "cannot be reached",
			away: func(t *testing.T, n *absentNode) { n.KillVSwitchd() },
			back: func(t *testing.T, n *absentNode) { startVSwitchd(t, n.Node); n.again(t) },
		},
		{
			// For half a minute it looks like a slow one. The kernel's flows answer probes.
			name: "VSwitchdHangs", seldom: true,
			away: func(t *testing.T, n *absentNode) { signalVSwitchd(t, n.Node, "STOP") },
			back: func(t *testing.T, n *absentNode) { signalVSwitchd(t, n.Node, "CONT") },
		},
		{
			name: "OVSDBServerIsDead", seldom: true,
			away: func(t *testing.T, n *absentNode) { n.KillOVSDB() },
			back: func(t *testing.T, n *absentNode) { startOVSDB(t, n.Node) },
		},
		{
			name: "BothDaemonsRestart", seldom: true,
			away: func(t *testing.T, n *absentNode) {
				require.NoError(t, n.RestartOVS(t.Context()))
				n.again(t)
			},
		},
		{
			// The agent looks for them once a second.
			name: "FlowsAreDeleted", seldom: true, maxLost: lostProbes,
			away: func(t *testing.T, n *absentNode) {
				succeeds(t, n.Space, "ovs-ofctl", "del-flows", "br-int")
				n.again(t)
			},
		},
		{
			// ovs-vswitchd deletes the bridge, and with it the kernel's datapath.
			name: "DatabaseIsEmpty", gateway: true, seldom: true, noticed: "cannot be reached", maxLost: lostProbes,
			away: func(t *testing.T, n *absentNode) {
				n.KillOVSDB()
				shell(t, n.Space, "mv "+ovsRunDir+"/conf.db "+savedDatabase+"; rm -f "+ovsRunDir+"/.conf.db.~lock~; ovsdb-tool create "+ovsRunDir+"/conf.db")
				startOVSDB(t, n.Node)
			},
			back: func(t *testing.T, n *absentNode) {
				n.KillVSwitchd()
				n.KillOVSDB()
				shell(t, n.Space, "rm -f "+ovsRunDir+"/.conf.db.~lock~; mv "+savedDatabase+" "+ovsRunDir+"/conf.db")
				startOVSDB(t, n.Node)
				startVSwitchd(t, n.Node)
				n.again(t)
			},
		},
		{
			// Nothing but a new ovs-vswitchd makes it again, with other devices.
			name: "DatapathIsDeleted", gateway: true, noticed: "no datapath", maxLost: lostProbes,
			away: func(t *testing.T, n *absentNode) { succeeds(t, n.Space, "ovs-dpctl", "del-dp", "ovs-system") },
			back: func(t *testing.T, n *absentNode) { n.KillVSwitchd(); startVSwitchd(t, n.Node); n.again(t) },
		},
	} {
		if all || !c.seldom {
			t.Run(c.name, func(t *testing.T) { s.testAbsence(t, &c) })
		}
	}
}

func signalVSwitchd(t *testing.T, n *cluster.Node, signal string) {
	t.Helper()
	shell(t, n.Space, "kill -"+signal+" $(cat "+ovsRunDir+"/ovs-vswitchd.pid)")
}

func (s *suite) testAbsence(t *testing.T, c *absenceCase) {
	a := s.startAbsence(t)
	n := &absentNode{s.node1, followLog(t, s.node1)}
	continues, maxLost := !(c.gateway && s.directHits), c.maxLost
	if !continues {
		maxLost = 1 << 30 // datagrams are lost, nothing of TCP
	}
	a.phases.add("Open vSwitch goes")
	c.away(t, n)
	if c.noticed != "" {
		s.requireHeld(t, c.noticed)
		a.phases.add("the agent holds leases")
	}
	if continues {
		a.requireReceived(t, pastLeases)
	}
	if c.back != nil {
		a.phases.add("Open vSwitch comes back")
		n.log = followLog(t, s.node1)
		c.back(t, n)
	}
	a.phases.add("its flows are there")
	eventually(t, "the agent to find Open vSwitch", func() error {
		if away := oncacheStatus(t, s.node1).OpenVSwitchAway; away != nil {
			return notYet(away.String())
		}
		return nil
	})
	a.phases.add("the agent has found it")
	a.waitFast(t)
	a.requireReceived(t, pastLeases)
	a.end(t, maxLost)
	s.requireConnectivity(t, s.client.Space, s.server.Space, s.server.IP)
}

// requireHeld waits until the first Node's agent says that Open vSwitch is away and leases are held, wherever an operator may look.
func (s *suite) requireHeld(t *testing.T, reason string) {
	t.Helper()
	eventually(t, "leases to be held", func() error {
		switch away := oncacheStatus(t, s.node1).OpenVSwitchAway; {
		case away == nil:
			return notYet("Open vSwitch is there")
		case !strings.Contains(away.Reason, reason): // on a busy machine the connection may end as well
			return notYet(away.String())
		default:
			require.Positive(t, away.HeldSeconds)
			return nil
		}
	})
	text := metrics(t, s.node1)
	for _, line := range []string{"antrea_agent_oncache_open_vswitch_away 1", "antrea_agent_oncache_leases_held 1", `antrea_agent_problem_count{reason="OpenVSwitchAway"} 1`} {
		require.Contains(t, text, line)
	}
	s.requireEvent(t, "OpenVSwitchAway", reason)
}

// absence has flows on the fast path while Open vSwitch is away.
type absence struct {
	s      *suite
	echoes []*cluster.Process
	tcp    []*connection
	pings  []*cluster.Process
	flows  []flow
	phases timeline
}

// startAbsence returns when the fast path carries all flows: UDP on every path, and TCP on the paths of streams. Pings
// have no window, so that each lost one stands for a hundredth of a second.
func (s *suite) startAbsence(t *testing.T) *absence {
	t.Helper()
	a := &absence{s: s}
	for _, server := range []*cluster.Pod{s.far, s.near} {
		a.echoes = append(a.echoes, startEcho(t, server.Space, server.IP))
	}
	for _, p := range streamPaths() {
		c := s.startConnection(t, p)
		a.tcp, a.flows = append(a.tcp, c), append(a.flows, c.tcp)
	}
	for _, p := range everyPath {
		f := s.flowOn(p, "UDP", 4704, udpEchoPort)
		a.flows = append(a.flows, f)
		a.pings = append(a.pings, start(t, s.client.Space, "udp-ping", f.from(), f.to(), fmt.Sprint("--rate=", absenceRate), "--progress=100ms"))
	}
	a.waitFast(t)
	return a
}

func (a *absence) waitFast(t *testing.T) {
	t.Helper()
	a.s.waitFast(t, a.flows...)
}

// requireReceived waits until each flow has received that number of further datagrams.
func (a *absence) requireReceived(t *testing.T, datagrams uint64) {
	t.Helper()
	wanted := make([]uint64, len(a.pings))
	for i, p := range a.pings {
		wanted[i] = lastReceived(p) + datagrams
	}
	for i, p := range a.pings {
		waitReceived(t, p, wanted[i], 2*patience)
	}
}

// end requires that each flow has lost at most maxLost datagrams.
func (a *absence) end(t *testing.T, maxLost int) {
	t.Helper()
	lost := map[string]int{}
	for i, p := range a.pings {
		r := stop[report.Ping](t, p)
		t.Logf("%s: %d of %d datagrams lost, %d a second:\n%s", everyPath[i].name, r.Lost, r.Sent, absenceRate, a.phases.with(r.Losses))
		lost[everyPath[i].name] = r.Lost
		require.Zero(t, r.Duplicated, "%+v", r)
		require.Zero(t, r.Corrupted, "%+v", r)
	}
	for _, c := range a.tcp {
		sent := stop[report.Send](t, c.sender)
		stop[report.Ping](t, c.ping)
		stop[report.Sink](t, c.sink)
		t.Logf("%s: TCP: %d bytes, longest stall %.0f ms", c.path.name, sent.Bytes, sent.Received.LongestStallMs)
		requireIntact(t, sent)
	}
	for _, p := range a.echoes {
		stop[report.Echo](t, p)
	}
	for path, n := range lost {
		require.LessOrEqual(t, n, maxLost, "%s: datagrams lost", path)
	}
}
