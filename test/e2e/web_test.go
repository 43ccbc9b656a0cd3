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
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

const (
	webPort = 8081
	// webConnections stay open for all requests, and webPackets is how many packets those to the other Node have together, at least.
	webConnections = 16
	webPackets     = 20000
)

// testWebServersOnBothNodes makes requests to a Service with an Endpoint on each Node, over long connections, with wrk. Of the packets of
// connections to the other Node, and of those within the client's, leastFast must take it at both ends.
func testWebServersOnBothNodes(t *testing.T, s *suite) {
	for _, pod := range []*cluster.Pod{s.far, s.near} {
		startWebServer(t, pod)
	}
	ports := []servicePort{{corev1.ProtocolTCP, 80, webPort}}
	web := netip.AddrPortFrom(s.makeService(t, "web", []netip.Addr{s.client.IP}, ports)[0], 80)
	s.publish(t, "web", ports, endpoint{s.far.IP, s.node2}, endpoint{s.near.IP, s.node1})
	far, near := netip.AddrPortFrom(s.far.IP, webPort), netip.AddrPortFrom(s.near.IP, webPort)
	s.waitServiceFlows(t, "web", far.String(), near.String())

	m, hits := s.measure(t), oncacheStatus(t, s.node1).Egress.Hits
	wrk, err := s.client.Start("nice", "wrk", "--threads=1", fmt.Sprint("--connections=", webConnections), "--duration=10m", "--timeout=30s", fmt.Sprintf("http://%s/", web))
	require.NoError(t, err)
	t.Cleanup(wrk.Kill)
	// Each connection has a probe per direction and lease, so on a slow machine these are more than the first packets.
	eventuallyWithin(t, 3*execTimeout, "long connections on the fast path", func() error {
		select {
		case <-wrk.Done():
			require.Fail(t, "wrk has ended", "%s%s", wrk.Stdout(), wrk.Stderr())
		default:
		}
		if err := s.webIsFast(t, m, web, far); err != nil {
			return err
		}
		// All packets of the Node's Pods are those of wrk and of the server there.
		return m.share(t, "Pods of "+s.node1.Name, oncacheStatus(t, s.node1).Egress.Hits-hits, missedPackets(t, s.node1)-m.missed)
	})
	require.NoError(t, wrk.Signal(syscall.SIGINT))
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	require.NoError(t, wrk.Wait(ctx))
	t.Log(wrk.Stdout())
	require.Contains(t, wrk.Stdout(), "Requests/sec")
	require.NotContains(t, wrk.Stdout(), "Socket errors")
	require.NotContains(t, wrk.Stdout(), "Non-2xx")
}

// webIsFast says what is wrong with the connections to the Endpoint on the other Node. Nothing else may have used the tunnel since the
// measurement.
func (s *suite) webIsFast(t *testing.T, m *measurement, web, far netip.AddrPort) error {
	t.Helper()
	for _, n := range s.Nodes {
		flows, err := tryAntctl[[]api.FlowInfo](t, n, "get", "oncache", "flows", "--ip="+far.Addr().String())
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
		if connections == 0 || connections >= webConnections || fast < webPackets {
			return notYet(fmt.Sprintf("%s has %d connections to the other Node's Endpoint, with %d packets", n.Name, connections, fast))
		}
		sent, received := devicePackets(t, n, s.tunnelDevice())
		what := fmt.Sprintf("%s: %d of %d connections to %s", n.Name, connections, webConnections, web)
		if err := m.share(t, what, fast, sent-m.sent[n]+received-m.received[n]); err != nil {
			return err
		}
	}
	return nil
}

// startWebServer makes a Pod answer HTTP requests until the test ends.
func startWebServer(t *testing.T, pod *cluster.Pod) {
	t.Helper()
	var l net.Listener
	require.NoError(t, pod.Do(func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(pod.IP, webPort).String())
		return err
	}))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", 100)))
	})}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
}
