// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Connections through Services, with real packets.
func TestWireServiceConnections(t *testing.T) { eachDatapath(t, testServiceConnections) }

func testServiceConnections(t *testing.T, w *wire) {
	require.NoError(t, w.C.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}))
	for _, test := range []struct {
		name string
		port openflow.ServicePort
		translated
	}{
		{"to a Pod on this Node", oftest.ClusterPort(oftest.LocalEndpointB), translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}},
		{"to a remote Pod", oftest.ClusterPort(oftest.ElsewhereEndpoint), translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:3002", "10.96.0.10:80", "10.10.0.11:3002", "10.10.1.20:8080"}},
		{"to itself", oftest.ClusterPort(oftest.LocalEndpoint), translated{oftest.PodAPort, oftest.PodAPort, "10.10.0.11:3003", "10.96.0.10:80", "10.10.0.1:3003", "10.10.0.11:8080"}},
		{"to another host", oftest.ClusterPort(oftest.HostEndpoint), translated{oftest.PodAPort, oftest.GWPort, "10.10.0.11:3004", "10.96.0.10:80", "10.10.0.11:3004", "192.168.77.103:6443"}},
		{"IPv6, to a Pod on this Node", oftest.ClusterPort6(openflow.Endpoint{Address: netip.AddrPortFrom(oftest.PodB6IP, 8080), OnThisNode: true, PodNetwork: true}),
			translated{oftest.PodAPort, oftest.PodBPort, "[fd00:10:0:a::11]:3001", "[fd00:96::10]:80", "[fd00:10:0:a::11]:3001", "[fd00:10:0:a::12]:8080"}},
		{"IPv6, to a remote Pod", oftest.ClusterPort6(oftest.RemoteEndpoint6),
			translated{oftest.PodAPort, oftest.TunnelPort, "[fd00:10:0:a::11]:3002", "[fd00:96::10]:80", "[fd00:10:0:a::11]:3002", "[fd00:10:0:b::20]:8080"}},
		{"IPv6, to itself", oftest.ClusterPort6(oftest.LocalEndpoint6),
			translated{oftest.PodAPort, oftest.PodAPort, "[fd00:10:0:a::11]:3003", "[fd00:96::10]:80", "[fd00:10:0:a::1]:3003", "[fd00:10:0:a::11]:8080"}},
		{"from the Node, to a Pod", oftest.ClusterPort(oftest.LocalEndpoint), translated{oftest.GWPort, oftest.PodAPort, "10.10.0.1:3005", "10.96.0.10:80", "10.10.0.1:3005", "10.10.0.11:8080"}},
		{"from the Node, to a remote Pod", oftest.ClusterPort(oftest.ElsewhereEndpoint), translated{oftest.GWPort, oftest.TunnelPort, "10.10.0.1:3006", "10.96.0.10:80", "10.10.0.1:3006", "10.10.1.20:8080"}},
		{"from the Node, to another host", oftest.ClusterPort(oftest.HostEndpoint), translated{oftest.GWPort, oftest.GWPort, "10.10.0.1:3007", "10.96.0.10:80", "169.254.0.253:3007", "192.168.77.103:6443"}},
		{"from outside, through a NodePort, to a Pod", oftest.With(oftest.ExternalLocal(), oftest.ServedLocally(oftest.LocalEndpoint)),
			translated{oftest.GWPort, oftest.PodAPort, "198.51.100.7:3008", "192.168.77.101:30080", "198.51.100.7:3008", "10.10.0.11:8080"}},
		{"the same, translated by the host", oftest.With(oftest.ExternalLocal(), oftest.ServedLocally(oftest.LocalEndpoint)),
			translated{oftest.GWPort, oftest.PodAPort, "198.51.100.7:3009", "169.254.0.252:30080", "198.51.100.7:3009", "10.10.0.11:8080"}},
		{"from outside, to a remote Pod", oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP, External: true})),
			translated{oftest.GWPort, oftest.TunnelPort, "198.51.100.7:3010", "203.0.113.10:80", "10.10.0.1:3010", "10.10.1.20:8080"}},
		{"from outside, to another host", oftest.With(oftest.ClusterPort(oftest.HostEndpoint), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP, External: true})),
			translated{oftest.GWPort, oftest.GWPort, "198.51.100.7:3011", "203.0.113.10:80", "169.254.0.253:3011", "192.168.77.103:6443"}},
		{"from a Pod, to the Node's Endpoints only by name", oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP, External: true, Local: true})),
			translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:3012", "203.0.113.10:80", "10.10.0.11:3012", "10.10.1.20:8080"}},
		{"with affinity, to a Pod on this Node", oftest.With(oftest.ClusterPort(oftest.LocalEndpointB), oftest.WithAffinity(time.Hour)),
			translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3013", "10.96.0.10:80", "10.10.0.11:3013", "10.10.0.12:8080"}},
		{"IPv6, with affinity, to a remote Pod", oftest.With(oftest.ClusterPort6(oftest.RemoteEndpoint6), oftest.WithAffinity(time.Hour)),
			translated{oftest.PodAPort, oftest.TunnelPort, "[fd00:10:0:a::11]:3014", "[fd00:96::10]:80", "[fd00:10:0:a::11]:3014", "[fd00:10:0:b::20]:8080"}},
		// Where there are several Endpoints, the datapath hashes packets.
		{"to itself, of several", oftest.ClusterPort(oftest.LocalEndpoint, oftest.LocalEndpoint),
			translated{oftest.PodAPort, oftest.PodAPort, "10.10.0.11:3015", "10.96.0.10:80", "10.10.0.1:3015", "10.10.0.11:8080"}},
		{"with affinity, of several", oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint, oftest.ElsewhereEndpoint), oftest.WithAffinity(time.Hour)),
			translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:3016", "10.96.0.10:80", "10.10.0.11:3016", "10.10.1.20:8080"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.T = t
			w.install(test.port)
			w.open(test.translated)
			udp := oftest.With(test.port, oftest.Over(corev1.ProtocolUDP), oftest.Named("udp"))
			w.install(udp)
			w.datagrams(test.translated)
			require.NoError(t, w.C.UninstallService(udp.Name))
			require.NoError(t, w.C.UninstallService(test.port.Name))
			w.settle()
			w.use(test.translated)
		})
	}
}

// Source ranges are about one address of the Service, also for clients with an affinity from before.
func TestWireSourceRanges(t *testing.T) { eachDatapath(t, testSourceRanges) }

func testSourceRanges(t *testing.T, w *wire) {
	const admitted, refused = "198.51.100.7", "198.51.101.7"
	port := oftest.With(oftest.Restricted("198.51.100.0/24"), oftest.ServedLocally(oftest.LocalEndpoint), oftest.WithAffinity(time.Hour))
	w.install(port)
	from := func(client string, number int) segment {
		return segment{fmt.Sprintf("%s:%d", client, number), oftest.LoadBalancerIP.String(), "S"}
	}
	arrives := func(client string, number int) {
		t.Helper()
		w.pass(oftest.GWPort, from(client, number), oftest.PodAPort, segment{from(client, number).src, "10.10.0.11:8080", "S"})
	}
	vanishes := func(client string, number int) {
		t.Helper()
		w.drop(oftest.GWPort, from(client, number))
		arrives(admitted, number)
		for port, link := range w.links {
			require.False(t, link.pending(), "%s arrived at %s", client, portNames[port])
		}
	}
	arrives(admitted, 3001)
	vanishes(refused, 3002)
	w.pass(oftest.GWPort, segment{refused + ":3003", "169.254.0.252:30080", "S"}, oftest.PodAPort, segment{refused + ":3003", "10.10.0.11:8080", "S"})
	w.install(oftest.With(port, oftest.RestrictedTo("198.51.100.0/24", "198.51.101.0/24")))
	arrives(refused, 3004)
	w.settle()
	w.install(port)
	vanishes(refused, 3005)
}

// Packets of Services get the right TTL and MAC addresses.
func TestWireServicePackets(t *testing.T) { eachDatapath(t, testServicePacketsAreRouted) }

func testServicePacketsAreRouted(t *testing.T, w *wire) {
	w.install(oftest.ClusterPort(oftest.LocalEndpointB))
	c := translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
	got := w.pass(oftest.PodAPort, segment{c.client, c.frontend, "S"}, oftest.PodBPort, segment{c.source, c.endpoint, "S"})
	require.Equal(t, []any{uint8(63), oftest.GWMAC.String(), oftest.PodBMAC.String()}, []any{got.ttl, got.dlSrc, got.dlDst})
	got = w.pass(oftest.PodBPort, segment{c.endpoint, c.source, "SA"}, oftest.PodAPort, segment{c.frontend, c.client, "SA"})
	require.Equal(t, []any{uint8(63), oftest.GWMAC.String(), oftest.PodAMAC.String()}, []any{got.ttl, got.dlSrc, got.dlDst})
	w.install(oftest.ClusterPort(oftest.ElsewhereEndpoint))
	got = w.pass(oftest.PodAPort, segment{"10.10.0.11:3002", c.frontend, "S"}, oftest.TunnelPort, segment{"10.10.0.11:3002", "10.10.1.20:8080", "S"})
	require.Equal(t, []any{uint8(63), oftest.GWMAC.String(), "aa:bb:cc:dd:ee:ff"}, []any{got.ttl, got.dlSrc, got.dlDst})
	w.use(c)
}

// endpointOf sends the first packet of a connection to the cluster IP and returns where it goes: Pod A, Pod B or the remote Pod.
func (w *wire) endpointOf(client string) string {
	w.T.Helper()
	w.send(oftest.PodAPort, segment{client, "10.96.0.10:80", "S"})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, port := range []uint32{oftest.PodBPort, oftest.TunnelPort} {
			if w.links[port].pending() {
				return w.next(port).dst
			}
		}
	}
	require.Fail(w.T, "the packet went nowhere")
	return ""
}

// Connections spread over the Endpoints. Connections of a client with affinity do not, once the datapath follows the flow that is
// learned from the first one.
func TestWireSelectionOfEndpoints(t *testing.T) { eachDatapath(t, testSelectionOfEndpoints) }

func testSelectionOfEndpoints(t *testing.T, w *wire) {
	const connections = 16
	next := 4000
	// spread returns where several connections of Pod A go.
	spread := func() map[string]int {
		counts := map[string]int{}
		for range connections {
			next++
			counts[w.endpointOf(withPort(oftest.PodAIP, next))]++
		}
		return counts
	}
	// kept requires that all go where the first one goes.
	kept := func() string {
		next++
		chosen := w.endpointOf(withPort(oftest.PodAIP, next))
		w.settle()
		require.Equal(t, map[string]int{chosen: connections}, spread())
		return chosen
	}
	both := oftest.ClusterPort(oftest.LocalEndpointB, oftest.ElsewhereEndpoint)
	only := func(address string) (p openflow.ServicePort) {
		p = oftest.ClusterPort(both.Cluster...)
		p.Cluster = slices.DeleteFunc(slices.Clone(p.Cluster), func(e openflow.Endpoint) bool { return e.Address.String() != address })
		return oftest.With(p, oftest.WithAffinity(time.Hour))
	}
	w.install(both)
	require.Len(t, spread(), 2)
	w.install(oftest.ClusterPort(oftest.ElsewhereEndpoint))
	require.Equal(t, map[string]int{"10.10.1.20:8080": connections}, spread())

	w.install(oftest.With(both, oftest.WithAffinity(time.Hour)))
	first := kept()
	other := map[string]string{"10.10.1.20:8080": "10.10.0.12:8080", "10.10.0.12:8080": "10.10.1.20:8080"}[first]
	w.install(only(other))
	require.Equal(t, other, kept(), "the Endpoint of the affinity is gone")
	w.install(oftest.With(both, oftest.WithAffinity(time.Hour)))
	require.Equal(t, other, kept(), "the new choice is kept")

	// Another port keeps the flow of the Endpoint alive, to which this port's clients must not return.
	w.install(oftest.With(both, oftest.Named("other"), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP})))
	w.install(only(first))
	require.Equal(t, first, kept())

	w.install(both)
	require.Len(t, spread(), 2, "without affinity")
}

// A client that has an affinity does not keep an Endpoint that no longer serves the address, although it serves another one of the port.
func TestWireAffinityAndTrafficPolicy(t *testing.T) {
	eachDatapath(t, testAffinityEndsWithTheTrafficPolicy)
}

func testAffinityEndsWithTheTrafficPolicy(t *testing.T, w *wire) {
	policy := func(local bool) openflow.ServicePort {
		return oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.ServedLocally(oftest.LocalEndpoint), oftest.WithAffinity(time.Hour),
			oftest.At(openflow.Frontend{Address: oftest.ClusterIP}, openflow.Frontend{Address: oftest.LoadBalancerIP, External: true, Local: local}))
	}
	next := 5000
	opens := func(to uint32, source, endpoint string) {
		t.Helper()
		next++
		w.pass(oftest.GWPort, segment{fmt.Sprint("198.51.100.7:", next), oftest.LoadBalancerIP.String(), "S"}, to, segment{fmt.Sprintf("%s:%d", source, next), endpoint, "S"})
		w.settle()
	}
	for range 2 {
		w.install(policy(false))
		opens(oftest.TunnelPort, "10.10.0.1", "10.10.1.20:8080")
		opens(oftest.TunnelPort, "10.10.0.1", "10.10.1.20:8080")
		w.install(policy(true))
		opens(oftest.PodAPort, "198.51.100.7", "10.10.0.11:8080")
	}
}

// Established connections keep their Endpoint, whatever happens to it.
func TestWireOpenConnections(t *testing.T) {
	eachDatapath(t, testOpenConnectionsKeepTheirEndpoint)
}

func testOpenConnectionsKeepTheirEndpoint(t *testing.T, w *wire) {
	w.install(oftest.ClusterPort(oftest.LocalEndpointB))
	c := translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
	w.open(c)
	for _, change := range []func() error{
		func() error { return w.C.InstallService(oftest.ClusterPort(oftest.ElsewhereEndpoint)) },
		func() error { return w.C.InstallService(oftest.ClusterPort()) },
		func() error { return w.C.UninstallService(oftest.ClusterPort().Name) },
		func() error { return oftest.Replay(w.C) },
		w.C.DeleteStaleFlows,
	} {
		require.NoError(t, change())
		w.settle()
		w.use(c)
	}
}

// A Service does not bypass policies, neither for its client nor for an Endpoint that answers a refused packet.
func TestWireEgressPolicy(t *testing.T) {
	eachDatapath(t, func(t *testing.T, w *wire) {
		testServicesAndPolicies(t, w, oftest.Egress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.9.0/24")))
	})
}

func TestWireIngressPolicy(t *testing.T) {
	eachDatapath(t, func(t *testing.T, w *wire) {
		testServicesAndPolicies(t, w, oftest.Ingress(2, oftest.PolicyPodB, oftest.Prefixes("10.10.9.0/24")))
	})
}

func testServicesAndPolicies(t *testing.T, w *wire, rule *policy.Rule) {
	for _, p := range []openflow.ServicePort{oftest.ClusterPort(oftest.LocalEndpointB), oftest.With(oftest.ClusterPort(oftest.LocalEndpointB), oftest.Over(corev1.ProtocolUDP), oftest.Named("udp"))} {
		w.install(p)
	}
	require.NoError(t, oftest.Install(rule)(w.C))
	w.settle()
	attempts := 1
	if w.kernel {
		// The datapath in user space translates the second packet of an unanswered connection before it gets to the Service's tables.
		attempts = 3
	}
	const client, endpoint = "10.10.0.11:3001", "10.10.0.12:8080"
	for _, flags := range []string{"S", ""} {
		for range attempts {
			w.swallow(oftest.PodAPort, segment{client, "10.96.0.10:80", flags})
		}
		w.swallow(oftest.PodBPort, segment{endpoint, client, strings.Replace(flags, "S", "SA", 1)})
	}
	w.swallow(oftest.PodAPort, segment{client, "10.96.0.10:80", "A"})
	w.swallow(oftest.PodAPort, segment{client, "10.96.0.10:80", ""})

	require.NoError(t, w.C.UpdatePolicyRules(nil, []uint32{2}))
	w.settle()
	allowed := translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3002", "10.96.0.10:80", "10.10.0.11:3002", endpoint}
	w.datagrams(allowed)
	w.open(allowed)
}

// Packets that are sent again before there is an answer go to the Endpoint of the first one, whatever became of the Service.
func TestWireUnansweredConnections(t *testing.T) {
	eachDatapath(t, func(t *testing.T, w *wire) {
		if !w.kernel {
			t.Skip("the datapath in user space translates these before they get to the Service's tables, and sends them to the gateway")
		}
		for name, port := range map[string]openflow.ServicePort{
			"without affinity": oftest.ClusterPort(oftest.LocalEndpointB), "with affinity": oftest.With(oftest.ClusterPort(oftest.LocalEndpointB), oftest.WithAffinity(time.Hour)),
		} {
			for i, flags := range []string{"S", ""} {
				client := withPort(oftest.PodAIP, 3100+10*len(name)+i)
				protocol := map[string]corev1.Protocol{"S": corev1.ProtocolTCP, "": corev1.ProtocolUDP}[flags]
				sent, arrives := segment{client, "10.96.0.10:80", flags}, segment{client, "10.10.0.12:8080", flags}
				port := oftest.With(port, oftest.Over(protocol))
				w.install(port)
				w.pass(oftest.PodAPort, sent, oftest.PodBPort, arrives)
				w.pass(oftest.PodAPort, sent, oftest.PodBPort, arrives)
				port.Cluster = []openflow.Endpoint{oftest.ElsewhereEndpoint}
				w.install(port)
				w.pass(oftest.PodAPort, sent, oftest.PodBPort, arrives)
				require.NoError(t, w.C.UninstallService(port.Name))
			}
		}
	})
}

// Packets of clients that only Endpoints of this Node may serve are dropped while there are Endpoints elsewhere, and rejected if there is none.
func TestWireLocalWithoutEndpoints(t *testing.T) { eachDatapath(t, testLocalWithoutEndpoints) }

func testLocalWithoutEndpoints(t *testing.T, w *wire) {
	sw := of.NewSwitch(w.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, sw.Close()) }()
	rejects, err := sw.PacketIns(t.Context(), openflow.ServiceRejectController, 10, nil)
	require.NoError(t, err)
	port := oftest.With(oftest.ClusterPort(oftest.ElsewhereEndpoint), oftest.At(openflow.Frontend{Address: oftest.ClusterIP, Local: true}, openflow.Frontend{Address: oftest.LoadBalancerIP, Local: true, External: true}),
		func(p *openflow.ServicePort) { p.Elsewhere = true })
	w.install(port)
	w.drop(oftest.GWPort, segment{"198.51.100.7:3001", oftest.LoadBalancerIP.String(), "S"})
	w.nothingElse(oftest.PodAPort)
	w.swallow(oftest.PodAPort, segment{"10.10.0.11:3002", oftest.ClusterIP.String(), "S"})
	require.Zero(t, rejects.Waiting(), "they are not rejected")
	w.pass(oftest.PodAPort, segment{"10.10.0.11:3003", oftest.LoadBalancerIP.String(), "S"}, oftest.TunnelPort, segment{"10.10.0.11:3003", "10.10.1.20:8080", "S"})
	w.install(oftest.With(port, func(p *openflow.ServicePort) { p.Elsewhere, p.Cluster = false, nil }))
	w.send(oftest.GWPort, segment{"198.51.100.7:3004", oftest.LoadBalancerIP.String(), "S"})
	select {
	case <-rejects.Ready():
		rejects.Next()
	case <-time.After(20 * time.Second):
		t.Fatal("a connection without any Endpoint is not rejected")
	}
	w.install(oftest.With(port, oftest.ServedLocally(oftest.LocalEndpoint), func(p *openflow.ServicePort) { p.Elsewhere = false }))
	w.pass(oftest.GWPort, segment{"198.51.100.7:3001", oftest.LoadBalancerIP.String(), "S"}, oftest.PodAPort, segment{"198.51.100.7:3001", "10.10.0.11:8080", "S"})
}
