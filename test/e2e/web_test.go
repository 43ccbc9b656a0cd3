// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

const (
	webPort = 8081
	// webConnections stay open for all requests, and webPackets is the least number of packets of the connections to
	// the other Node together. Each connection has two probes per lease, whatever else it carries, so more connections
	// would only show how slow an emulated machine is: 16 of them share 700 packets a second there, of which the probes
	// are 1.2 %.
	webConnections = 4
	webPackets     = 20000
)

// testWebServersOnBothNodes makes requests to a Service with an Endpoint on each Node, over long connections, with wrk. Of the packets of
// connections to the other Node, and of those within the client's, leastFast must take it at both ends.
func testWebServersOnBothNodes(t *testing.T, s *suite) {
	far, near := startWebServer(t, s.far), startWebServer(t, s.near)
	ports := []servicePort{{corev1.ProtocolTCP, 80, webPort}}
	web := netip.AddrPortFrom(s.makeService(t, "web", []netip.Addr{s.client.IP}, ports)[0], 80)
	s.publish(t, "web", ports, endpoint{s.far.IP, s.node2}, endpoint{s.near.IP, s.node1})
	s.waitServiceFlows(t, "web", far.String(), near.String())

	m, hits, wrk, toFar := s.startWrk(t, web, far, near)
	eventuallyWithin(t, 3*execTimeout, "long connections on the fast path", func() error {
		select {
		case <-wrk.Done():
			require.Fail(t, "wrk has ended", "%s%s", wrk.Stdout(), wrk.Stderr())
		default:
		}
		if err := s.webIsFast(t, m, web, far.address, toFar); err != nil {
			return err
		}
		// All packets of the Node's Pods belong to wrk and the server there.
		return m.share(t, "Pods of "+s.node1.Name, oncacheStatus(t, s.node1).Egress.Hits-hits, missedPackets(t, s.node1)-m.missed)
	})
	endWrk(t, wrk)
	t.Log(wrk.Stdout())
	require.Contains(t, wrk.Stdout(), "Requests/sec")
	require.NotContains(t, wrk.Stdout(), "Socket errors")
	require.NotContains(t, wrk.Stdout(), "Non-2xx")
}

// startWrk starts wrk with connections to both servers, toFar of them to the first one, after a measurement of the Nodes and of the hits of
// the client's. Open vSwitch balances them at random, so wrk starts again when all are to one server.
func (s *suite) startWrk(t *testing.T, web netip.AddrPort, far, near *webServer) (m *measurement, hits uint64, wrk *cluster.Process, toFar int) {
	t.Helper()
	connections := func(want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d connections with requests", want), func() error {
			if toFar = far.clients(); toFar+near.clients() != want {
				return notYet(fmt.Sprintf("%d to %s and %d to %s", toFar, far, near.clients(), near))
			}
			return nil
		})
	}
	for {
		connections(0)
		m, hits = s.measure(t), oncacheStatus(t, s.node1).Egress.Hits
		wrk, err := s.client.Start("nice", "wrk", "--threads=1", fmt.Sprint("--connections=", webConnections), "--duration=10m", "--timeout=30s", fmt.Sprintf("http://%s/", web))
		require.NoError(t, err)
		t.Cleanup(wrk.Kill)
		connections(webConnections)
		if toFar > 0 && toFar < webConnections {
			return m, hits, wrk, toFar
		}
		endWrk(t, wrk)
	}
}

func endWrk(t *testing.T, wrk *cluster.Process) {
	t.Helper()
	require.NoError(t, wrk.Signal(syscall.SIGINT))
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	require.NoError(t, wrk.Wait(ctx))
}

// webIsFast says what is wrong with the connections to the Endpoint on the other Node, of which there are toFar. Nothing else may have used
// the tunnel since the measurement.
func (s *suite) webIsFast(t *testing.T, m *measurement, web, far netip.AddrPort, toFar int) error {
	t.Helper()
	for _, n := range s.Nodes {
		flows, err := tryAskAgent[[]api.FlowInfo](t, n, "/oncache?view=flows&ip="+far.Addr().String())
		if err != nil {
			return err
		}
		connections, fast := 0, uint64(0)
		for _, f := range flows {
			if f.Source == far.String() || f.Destination == far.String() || f.Translated == far.String() {
				connections, fast = connections+1, fast+f.Packets
			}
		}
		connections /= 2 // each has two directions
		if connections != toFar || fast < webPackets {
			return notYet(fmt.Sprintf("%s has %d connections of %d to the other Node's Endpoint, with %d packets of %d", n.Name, connections, toFar, fast, webPackets))
		}
		sent, received := s.slowPackets(t, n)
		what := fmt.Sprintf("%s: %d of %d connections to %s", n.Name, connections, webConnections, web)
		if err := m.share(t, what, fast, sent-m.sent[n]+received-m.received[n]); err != nil {
			return err
		}
	}
	return nil
}

// webServer answers HTTP requests.
type webServer struct {
	address netip.AddrPort
	mu      sync.Mutex
	open    map[net.Conn]struct{} // that have had a request
}

func (w *webServer) String() string { return w.address.String() }

// clients is the number of open connections that have had a request. wrk also opens one without.
func (w *webServer) clients() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

func (w *webServer) connState(c net.Conn, state http.ConnState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch state {
	case http.StateActive:
		w.open[c] = struct{}{}
	case http.StateClosed:
		delete(w.open, c)
	}
}

// startWebServer makes a Pod answer HTTP requests until the test ends.
func startWebServer(t *testing.T, pod *cluster.Pod) *webServer {
	t.Helper()
	web := &webServer{address: netip.AddrPortFrom(pod.IP, webPort), open: map[net.Conn]struct{}{}}
	var l net.Listener
	require.NoError(t, pod.Do(func() (err error) {
		l, err = net.Listen("tcp", web.String())
		return err
	}))
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat("x", 100)))
		}),
		ConnState: web.connState,
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	return web
}
