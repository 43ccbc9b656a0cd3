// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// askInside starts servers in both Pods with an Egress and on both Nodes. It returns a function that connects the Pods to them, also through a
// Service, and returns the sources that they see.
func (s *suite) askInside(t *testing.T) func(*testing.T) map[string]netip.Addr {
	t.Helper()
	spaces := map[string]*cluster.Space{"client": s.client.Space, "far": s.far.Space, "node1": s.node1.Space, "node2": s.node2.Space}
	for name, space := range spaces {
		startAnswering(t, space, name)
	}
	service := s.createClusterIP(t, "inside", corev1.ProtocolTCP)
	s.setEndpoint(t, "inside", corev1.ProtocolTCP, s.node2, netip.AddrPortFrom(s.far.IP, serverPort))
	targets := map[string]netip.AddrPort{"service": service}
	for name, addr := range map[string]netip.Addr{"client": s.client.IP, "far": s.far.IP, "node1": s.node1.IP, "node2": s.node2.IP} {
		targets[name] = netip.AddrPortFrom(addr, serverPort)
	}
	return func(t *testing.T) map[string]netip.Addr {
		t.Helper()
		sources := map[string]netip.Addr{}
		for _, way := range [][2]string{
			{"client", "far"}, {"client", "service"}, {"client", "node1"}, {"client", "node2"}, {"far", "client"}, {"far", "node1"}, {"far", "node2"},
		} {
			a, err := ask(spaces[way[0]], targets[way[1]])
			require.NoError(t, err, "from %s to %s", way[0], way[1])
			sources[way[0]+" to "+way[1]] = a.client
		}
		return sources
	}
}

// sentTTL is the TTL of what Pods send, and routersOutside the number of routers on the way to the host outside the cluster: the Node with the Egress
// address, and the router of the physical network.
const (
	sentTTL        = 64
	routersOutside = 2
)

// testHeaders: packets of all protocols have the address outside, and their TTL does not tell how many Nodes they have passed.
func (e *egressArea) testHeaders(t *testing.T) {
	for _, pod := range []*cluster.Pod{e.client, e.far} {
		capture := startServer(t, e.Internet, "capture", "--source="+e.addr.String())
		pingICMP(t, pod.Space, e.outside.Addr())
		require.Equal(t, e.addr, seenAs(t, pod.Space, e.outside))
		protocols := map[uint8]int{}
		for _, p := range stop[report.Capture](t, capture).Packets {
			protocols[p.Protocol]++
			require.EqualValues(t, sentTTL-routersOutside, p.TTL, "of a packet of %s: %+v", pod.Name, p)
		}
		icmp := uint8(1)
		if e.ipv6 {
			icmp = 58
		}
		for _, protocol := range []uint8{icmp, 6, 17} {
			require.Positive(t, protocols[protocol], "packets of protocol %d of %s in %v", protocol, pod.Name, protocols)
		}
	}
}

// testNeverCached: the steady flows to the outside have no entry in the cache that has carried a packet.
func (e *egressArea) testNeverCached(t *testing.T) {
	if !e.oncache {
		t.Skip("there is no cache")
	}
	for _, n := range e.Nodes {
		for _, f := range askAgent[[]api.FlowInfo](t, n, "/oncache?view=flows") {
			outside := strings.Contains(f.Source+" "+f.Destination, e.outside.Addr().String())
			require.False(t, outside && f.Packets > 0, "on %s: %+v", n.Name, f)
		}
	}
}

// testExceptions: with the outside in egress.exceptCIDRs of one Node, which does not have the address, Pods of that Node have its address there,
// also if they sent before. The parts that follow lead their packets through that Node again.
func (e *egressArea) testExceptions(t *testing.T) {
	set := func(networks ...string) {
		require.NoError(t, e.node1.WriteAgentConfig(func(conf map[string]any) {
			if delete(conf, "egress"); len(networks) > 0 {
				conf["egress"] = map[string]any{"exceptCIDRs": networks}
			}
		}))
		e.restartAgent(t, e.node1)
	}
	set(netip.PrefixFrom(e.outside.Addr(), e.outside.Addr().BitLen()).String())
	restored := false
	defer func() {
		if !restored {
			set()
		}
	}()
	e.eventuallySeenAs(t, e.client.Space, e.outside, e.node1.IP)
	require.Equal(t, e.addr, seenAs(t, e.far.Space, e.outside), "the other Node has no exception")
	restored = true
	set()
	e.eventuallySeen(t, e.addr)
	e.remote.eventuallyFrom(t, e.addr)
}

// testAddressMoves: while no Node has the address nothing leaves with another one. When the other Node gets it, the status and the sources follow.
func (e *egressArea) testAddressMoves(t *testing.T) {
	e.forget()
	for _, to := range []*cluster.Node{e.node1, e.node2} {
		e.removeAddress()
		e.eventuallyLost(t)
		e.removeAddress = addAddress(e.area, to, e.addr)
		requireWithin(t, moveLimit, e.eventuallyOn(t, to, e.addr), "status of "+to.Name)
		e.eventuallySeen(t, e.addr)
	}
	e.requireOnly(t, e.addr)
}

// testOldestIsDeleted: when the Egress that decides is deleted, another Egress of the same Pods decides, and no packet has the address of a Node in between.
func (e *egressArea) testOldestIsDeleted(t *testing.T) {
	other := e.egressAddress(202)
	addAddress(e.area, e.node1, other)
	second := e.createStaticEgress(e.area, "e2e-second", "e2e", other)
	second.eventuallyOn(t, e.node1, other)
	e.eventuallySeen(t, e.addr)
	e.forget()
	e.delete()
	e.eventuallySeenOf(t, other, e.addr)
	e.local.eventuallyFrom(t, other)
	e.remote.eventuallyFrom(t, other)
	e.requireOnly(t, e.addr, other)
	e.staticEgress, e.addr = second, other
}

func (e *egressArea) forget() {
	e.local.forget()
	e.remote.forget()
}

// requireOnly requires that the steady flows had these sources only since forget.
func (e *egressArea) requireOnly(t *testing.T, allowed ...netip.Addr) {
	t.Helper()
	e.local.requireOnly(t, "sources of "+e.far.Name, allowed...)
	e.remote.requireOnly(t, "sources of "+e.client.Name, allowed...)
}

// eventuallyLost waits until connections of both Pods fail. Until then they have the address.
func (e *egressArea) eventuallyLost(t *testing.T) {
	t.Helper()
	for _, pod := range []*cluster.Pod{e.client, e.far} {
		eventually(t, "connections of "+pod.Name+" to fail", func() error {
			source, err := whoAmI(pod.Space, e.outside, time.Second)
			if err != nil {
				return nil
			}
			require.Equal(t, e.addr, source, "of %s", pod.Name)
			return fmt.Errorf("a connection has the source %s", source)
		})
	}
}

// eventuallySeenOf waits until new connections of both Pods have a source. Until then they have the former one, or fail.
func (e *egressArea) eventuallySeenOf(t *testing.T, want, former netip.Addr) {
	t.Helper()
	for _, pod := range []*cluster.Pod{e.client, e.far} {
		eventually(t, fmt.Sprintf("connections of %s to have the source %s", pod.Name, want), func() error {
			source, err := whoAmI(pod.Space, e.outside, time.Second)
			if err != nil || source == want {
				return err
			}
			require.Equal(t, former, source, "of %s", pod.Name)
			return fmt.Errorf("it is %s", source)
		})
	}
}
