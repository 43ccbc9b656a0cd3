// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Connections through Services, with real packets.
func TestWireServiceConnections(t *testing.T) { eachDatapath(t, testServiceConnections) }

func testServiceConnections(t *testing.T, w *wire) {
	require.NoError(t, w.c.SetNodePortAddresses([]netip.Addr{nodeIP}))
	for _, test := range []struct {
		name string
		port ServicePort
		translated
	}{
		{"to a Pod on this Node", clusterPort(localEndpointB), translated{podAPort, podBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}},
		{"to a remote Pod", clusterPort(elsewhereEndpoint), translated{podAPort, tunnelPort, "10.10.0.11:3002", "10.96.0.10:80", "10.10.0.11:3002", "10.10.1.20:8080"}},
		{"to itself", clusterPort(localEndpoint), translated{podAPort, podAPort, "10.10.0.11:3003", "10.96.0.10:80", "10.10.0.1:3003", "10.10.0.11:8080"}},
		{"to another host", clusterPort(hostEndpoint), translated{podAPort, gwPort, "10.10.0.11:3004", "10.96.0.10:80", "10.10.0.11:3004", "192.168.77.103:6443"}},
		{"IPv6, to a Pod on this Node", clusterPort6(Endpoint{Address: netip.AddrPortFrom(podB6IP, 8080), OnThisNode: true, PodNetwork: true}),
			translated{podAPort, podBPort, "[fd00:10:0:a::11]:3001", "[fd00:96::10]:80", "[fd00:10:0:a::11]:3001", "[fd00:10:0:a::12]:8080"}},
		{"IPv6, to a remote Pod", clusterPort6(remoteEndpoint6),
			translated{podAPort, tunnelPort, "[fd00:10:0:a::11]:3002", "[fd00:96::10]:80", "[fd00:10:0:a::11]:3002", "[fd00:10:0:b::20]:8080"}},
		{"IPv6, to itself", clusterPort6(localEndpoint6),
			translated{podAPort, podAPort, "[fd00:10:0:a::11]:3003", "[fd00:96::10]:80", "[fd00:10:0:a::1]:3003", "[fd00:10:0:a::11]:8080"}},
		{"from the Node, to a Pod", clusterPort(localEndpoint), translated{gwPort, podAPort, "10.10.0.1:3005", "10.96.0.10:80", "10.10.0.1:3005", "10.10.0.11:8080"}},
		{"from the Node, to a remote Pod", clusterPort(elsewhereEndpoint), translated{gwPort, tunnelPort, "10.10.0.1:3006", "10.96.0.10:80", "10.10.0.1:3006", "10.10.1.20:8080"}},
		{"from the Node, to another host", clusterPort(hostEndpoint), translated{gwPort, gwPort, "10.10.0.1:3007", "10.96.0.10:80", "169.254.0.253:3007", "192.168.77.103:6443"}},
		{"from outside, through a NodePort, to a Pod", with(externalLocal(), servedLocally(localEndpoint)),
			translated{gwPort, podAPort, "198.51.100.7:3008", "192.168.77.101:30080", "198.51.100.7:3008", "10.10.0.11:8080"}},
		{"the same, translated by the host", with(externalLocal(), servedLocally(localEndpoint)),
			translated{gwPort, podAPort, "198.51.100.7:3009", "169.254.0.252:30080", "198.51.100.7:3009", "10.10.0.11:8080"}},
		{"from outside, to a remote Pod", with(clusterPort(elsewhereEndpoint), at(Frontend{Address: loadBalancerIP, External: true})),
			translated{gwPort, tunnelPort, "198.51.100.7:3010", "203.0.113.10:80", "10.10.0.1:3010", "10.10.1.20:8080"}},
		{"from outside, to another host", with(clusterPort(hostEndpoint), at(Frontend{Address: loadBalancerIP, External: true})),
			translated{gwPort, gwPort, "198.51.100.7:3011", "203.0.113.10:80", "169.254.0.253:3011", "192.168.77.103:6443"}},
		{"from a Pod, to the Node's Endpoints only by name", with(clusterPort(elsewhereEndpoint), at(Frontend{Address: loadBalancerIP, External: true, Local: true})),
			translated{podAPort, tunnelPort, "10.10.0.11:3012", "203.0.113.10:80", "10.10.0.11:3012", "10.10.1.20:8080"}},
		{"with affinity, to a Pod on this Node", with(clusterPort(localEndpointB), withAffinity(time.Hour)),
			translated{podAPort, podBPort, "10.10.0.11:3013", "10.96.0.10:80", "10.10.0.11:3013", "10.10.0.12:8080"}},
		{"IPv6, with affinity, to a remote Pod", with(clusterPort6(remoteEndpoint6), withAffinity(time.Hour)),
			translated{podAPort, tunnelPort, "[fd00:10:0:a::11]:3014", "[fd00:96::10]:80", "[fd00:10:0:a::11]:3014", "[fd00:10:0:b::20]:8080"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.t = t
			w.install(test.port)
			w.open(test.translated)
			udp := with(test.port, over(corev1.ProtocolUDP), named("udp"))
			w.install(udp)
			w.datagrams(test.translated)
			require.NoError(t, w.c.UninstallService(udp.Name))
			require.NoError(t, w.c.UninstallService(test.port.Name))
			w.settle()
			w.use(test.translated)
		})
	}
}

// Source ranges are about one address of the Service, also for clients with an affinity from before.
func TestWireSourceRanges(t *testing.T) { eachDatapath(t, testSourceRanges) }

func testSourceRanges(t *testing.T, w *wire) {
	const admitted, refused = "198.51.100.7", "198.51.101.7"
	port := with(restricted("198.51.100.0/24"), servedLocally(localEndpoint), withAffinity(time.Hour))
	w.install(port)
	from := func(client string, number int) segment {
		return segment{fmt.Sprintf("%s:%d", client, number), loadBalancerIP.String(), "S"}
	}
	arrives := func(client string, number int) {
		t.Helper()
		w.pass(gwPort, from(client, number), podAPort, segment{from(client, number).src, "10.10.0.11:8080", "S"})
	}
	vanishes := func(client string, number int) {
		t.Helper()
		w.drop(gwPort, from(client, number))
		arrives(admitted, number)
		for port, link := range w.links {
			require.False(t, link.pending(), "%s arrived at %s", client, portNames[port])
		}
	}
	arrives(admitted, 3001)
	vanishes(refused, 3002)
	w.pass(gwPort, segment{refused + ":3003", "169.254.0.252:30080", "S"}, podAPort, segment{refused + ":3003", "10.10.0.11:8080", "S"})
	w.install(with(port, restrictedTo("198.51.100.0/24", "198.51.101.0/24")))
	arrives(refused, 3004)
	w.settle()
	w.install(port)
	vanishes(refused, 3005)
}

// What a packet looks like besides its addresses.
func TestWireServicePackets(t *testing.T) { eachDatapath(t, testServicePacketsAreRouted) }

func testServicePacketsAreRouted(t *testing.T, w *wire) {
	w.install(clusterPort(localEndpointB))
	c := translated{podAPort, podBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
	got := w.pass(podAPort, segment{c.client, c.frontend, "S"}, podBPort, segment{c.source, c.endpoint, "S"})
	require.Equal(t, []any{uint8(63), gwMAC.String(), podBMAC.String()}, []any{got.ttl, got.dlSrc, got.dlDst})
	got = w.pass(podBPort, segment{c.endpoint, c.source, "SA"}, podAPort, segment{c.frontend, c.client, "SA"})
	require.Equal(t, []any{uint8(63), gwMAC.String(), podAMAC.String()}, []any{got.ttl, got.dlSrc, got.dlDst})
	w.install(clusterPort(elsewhereEndpoint))
	got = w.pass(podAPort, segment{"10.10.0.11:3002", c.frontend, "S"}, tunnelPort, segment{"10.10.0.11:3002", "10.10.1.20:8080", "S"})
	require.Equal(t, []any{uint8(63), gwMAC.String(), "aa:bb:cc:dd:ee:ff"}, []any{got.ttl, got.dlSrc, got.dlDst})
	w.use(c)
}

// endpointOf sends the first packet of a connection to the cluster IP and returns where it goes: Pod A, Pod B or the remote Pod.
func (w *wire) endpointOf(client string) string {
	w.t.Helper()
	w.send(podAPort, segment{client, "10.96.0.10:80", "S"})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, port := range []uint32{podBPort, tunnelPort} {
			if w.links[port].pending() {
				return w.next(port).dst
			}
		}
	}
	require.Fail(w.t, "the packet went nowhere")
	return ""
}

// Connections spread over the Endpoints, those of a client with affinity do not, once the datapath follows the flow that is learned from
// the first one.
func TestWireSelectionOfEndpoints(t *testing.T) { eachDatapath(t, testSelectionOfEndpoints) }

func testSelectionOfEndpoints(t *testing.T, w *wire) {
	const connections = 16
	next := 4000
	// spread returns where several connections of Pod A go.
	spread := func() map[string]int {
		counts := map[string]int{}
		for range connections {
			next++
			counts[w.endpointOf(withPort(podAIP, next))]++
		}
		return counts
	}
	// kept requires that all go where the first one goes.
	kept := func() string {
		next++
		chosen := w.endpointOf(withPort(podAIP, next))
		w.settle()
		require.Equal(t, map[string]int{chosen: connections}, spread())
		return chosen
	}
	both := clusterPort(localEndpointB, elsewhereEndpoint)
	only := func(address string) (p ServicePort) {
		p = clusterPort(both.Cluster...)
		p.Cluster = slices.DeleteFunc(slices.Clone(p.Cluster), func(e Endpoint) bool { return e.Address.String() != address })
		return with(p, withAffinity(time.Hour))
	}
	w.install(both)
	require.Len(t, spread(), 2)
	w.install(clusterPort(elsewhereEndpoint))
	require.Equal(t, map[string]int{"10.10.1.20:8080": connections}, spread())

	w.install(with(both, withAffinity(time.Hour)))
	first := kept()
	other := map[string]string{"10.10.1.20:8080": "10.10.0.12:8080", "10.10.0.12:8080": "10.10.1.20:8080"}[first]
	w.install(only(other))
	require.Equal(t, other, kept(), "the Endpoint of the affinity is gone")
	w.install(with(both, withAffinity(time.Hour)))
	require.Equal(t, other, kept(), "the new choice is kept")

	// Another port keeps the flow of the Endpoint alive, to which this port's clients must not return.
	w.install(with(both, named("other"), at(Frontend{Address: loadBalancerIP})))
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
	policy := func(local bool) ServicePort {
		return with(clusterPort(elsewhereEndpoint), servedLocally(localEndpoint), withAffinity(time.Hour),
			at(Frontend{Address: clusterIP}, Frontend{Address: loadBalancerIP, External: true, Local: local}))
	}
	next := 5000
	opens := func(to uint32, source, endpoint string) {
		t.Helper()
		next++
		w.pass(gwPort, segment{fmt.Sprint("198.51.100.7:", next), loadBalancerIP.String(), "S"}, to, segment{fmt.Sprintf("%s:%d", source, next), endpoint, "S"})
		w.settle()
	}
	for range 2 {
		w.install(policy(false))
		opens(tunnelPort, "10.10.0.1", "10.10.1.20:8080")
		opens(tunnelPort, "10.10.0.1", "10.10.1.20:8080")
		w.install(policy(true))
		opens(podAPort, "198.51.100.7", "10.10.0.11:8080")
	}
}

// Established connections keep their Endpoint, whatever becomes of it.
func TestWireOpenConnections(t *testing.T) {
	eachDatapath(t, testOpenConnectionsKeepTheirEndpoint)
}

func testOpenConnectionsKeepTheirEndpoint(t *testing.T, w *wire) {
	w.install(clusterPort(localEndpointB))
	c := translated{podAPort, podBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
	w.open(c)
	for _, change := range []func() error{
		func() error { return w.c.InstallService(clusterPort(elsewhereEndpoint)) },
		func() error { return w.c.InstallService(clusterPort()) },
		func() error { return w.c.UninstallService(clusterPort().Name) },
		func() error { return replay(w.c) },
		w.c.DeleteStaleFlows,
	} {
		require.NoError(t, change())
		w.settle()
		w.use(c)
	}
}

// A Service is no way around policies: neither for its client, nor for an Endpoint that answers what was refused.
func TestWireEgressPolicy(t *testing.T) {
	eachDatapath(t, func(t *testing.T, w *wire) {
		testServicesAndPolicies(t, w, egress(2, policyPodA, prefixes("10.10.9.0/24")))
	})
}

func TestWireIngressPolicy(t *testing.T) {
	eachDatapath(t, func(t *testing.T, w *wire) {
		testServicesAndPolicies(t, w, ingress(2, policyPodB, prefixes("10.10.9.0/24")))
	})
}

func testServicesAndPolicies(t *testing.T, w *wire, rule *policy.Rule) {
	for _, p := range []ServicePort{clusterPort(localEndpointB), with(clusterPort(localEndpointB), over(corev1.ProtocolUDP), named("udp"))} {
		w.install(p)
	}
	require.NoError(t, install(rule)(w.c))
	w.settle()
	attempts := 1
	if w.kernel {
		// The datapath in user space translates the second packet of an unanswered connection before it gets to the Service's tables.
		attempts = 3
	}
	const client, endpoint = "10.10.0.11:3001", "10.10.0.12:8080"
	for _, flags := range []string{"S", ""} {
		for range attempts {
			w.swallow(podAPort, segment{client, "10.96.0.10:80", flags})
		}
		w.swallow(podBPort, segment{endpoint, client, strings.Replace(flags, "S", "SA", 1)})
	}
	w.swallow(podAPort, segment{client, "10.96.0.10:80", "A"})
	w.swallow(podAPort, segment{client, "10.96.0.10:80", ""})

	require.NoError(t, w.c.UpdatePolicyRules(nil, []uint32{2}))
	w.settle()
	allowed := translated{podAPort, podBPort, "10.10.0.11:3002", "10.96.0.10:80", "10.10.0.11:3002", endpoint}
	w.datagrams(allowed)
	w.open(allowed)
}

// Packets that are sent again before there is an answer go to the Endpoint of the first one, whatever became of the Service.
func TestWireUnansweredConnections(t *testing.T) {
	eachDatapath(t, func(t *testing.T, w *wire) {
		if !w.kernel {
			t.Skip("the datapath in user space translates these before they get to the Service's tables, and sends them to the gateway")
		}
		for name, port := range map[string]ServicePort{
			"without affinity": clusterPort(localEndpointB), "with affinity": with(clusterPort(localEndpointB), withAffinity(time.Hour)),
		} {
			for i, flags := range []string{"S", ""} {
				client := withPort(podAIP, 3100+10*len(name)+i)
				protocol := map[string]corev1.Protocol{"S": corev1.ProtocolTCP, "": corev1.ProtocolUDP}[flags]
				sent, arrives := segment{client, "10.96.0.10:80", flags}, segment{client, "10.10.0.12:8080", flags}
				port := with(port, over(protocol))
				w.install(port)
				w.pass(podAPort, sent, podBPort, arrives)
				w.pass(podAPort, sent, podBPort, arrives)
				port.Cluster = []Endpoint{elsewhereEndpoint}
				w.install(port)
				w.pass(podAPort, sent, podBPort, arrives)
				require.NoError(t, w.c.UninstallService(port.Name))
			}
		}
	})
}

// Packets of clients that only Endpoints of this Node may serve are dropped while there are Endpoints elsewhere, and rejected if there is none.
func TestWireLocalWithoutEndpoints(t *testing.T) { eachDatapath(t, testLocalWithoutEndpoints) }

func testLocalWithoutEndpoints(t *testing.T, w *wire) {
	sw := of.NewSwitch(w.MgmtSocket(bridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, sw.Close()) }()
	rejects, err := sw.PacketIns(t.Context(), ServiceRejectController, 10)
	require.NoError(t, err)
	port := with(clusterPort(elsewhereEndpoint), at(Frontend{Address: clusterIP, Local: true}, Frontend{Address: loadBalancerIP, Local: true, External: true}),
		func(p *ServicePort) { p.Elsewhere = true })
	w.install(port)
	w.drop(gwPort, segment{"198.51.100.7:3001", loadBalancerIP.String(), "S"})
	w.nothingElse(podAPort)
	w.swallow(podAPort, segment{"10.10.0.11:3002", clusterIP.String(), "S"})
	require.Empty(t, rejects.Packets(), "they are not rejected")
	w.pass(podAPort, segment{"10.10.0.11:3003", loadBalancerIP.String(), "S"}, tunnelPort, segment{"10.10.0.11:3003", "10.10.1.20:8080", "S"})
	w.install(with(port, func(p *ServicePort) { p.Elsewhere, p.Cluster = false, nil }))
	w.send(gwPort, segment{"198.51.100.7:3004", loadBalancerIP.String(), "S"})
	select {
	case <-rejects.Packets():
	case <-time.After(20 * time.Second):
		t.Fatal("a connection without any Endpoint is not rejected")
	}
	w.install(with(port, servedLocally(localEndpoint), func(p *ServicePort) { p.Elsewhere = false }))
	w.pass(gwPort, segment{"198.51.100.7:3001", loadBalancerIP.String(), "S"}, podAPort, segment{"198.51.100.7:3001", "10.10.0.11:8080", "S"})
}
