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

// mirrorPort is the port to which testCoexistence's mirror sends.
const mirrorPort = "e2e-mirror"

// testCoexistence attaches what other software uses (a shaper, a filter, a capture, a mirror) to the host side of the client's
// interface. While accelerated packets would bypass it, the Pod must use Open vSwitch. It must not lose a packet.
func testCoexistence(t *testing.T, s *suite) {
	device := s.endpoint(t, s.client).InterfaceName
	tc := func(words string) func(*testing.T) {
		return func(t *testing.T) {
			succeeds(t, s.node1.Space, append([]string{"tc"}, strings.Fields(strings.ReplaceAll(words, "DEVICE", device))...)...)
		}
	}
	var capture *cluster.Process
	type foreign struct {
		name       string
		begin, end func(*testing.T)
		reason     string
	}
	shaper := foreign{"Shaper", tc("qdisc add dev DEVICE root tbf rate 1gbit burst 1mb latency 50ms"), tc("qdisc del dev DEVICE root"), "qdisc tbf"}
	others := []foreign{
		{"EgressFilter", func(t *testing.T) {
			tc("qdisc add dev DEVICE clsact")(t)
			tc("filter add dev DEVICE egress prio 1 matchall action ok")(t)
		}, tc("filter del dev DEVICE egress"), "TC filter matchall, priority 1 on egress"},
		{"Capture", func(t *testing.T) {
			capture = startServer(t, s.node1.Space, "capture", "--device="+device, "--outgoing", "--limit=0")
		}, func(t *testing.T) { stop[report.Capture](t, capture) }, "captured"},
		{"Mirror", func(t *testing.T) {
			// A port to which a mirror sends carries nothing else: it must not be the gateway's, which carries the traffic of Nodes without a tunnel.
			succeeds(t, s.node1.Space, "ovs-vsctl", "add-port", "br-int", mirrorPort, "--", "set", "Interface", mirrorPort, "type=internal",
				"--", "--id=@p", "get", "Port", device, "--", "--id=@o", "get", "Port", mirrorPort,
				"--", "--id=@m", "create", "Mirror", "name=e2e", "select_dst_port=@p", "output_port=@o", "--", "set", "Bridge", "br-int", "mirrors=@m")
		}, func(t *testing.T) {
			succeeds(t, s.node1.Space, "ovs-vsctl", "clear", "Bridge", "br-int", "mirrors", "--", "del-port", "br-int", mirrorPort)
		}, "mirror of Open vSwitch"},
	}
	comesAndGoes := func(t *testing.T, r *stream, c foreign) {
		r.waitFastIfGate(t)
		c.begin(t)
		end := once(func() { c.end(t) })
		defer end() // also if this fails, for the areas that follow
		s.waitOnOVS(t, s.client, c.reason)
		before := oncacheStatus(t, s.node1)
		require.Equal(t, 1, before.PodsOnOVS)
		r.requireFlowing(t)
		after := oncacheStatus(t, s.node1)
		require.Equal(t, before.Egress.Hits, after.Egress.Hits)
		require.Equal(t, before.Ingress.Hits, after.Ingress.Hits)
		end()
		r.waitFastIfGate(t)
	}
	t.Run("NothingIsLost", func(t *testing.T) {
		r := s.startStream(t)
		for _, c := range others {
			t.Run(c.name, func(t *testing.T) { comesAndGoes(t, r, c) })
		}
		r.end(t, 0)
	})
	t.Run(shaper.name, func(t *testing.T) {
		r := s.startStream(t)
		comesAndGoes(t, r, shaper)
		r.end(t, streamWindow) // the kernel discards packets that are queued in a qdisc when it is deleted
	})
	t.Run("FilterThatDrops", func(t *testing.T) { testFilterThatDrops(t, s, tc) })
}

func testFilterThatDrops(t *testing.T, s *suite, tc func(words string) func(*testing.T)) {
	startEcho(t, s.server.Space, s.server.IP)
	ping := start(t, s.client.Space, "udp-ping", "--from=:4951", to(s.server.IP, udpEchoPort), "--rate=100", "--progress=100ms")
	s.waitFastIfGate(t, s.flow("UDP", 4951, udpEchoPort))
	tc("filter add dev DEVICE ingress prio 1 matchall action drop")(t)
	eventually(t, "answers to cease", func() error {
		before := lastReceived(ping)
		succeeds(t, s.client.Space, "sleep", "0.5") // 50 packets
		if n := lastReceived(ping) - before; n > 0 {
			return fmt.Errorf("%d answers in half a second", n)
		}
		return nil
	})
	tc("filter del dev DEVICE ingress")(t)
	waitReceived(t, ping, lastReceived(ping)+100, patience)
	s.waitFastIfGate(t, s.flow("UDP", 4951, udpEchoPort))
	stop[report.Ping](t, ping)
}

// endpoint returns what the cache of the Pod's Node knows about a Pod.
func (s *suite) endpoint(t *testing.T, p *cluster.Pod) api.EndpointInfo {
	t.Helper()
	node := s.node1
	if p == s.server {
		node = s.node2
	}
	for _, e := range askAgent[[]api.EndpointInfo](t, node, "/oncache?view=endpoints") {
		if e.Pod == namespace+"/"+p.PodName {
			return e
		}
	}
	require.Fail(t, "the cache does not know the Pod", p.PodName)
	return api.EndpointInfo{}
}

// waitOnOVS waits until a Pod is kept on Open vSwitch for the reason.
func (s *suite) waitOnOVS(t *testing.T, p *cluster.Pod, reason string) {
	t.Helper()
	eventually(t, p.PodName+" to be kept on Open vSwitch", func() error {
		if e := s.endpoint(t, p); !strings.Contains(e.OnOVS, reason) {
			return fmt.Errorf("the reason is %q, want %q", e.OnOVS, reason)
		}
		return nil
	})
}
