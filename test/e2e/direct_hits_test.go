// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// runDirectHits tests hits without the tunnel. The hosts drop what does not fit into the connections that they know.
func (s *suite) runDirectHits(t *testing.T) {
	if !s.directHits {
		return
	}
	s.requireReach(t, "") // hits in the tunnel would pass all of this
	defer dropInvalid(t, s.Nodes...)()
	s.run(t,
		area{"HostConntrack", testHostConntrack},
		area{"HostRules", testHostRules},
		area{"PausedRevalidators", testPausedRevalidators},
		area{"FastPath", testFastPath},
		area{"ConnectionEnd", testConnectionEnd},
		area{"NetworkPolicy", testNetworkPolicy},
		area{"ConntrackLiveness", testConntrackLiveness},
		area{"ConntrackState", testConntrackState},
		area{"NextHop", testNextHop},
	)
	s.over(t, []*path{throughService}, area{"FastPath", testFastPath}, area{"ConnectionEnd", testConnectionEnd})
}

// dropInvalid makes the hosts treat packets that they forward as with kube-proxy and docker, until undo is called: they drop what no rule accepts, and
// before that what does not fit into the connection that they know.
func dropInvalid(t *testing.T, nodes ...*cluster.Node) (undo func()) {
	t.Helper()
	set := func(policy, operation string) {
		for _, n := range nodes {
			succeeds(t, n.Space, "iptables", "-P", "FORWARD", policy)
			succeeds(t, n.Space, "iptables", operation, "FORWARD", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP")
		}
	}
	set("DROP", "-I")
	return func() { set("ACCEPT", "-D") }
}

// testHostConntrack: the hosts also know the connections that the cache carries past them, and keep an idle one as long as any other open one.
func testHostConntrack(t *testing.T, s *suite) {
	startServer(t, s.server.Space, "tcp-echo", fmt.Sprintf("--listen=%s", netip.AddrPortFrom(s.server.IP, idlePort)))
	f := s.flow("TCP", 0, idlePort)
	client := start(t, s.client.Space, "rr", f.to(), "--duration=5m")
	f.client = netip.AddrPortFrom(f.client.Addr(), localPort(t, client))
	s.waitFast(t, f)
	require.NoError(t, client.Signal(syscall.SIGSTOP))
	for _, n := range s.nodesOf(f) {
		eventually(t, "the host "+n.Name+" to keep an idle connection for days", func() error {
			e, ok := hostConntrackOf(t, n, f)
			if !ok || e.state != "ESTABLISHED" || e.left < longTimeout {
				return notYet(fmt.Sprintf("entry: %v %s", ok, e.line))
			}
			return nil
		})
	}
	require.NoError(t, client.Signal(syscall.SIGCONT))
	s.waitFast(t, f)
	require.Positive(t, stop[report.RR](t, client).Transactions)
	for _, n := range s.nodesOf(f) {
		eventually(t, "the host "+n.Name+" to see the end", func() error {
			if e, ok := hostConntrackOf(t, n, f); ok && e.left > closedTimeout {
				return notYet(e.line)
			}
			return nil
		})
	}
}

// testNextHop gives the other Node another MAC address under traffic: the flows are learned again, with that.
func testNextHop(t *testing.T, s *suite) {
	former := macOf(t, s.node2.Space, cluster.Uplink)
	r := s.startStream(t)
	r.waitFastIfGate(t)
	for _, mac := range []string{"02:00:00:77:00:12", former} {
		evicted := oncacheStatus(t, s.node1).Evictions.Node
		succeeds(t, s.node2.Space, "ip", "link", "set", "dev", cluster.Uplink, "address", mac)
		succeeds(t, s.node1.Space, "ip", "neigh", "flush", "to", s.node2.IP.String())
		eventually(t, "the former next hop's flows to be evicted", func() error {
			if oncacheStatus(t, s.node1).Evictions.Node == evicted {
				return notYet("no eviction of a Node")
			}
			return nil
		})
		r.requireFlowing(t)
		r.waitFastIfGate(t)
		s.requireWay(t, true, func() { r.requireFlowing(t) })
	}
	r.end(t, 1<<30) // packets to the former address are lost; TCP has lost nothing
}
