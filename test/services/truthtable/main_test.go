// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/services"
)

// started returns a bench whose agents have realized the generator's first World with Services that have Endpoints.
func started(t *testing.T, seed uint64) (*bench, *services.Generator) {
	t.Helper()
	b := &bench{rng: rand.New(rand.NewPCG(seed, 1))}
	g := services.NewGenerator(rand.New(rand.NewPCG(seed, 0)))
	require.NoError(t, b.start(t.Context(), t, g.World()))
	b.former = b.world
	return b, g
}

// wrongTrials tries the probes and returns those that a World says are wrong.
func (b *bench) wrongTrials(t *testing.T, w *services.World, probes []*services.Probe) (wrong []*trial) {
	t.Helper()
	trials, err := b.probe(w, probes)
	require.NoError(t, err)
	for _, trial := range trials {
		if trial.wrong != "" {
			wrong = append(wrong, trial)
		}
	}
	return wrong
}

// The check notices that the Services of another World are in the switches, and is content once they are not.
func TestFindsServicesOfAnotherWorld(t *testing.T) {
	b, g := started(t, 5)
	before := b.world
	require.Empty(t, b.wrongTrials(t, before, g.Probes(before)))
	for range 5 {
		g.Edit()
	}
	after := g.World()
	probes := g.Probes(before, after)
	wrong := b.wrongTrials(t, after, probes)
	require.NotEmpty(t, wrong)
	require.Contains(t, b.trace(wrong[0]), "the packet", "a failure shows how the packet was treated")

	require.NoError(t, b.api.change(t.Context(), b.rng, before, after))
	b.world = after
	require.NoError(t, b.settle(t.Context()))
	require.Empty(t, b.wrongTrials(t, after, probes))
}

// The agent's state is right, but the switch lacks one flow: to an Endpoint, or of an address. Packets reveal it.
func TestFindsMissingFlow(t *testing.T) {
	b, g := started(t, 6)
	found, clusterIPs := 0, netip.MustParsePrefix("10.96.0.0/16")
	for _, n := range b.pair.Nodes {
		probes := slices.DeleteFunc(g.Probes(b.world), func(p *services.Probe) bool { return p.Client.Node != n.Name() || p.Client.Kind != services.FromPod })
		for _, p := range probes {
			if b.world.Verdict(p).Outcome != services.Served || p.Protocol == corev1.ProtocolSCTP || !clusterIPs.Contains(p.To.Addr()) {
				continue
			}
			require.Empty(t, b.wrongTrials(t, b.world, []*services.Probe{p}))
			match := fmt.Sprintf("%s,nw_dst=%s,tp_dst=%d", strings.ToLower(string(p.Protocol)), p.To.Addr(), p.To.Port())
			flows := n.OVS.Ofctl("--no-stats", "dump-flows", switchpair.BridgeName, match)
			require.Contains(t, flows, "group:", match)
			n.OVS.Ofctl("del-flows", switchpair.BridgeName, match)
			require.NotEmpty(t, b.wrongTrials(t, b.world, []*services.Probe{p}), "%s without its flows", p)
			found++
			break
		}
	}
	require.Positive(t, found)
}

// An open connection that the switch sends elsewhere is noticed, and so is a UDP connection that is not ended.
func TestFindsLostConnections(t *testing.T) {
	b, g := started(t, 7)
	trials, err := b.probe(b.world, g.Probes(b.world))
	require.NoError(t, err)
	b.openConnections = choose(b.rng, trials)
	require.NotEmpty(t, b.openConnections)
	keep := func(*connection) services.Continuation { return services.Keeps }
	wrong, err := b.checkOpen(b.world, keep)
	require.NoError(t, err)
	require.Empty(t, wrong)
	open := len(b.openConnections)

	nowhere := *b.world
	nowhere.Services = nil
	udp := 0
	for _, c := range b.openConnections {
		if c.Protocol == corev1.ProtocolUDP {
			udp++
		}
	}
	wrong, err = b.checkOpen(&nowhere, func(c *connection) services.Continuation { return nowhere.Continues(c.Probe, c.endpoint()) })
	require.NoError(t, err)
	require.Len(t, wrong, udp, "these were not ended")
	require.Len(t, b.openConnections, open)

	for _, n := range b.pair.Nodes {
		n.ForgetConnections()
	}
	wrong, err = b.checkOpen(b.world, keep)
	require.NoError(t, err)
	require.NotEmpty(t, wrong, "conntrack has forgotten all")
}

// The number of connections of a trial depends on what is promised.
func TestNumberOfConnections(t *testing.T) {
	endpoint := func(n byte) services.Endpoint {
		return services.Endpoint{Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 10, 1, n}), 80)}
	}
	client := services.Client{IP: netip.MustParseAddr("10.10.1.11")}
	trialOf := func(protocol corev1.Protocol, v services.Verdict) *trial {
		return &trial{Probe: &services.Probe{Client: client, Protocol: protocol}, verdict: v, reached: map[netip.AddrPort]bool{}}
	}
	three := services.Verdict{Outcome: services.Served, Endpoints: []services.Endpoint{endpoint(12), endpoint(13), endpoint(14)}}
	affine, open := three, three
	affine.Affinity, open.Open = true, true
	require.Equal(t, 5, trialOf(corev1.ProtocolTCP, three).next())
	require.Equal(t, 2, trialOf(corev1.ProtocolUDP, three).next())
	require.Equal(t, 2, trialOf(corev1.ProtocolSCTP, three).next())
	require.Equal(t, 1, trialOf(corev1.ProtocolTCP, affine).next())
	require.Equal(t, 1, trialOf(corev1.ProtocolTCP, open).next())
	require.Equal(t, 1, trialOf(corev1.ProtocolTCP, services.Verdict{Outcome: services.Rejected}).next())

	covered := trialOf(corev1.ProtocolTCP, three)
	covered.connections = make([]*connection, 5)
	require.Equal(t, 12, covered.next(), "not all have got one")
	for _, e := range three.Endpoints {
		covered.reached[e.Address] = true
	}
	require.Zero(t, covered.next())
	again := trialOf(corev1.ProtocolTCP, affine)
	again.connections = make([]*connection, 1)
	require.Equal(t, 3, again.next())
	itself := trialOf(corev1.ProtocolSCTP, services.Verdict{Outcome: services.Served, Endpoints: []services.Endpoint{endpoint(11)}})
	require.Zero(t, itself.next())
}

// A marker is complete with its Endpoints for the zone.
func TestMarker(t *testing.T) {
	require.Equal(t, ptr.To[int32](9), marker(3).slice().Ports[0].Port)
	require.Equal(t, "marker/marker:1003/UDP", marker(3).name())
	require.NotEqual(t, marker(3).endpoints(), marker(4).endpoints())
	require.Equal(t, "mine", marker(3).service("mine").Labels["service.kubernetes.io/service-proxy-name"])
}
