// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/service"
)

// groupOfAffinity is the only part of a learned flow that the next agent gives another value.
var groupOfAffinity = regexp.MustCompile(`,load:0x[0-9a-f]+->NXM_NX_REG7\[\]`)

// affinities are the flows of session affinity on the switch, sorted, without cookie.
func (w *wire) affinities() (flows []string) {
	w.T.Helper()
	learned := fmt.Sprintf("table=%d, idle_timeout=", oftest.GeneratorOf(w.C).ID(pipeline.TableSessionAffinity))
	for _, f := range oftest.DumpFlows(w.OVS) {
		if _, f, _ = strings.Cut(f, ", "); strings.HasPrefix(f, learned) {
			flows = append(flows, groupOfAffinity.ReplaceAllString(f, ""))
		}
	}
	slices.Sort(flows)
	return flows
}

// learn makes clients connect through the gateway until the switch has learned want flows.
func (w *wire) learn(want int, connections ...segment) []string {
	w.T.Helper()
	await(w.T, func() bool {
		for _, c := range connections {
			w.send(oftest.GWPort, c)
			w.settle()
		}
		return len(w.affinities()) >= want
	}, "want %d affinities", want)
	require.Len(w.T, w.affinities(), want)
	return w.affinities()
}

// restartAgent replaces the client by the next round's.
func (w *wire) restartAgent(t *testing.T) {
	t.Helper()
	former := oftest.GeneratorOf(w.C)
	require.NoError(t, w.C.Disconnect())
	next, _ := onOVS(t, w.MgmtSocket(oftest.BridgeName), openflow.RoundInfo{RoundNum: former.Round + 1, PrevRoundNum: &former.Round, FormerTables: former.Names()})
	w.C = next.Client
	w.connect()
	require.NoError(t, w.C.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}))
}

func (w *wire) installAllOf(ports []openflow.ServicePort) {
	w.T.Helper()
	for _, p := range ports {
		w.install(p)
	}
}

// However many clients there are, the switch learns of as many as it may, serves the others, and keeps those that it knows.
func TestWireClientsWithAffinityAreBounded(t *testing.T) {
	w := newWire(t, false)
	for i := range 513 {
		require.NoError(t, w.C.InstallService(oftest.ManyServices(i, oftest.LocalEndpoint)))
	}
	w.install(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint), oftest.At(openflow.Frontend{Address: oftest.LoadBalancerIP, External: true}), oftest.WithAffinity(time.Hour)))
	const more = 20
	port := 3000
	connect := func(client netip.Addr) {
		port++
		from := netip.AddrPortFrom(client, uint16(port)).String()
		w.pass(oftest.GWPort, segment{from, oftest.LoadBalancerIP.String(), "S"}, oftest.PodAPort, segment{from, "10.10.0.11:8080", "S"})
	}
	first := netip.MustParseAddr("198.51.100.1")
	client := first
	for range service.MinAffinitiesOfList + more {
		connect(client)
		client = client.Next()
	}
	require.Len(t, w.affinities(), service.MinAffinitiesOfList)
	connect(client)
	connect(first)
	require.Contains(t, strings.Join(w.affinities(), "\n"), "nw_src=198.51.100.1,")
	read, err := w.C.ReadAffinities(t.Context())
	require.NoError(t, err)
	require.Len(t, read.Affinities, service.MinAffinitiesOfList)
	require.Equal(t, []string{oftest.ClusterPort().Name}, read.Full)
	// When there is room again, the others get their affinity.
	for i := range 513 {
		require.NoError(t, w.C.UninstallService(oftest.ManyServices(i).Name))
	}
	connect(client)
	require.Len(t, w.affinities(), service.MinAffinitiesOfList+1)
	read, err = w.C.ReadAffinities(t.Context())
	require.NoError(t, err)
	require.Empty(t, read.Full)
}

// keeping is a Service with affinity of each IP version, and the connections that its clients open.
func keeping() (ports []openflow.ServicePort, connections []segment) {
	udp := oftest.With(oftest.ClusterPort(oftest.LocalEndpoint, oftest.LocalEndpointB), oftest.Named("udp"), oftest.Over(corev1.ProtocolUDP), oftest.WithAffinity(time.Hour))
	ports = []openflow.ServicePort{
		oftest.With(oftest.ExternalLocal(), oftest.ServedLocally(oftest.LocalEndpoint, oftest.LocalEndpointB), oftest.WithAffinity(time.Hour)),
		oftest.With(oftest.ClusterPort6(oftest.LocalEndpoint6, openflow.Endpoint{Address: netip.AddrPortFrom(oftest.PodB6IP, 8080), OnThisNode: true, PodNetwork: true}, oftest.RemoteEndpoint6), oftest.WithAffinity(time.Hour)),
		udp,
	}
	for _, to := range []string{oftest.ClusterIP.String(), oftest.LoadBalancerIP.String(), "169.254.0.252:30080", oftest.NodeIP.String() + ":30080"} {
		for client := range 3 {
			connections = append(connections, segment{fmt.Sprintf("198.51.100.%d:4000", client), to, "S"})
		}
	}
	return ports, append(connections, segment{"[2001:db8::7]:4000", oftest.ClusterIP6.String(), "S"})
}

// An agent that is restarted keeps clients at their Endpoints, and a switch that is restarted gets them again.
func TestWireAffinityOutlivesAgentAndSwitch(t *testing.T) {
	w := newWire(t, false)
	require.NoError(t, w.C.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}))
	ports, connections := keeping()
	w.installAllOf(ports)
	want := w.learn(13, connections...)
	for range 2 {
		w.restartAgent(t)
		require.Equal(t, want, w.affinities(), "before the Services are known")
		w.installAllOf(ports)
		require.Equal(t, want, w.affinities())
		require.NoError(t, w.C.DeleteStaleFlows())
		require.Equal(t, want, w.affinities())
		oftest.RequireNoneMissing(t, w.C)
	}
	read, err := w.C.ReadAffinities(t.Context())
	require.NoError(t, err)
	require.Len(t, read.Affinities, len(want))
	w.Ofctl("-O", "OpenFlow13", "del-flows", oftest.BridgeName)
	_, err = w.C.ReadAffinities(t.Context())
	require.ErrorIs(t, err, service.ErrAffinitiesUnknown)
	require.NoError(t, w.C.ReplayFlows(func() {}))
	require.Equal(t, want, w.affinities(), "a switch that has lost everything")
	// A new agent and a new switch: what an agent before has written to a file.
	w.Ofctl("-O", "OpenFlow13", "del-flows", oftest.BridgeName)
	w.restartAgent(t)
	require.ErrorContains(t, w.C.RestoreAffinities([]openflow.Affinity{{}}, time.Now()), "want a client")
	require.NoError(t, w.C.RestoreAffinities(read.Affinities, time.Now().Add(-time.Minute)))
	w.installAllOf(ports)
	require.Equal(t, want, w.affinities())
	require.NoError(t, w.C.DeleteStaleFlows())
	// The switch still deletes them with their port.
	for _, p := range ports {
		require.NoError(t, w.C.UninstallService(p.Name))
	}
	require.Empty(t, w.affinities())
	w.installAllOf(ports)
	require.Empty(t, w.affinities(), "only the start of an agent restores")
}
