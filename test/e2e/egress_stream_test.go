// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// The ports outside the cluster of the streams of testEgressStream, and of its short connections.
const (
	remoteStreamPort = 5101
	localStreamPort  = 5102
	shortPort        = 5103
)

// egressStream is a TCP connection to the outside of a Pod with an Egress, beside short connections one after the other.
type egressStream struct {
	sender, sink, short *cluster.Process
}

// testEgressStream: TCP connections to the outside survive that agents and Open vSwitch of both Nodes end in all ways. The Egress has no pool: its address
// stays where it is. No packet of them, nor of connections that are opened in that time, has another source than the Egress's.
func testEgressStream(t *testing.T, s *suite) {
	addr := s.egressAddress(203)
	addAddress(t, s.node2, addr)
	e := s.createStaticEgress(t, "stream", "stream", addr)
	e.eventuallyOn(t, s.node2, addr)
	outside := s.askWhoOutside(t)
	for _, pod := range []*cluster.Pod{s.client, s.far} {
		s.label(t, pod, map[string]string{"egress": "stream"})
		defer s.label(t, pod, nil)
		s.eventuallySeenAs(t, pod.Space, outside, addr)
	}
	startServer(t, s.Internet, "crr-server", "--listen="+netip.AddrPortFrom(outside.Addr(), shortPort).String(), "--concurrent")
	var others []*cluster.Process
	for _, port := range []int{remoteStreamPort, localStreamPort, shortPort} {
		others = append(others, startServer(t, s.Internet, "capture", "--proto=tcp", fmt.Sprint("--port=", port), "--not-source="+addr.String()))
	}
	streams := map[string]*egressStream{
		"remote": s.startEgressStream(t, s.client, remoteStreamPort), "local": s.startEgressStream(t, s.far, localStreamPort),
	}
	flowing := func(event string) {
		for name, stream := range streams {
			began := time.Now()
			waitReceived(t, stream.sink, lastReceived(stream.sink), 2*time.Minute)
			waitReceived(t, stream.short, lastReceived(stream.short), 2*time.Minute)
			t.Logf("%s: the %s Pod's connections flow after %s", event, name, time.Since(began).Round(time.Millisecond))
		}
	}
	flowing("at first")
	for _, event := range s.endings() {
		for _, n := range s.Nodes {
			event.happens(t, n)
			flowing(event.name + " on " + n.Name)
		}
	}
	for name, stream := range streams {
		requireIntact(t, stop[report.Send](t, stream.sender))
		stop[report.Sink](t, stream.sink)
		short := stop[report.RR](t, stream.short)
		t.Logf("%s: %d short connections, %d failed", name, short.Transactions, short.Lost)
	}
	for _, capture := range others {
		captured := stop[report.Capture](t, capture)
		require.Zero(t, captured.Matched, "packets with another source than %s: %+v", addr, captured.Packets[:min(20, len(captured.Packets))])
	}
}

// startEgressStream starts the connections of a Pod: a stream with little data, because only its survival matters.
func (s *suite) startEgressStream(t *testing.T, pod *cluster.Pod, port uint16) *egressStream {
	t.Helper()
	stream := &egressStream{sink: startServer(t, s.Internet, "tcp-sink", fmt.Sprintf("--listen=:%d", port), "--progress=100ms")}
	stream.sender = start(t, pod.Space, "tcp-send", to(s.internet(), port), "--rate=50000")
	stream.short = start(t, pod.Space, "crr", to(s.internet(), shortPort), "--duration=0", "--tolerant", "--rate=20", "--timeout=2s", "--progress=100ms")
	return stream
}

// ending is a way in which programs of a Node end and come back.
type ending struct {
	name    string
	happens func(*testing.T, *cluster.Node)
}

// endings has agents end in order and crash, and Open vSwitch in the same ways.
func (s *suite) endings() []ending {
	back := func(t *testing.T, n *cluster.Node) {
		t.Helper()
		s.startAgent(t, n)
		s.waitRoundsComplete(t)
	}
	replayed := func(t *testing.T, n *cluster.Node, restart func()) {
		t.Helper()
		log := followLog(t, n)
		restart()
		log.waitFor(t, "Replayed all flows")
	}
	return []ending{
		{"the agent's end", func(t *testing.T, n *cluster.Node) {
			require.NoError(t, n.StopAgent())
			back(t, n)
		}},
		{"the agent's death", func(t *testing.T, n *cluster.Node) {
			require.NoError(t, n.KillAgent())
			back(t, n)
		}},
		{"Open vSwitch's restart", func(t *testing.T, n *cluster.Node) {
			replayed(t, n, func() { require.NoError(t, n.RestartOVS(t.Context())) })
		}},
		{"ovs-vswitchd's death", func(t *testing.T, n *cluster.Node) {
			replayed(t, n, func() {
				n.KillVSwitchd()
				startVSwitchd(t, n)
			})
		}},
	}
}
