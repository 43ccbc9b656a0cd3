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
)

// affinities are the flows of session affinity on the switch, sorted, without cookie.
func (w *wire) affinities() (flows []string) {
	w.t.Helper()
	learned := fmt.Sprintf("table=%d, idle_timeout=", generatorOf(w.c).id(tableSessionAffinity))
	for _, f := range dumpFlows(w.OVS) {
		if _, f, _ = strings.Cut(f, ", "); strings.HasPrefix(f, learned) {
			flows = append(flows, f)
		}
	}
	slices.Sort(flows)
	return flows
}

// learn has clients connect through the gateway until the switch has learned so many flows.
func (w *wire) learn(want int, connections ...segment) []string {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		for _, c := range connections {
			w.send(gwPort, c)
			w.settle()
		}
		return len(w.affinities()) >= want
	}, 30*time.Second, 50*time.Millisecond, "want %d affinities", want)
	require.Len(w.t, w.affinities(), want)
	return w.affinities()
}

// restartAgent replaces the client by that of the next round.
func (w *wire) restartAgent(t *testing.T) {
	t.Helper()
	former := generatorOf(w.c)
	require.NoError(t, w.c.Disconnect())
	next, _ := onOVS(t, w.MgmtSocket(bridgeName), RoundInfo{RoundNum: former.round + 1, PrevRoundNum: &former.round, FormerTables: former.names()})
	w.c = next.Client
	w.connect()
	require.NoError(t, w.c.SetNodePortAddresses([]netip.Addr{nodeIP}))
}

func (w *wire) installAllOf(ports []ServicePort) {
	w.t.Helper()
	for _, p := range ports {
		w.install(p)
	}
}

// However many clients there are, the switch learns of as many as it may, serves the others, and keeps those that it knows.
func TestWireClientsWithAffinityAreBounded(t *testing.T) {
	w := newWire(t, false)
	for i := range 513 {
		require.NoError(t, w.c.InstallService(manyServices(i, localEndpoint)))
	}
	w.install(with(clusterPort(localEndpoint), at(Frontend{Address: loadBalancerIP, External: true}), withAffinity(time.Hour)))
	const more = 20
	port := 3000
	connect := func(client netip.Addr) {
		port++
		from := netip.AddrPortFrom(client, uint16(port)).String()
		w.pass(gwPort, segment{from, loadBalancerIP.String(), "S"}, podAPort, segment{from, "10.10.0.11:8080", "S"})
	}
	first := netip.MustParseAddr("198.51.100.1")
	client := first
	for range minAffinitiesOfList + more {
		connect(client)
		client = client.Next()
	}
	require.Len(t, w.affinities(), minAffinitiesOfList)
	connect(client)
	connect(first)
	require.Contains(t, strings.Join(w.affinities(), "\n"), "nw_src=198.51.100.1,")
	read, err := w.c.ReadAffinities(t.Context())
	require.NoError(t, err)
	require.Len(t, read.Affinities, minAffinitiesOfList)
	require.Equal(t, []string{clusterPort().Name}, read.Full)
	// When there is room again, the others get their affinity.
	for i := range 513 {
		require.NoError(t, w.c.UninstallService(manyServices(i).Name))
	}
	connect(client)
	require.Len(t, w.affinities(), minAffinitiesOfList+1)
	read, err = w.c.ReadAffinities(t.Context())
	require.NoError(t, err)
	require.Empty(t, read.Full)
}

// keeping is a Service with affinity of each IP version, and the connections that its clients open.
func keeping() (ports []ServicePort, connections []segment) {
	udp := with(clusterPort(localEndpoint, localEndpointB), named("udp"), over(corev1.ProtocolUDP), withAffinity(time.Hour))
	ports = []ServicePort{
		with(externalLocal(), servedLocally(localEndpoint, localEndpointB), withAffinity(time.Hour)),
		with(clusterPort6(localEndpoint6, Endpoint{Address: netip.AddrPortFrom(podB6IP, 8080), OnThisNode: true, PodNetwork: true}, remoteEndpoint6), withAffinity(time.Hour)),
		udp,
	}
	for _, to := range []string{clusterIP.String(), loadBalancerIP.String(), "169.254.0.252:30080", nodeIP.String() + ":30080"} {
		for client := range 3 {
			connections = append(connections, segment{fmt.Sprintf("198.51.100.%d:4000", client), to, "S"})
		}
	}
	return ports, append(connections, segment{"[2001:db8::7]:4000", clusterIP6.String(), "S"})
}

// An agent that is restarted keeps clients at their Endpoints, and a switch that is restarted gets them again.
func TestWireAffinityOutlivesAgentAndSwitch(t *testing.T) {
	w := newWire(t, false)
	require.NoError(t, w.c.SetNodePortAddresses([]netip.Addr{nodeIP}))
	ports, connections := keeping()
	w.installAllOf(ports)
	want := w.learn(13, connections...)
	for range 2 {
		w.restartAgent(t)
		require.Equal(t, want, w.affinities(), "before the Services are known")
		w.installAllOf(ports)
		require.Equal(t, want, w.affinities())
		require.NoError(t, w.c.DeleteStaleFlows())
		require.Equal(t, want, w.affinities())
		requireNoneMissing(t, w.c)
	}
	read, err := w.c.ReadAffinities(t.Context())
	require.NoError(t, err)
	require.Len(t, read.Affinities, len(want))
	w.Ofctl("-O", "OpenFlow13", "del-flows", bridgeName)
	_, err = w.c.ReadAffinities(t.Context())
	require.ErrorIs(t, err, errAffinitiesUnknown)
	require.NoError(t, w.c.ReplayFlows(func() {}))
	require.Equal(t, want, w.affinities(), "a switch that has lost everything")
	// A new agent and a new switch: what an agent before has written to a file.
	w.Ofctl("-O", "OpenFlow13", "del-flows", bridgeName)
	w.restartAgent(t)
	require.ErrorContains(t, w.c.RestoreAffinities([]Affinity{{}}, time.Now()), "want a client")
	require.NoError(t, w.c.RestoreAffinities(read.Affinities, time.Now().Add(-time.Minute)))
	w.installAllOf(ports)
	require.Equal(t, want, w.affinities())
	require.NoError(t, w.c.DeleteStaleFlows())
	// The switch still deletes them with their port.
	for _, p := range ports {
		require.NoError(t, w.c.UninstallService(p.Name))
	}
	require.Empty(t, w.affinities())
	w.installAllOf(ports)
	require.Empty(t, w.affinities(), "only the start of an agent restores")
}
