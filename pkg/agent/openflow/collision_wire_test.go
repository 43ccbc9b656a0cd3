// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// TestWireCollidingConnections: a Pod opens connections to an Endpoint and to Services in front of it, all from one port. Behind the translation they have
// the same addresses and ports. All work: the later ones get another source port.
func TestWireCollidingConnections(t *testing.T) { eachDatapath(t, testCollidingConnections) }

func testCollidingConnections(t *testing.T, w *wire) {
	const service, second, endpoint = "10.96.0.10:80", "10.96.0.11:80", "10.10.1.20:8080"
	for _, test := range []struct {
		name      string
		port      openflow.ServicePort
		to        uint32
		client    string
		endpoint  string
		frontends []string
	}{
		{"Service, then Endpoint", oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.TunnelPort, "10.10.0.11:3001", endpoint, []string{service, endpoint}},
		{"Endpoint, then Service", oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.TunnelPort, "10.10.0.11:3101", endpoint, []string{endpoint, service}},
		{"two Services, then Endpoint", oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.At(
			openflow.Frontend{Address: netip.MustParseAddrPort(service)}, openflow.Frontend{Address: netip.MustParseAddrPort(second)})),
			oftest.TunnelPort, "10.10.0.11:3201", endpoint, []string{service, second, endpoint}},
		{"Service, then Endpoint on this Node", oftest.ClusterPort(oftest.LocalEndpointB), oftest.PodBPort, "10.10.0.11:3301", "10.10.0.12:8080", []string{service, "10.10.0.12:8080"}},
		{"IPv6: Service, then Endpoint", oftest.ClusterPort6(oftest.RemoteEndpoint6), oftest.TunnelPort, "[fd00:10:0:a::11]:3401", "[fd00:10:0:b::20]:8080",
			[]string{"[fd00:96::10]:80", "[fd00:10:0:b::20]:8080"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.T = t
			w.install(test.port)
			var opened []translated
			for i, frontend := range test.frontends {
				c := w.openAs(translated{oftest.PodAPort, test.to, test.client, frontend, "", test.endpoint})
				require.Equal(t, i == 0, c.source == c.client, "%v", c)
				opened = append(opened, c)
			}
			for _, c := range opened {
				w.useDirectly(c)
			}
			require.NoError(t, w.C.UninstallService(test.port.Name))
		})
	}
}

// openAs opens a connection that gets any source port, and returns it with its source.
func (w *wire) openAs(c translated) translated {
	w.T.Helper()
	if c.isSwitched() {
		defer addressDirectly(c.clientPort, c.serverPort)()
	}
	w.send(c.clientPort, segment{c.client, c.frontend, "S"})
	got := w.next(c.serverPort)
	c.source = got.src
	require.Equal(w.T, segment{c.source, c.endpoint, "S"}, got.segment)
	require.Equal(w.T, netip.MustParseAddrPort(c.client).Addr(), netip.MustParseAddrPort(c.source).Addr())
	w.pass(c.serverPort, segment{c.endpoint, c.source, "SA"}, c.clientPort, segment{c.frontend, c.client, "SA"})
	return c
}

// useDirectly is use, also between Pods of this Node.
func (w *wire) useDirectly(c translated) {
	w.T.Helper()
	if c.isSwitched() {
		defer addressDirectly(c.clientPort, c.serverPort)()
	}
	w.use(c)
}

// TestWireCollidingConnectionsToAnotherCluster: the same through an imported Service and to the Service itself, which the gateway's address is given to.
func TestWireCollidingConnectionsToAnotherCluster(t *testing.T) {
	clusters := newClusters(t)
	here, there := clusters[0], clusters[1]
	const imported, original = "10.101.0.9:80", "10.102.0.9:80"
	here.install("imported", imported, true, original)
	endpoint := withPort(podOf(gatewayNode), 8080)
	there.install("web", original, false, endpoint)
	for i, frontends := range [][]string{{imported, original}, {original, imported}} {
		for _, client := range []byte{gatewayNode, rimNode} {
			t.Run(fmt.Sprintf("from Node %d to %s, then %s", client, frontends[0], frontends[1]), func(t *testing.T) {
				source := withPort(podOf(client), 4000+100*int(client)+200*i)
				out, back := route(here, client, there, gatewayNode), route(there, gatewayNode, here, client)
				seen := map[string]string{}
				for _, frontend := range frontends {
					arrived := travel(t, segment{source, frontend, "S"}, out)
					require.NotContains(t, seen, arrived.src, "%s: the server takes two connections for one", frontend)
					seen[arrived.src] = frontend
					require.Equal(t, segment{frontend, source, "SA"}, travel(t, segment{endpoint, arrived.src, "SA"}, back))
				}
				for arrived, frontend := range seen {
					require.Equal(t, segment{arrived, endpoint, "A"}, travel(t, segment{source, frontend, "A"}, out))
				}
			})
		}
	}
}
