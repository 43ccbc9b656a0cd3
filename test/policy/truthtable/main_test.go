// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
)

// check settles the cluster and returns the wrong probes of a world.
func check(t *testing.T, c *cluster, f *fabric, world *policy.World, probes []*policy.Probe) []*trial {
	t.Helper()
	require.NoError(t, c.settle(t.Context(), f))
	wrong, err := f.check(world, f.trials(probes))
	require.NoError(t, err)
	return wrong
}

// The check notices that policies of another world are in force, and is content once they are not.
func TestFindsPoliciesOfAnotherWorld(t *testing.T) {
	generator := policy.NewGenerator(rand.New(rand.NewPCG(3, 0)))
	world := generator.Next()
	for len(world.Policies) == 0 {
		world = generator.Next()
	}
	c, f, err := start(t.Context(), t, world)
	require.NoError(t, err)
	require.Empty(t, check(t, c, f, world, generator.Probes(world)))

	open := *world
	open.Policies = nil
	probes := generator.Probes(&open)
	wrong := check(t, c, f, &open, probes)
	require.NotEmpty(t, wrong)
	require.Contains(t, f.trace(wrong[0]), "conj_id", "a failure shows the flows")
	require.Contains(t, f.trace(wrong[0]), "Datapath actions", "a failure shows how the packet was treated")
	require.NoError(t, c.change(t.Context(), world, &open))
	require.Empty(t, check(t, c, f, &open, probes))
}

// The agents' rules are right, but the switch lacks one flow of a conjunction. Packets reveal that.
func TestFindsMissingClause(t *testing.T) {
	const mostSets = 20
	rng := rand.New(rand.NewPCG(5, 0))
	generator := policy.NewGenerator(rng)
	world := generator.Next()
	c, f, err := start(t.Context(), t, world)
	require.NoError(t, err)
	for range mostSets {
		probes := generator.Probes(world)
		require.Empty(t, check(t, c, f, world, probes))
		for _, n := range f.Nodes {
			clauses := clausesOf(n)
			if len(clauses) == 0 {
				continue
			}
			missing := clauses[rng.IntN(len(clauses))]
			match, _, _ := strings.Cut(missing, " actions=")
			n.OVS.Ofctl("--strict", "del-flows", switchpair.BridgeName, match)
			wrong, err := f.check(world, f.trials(probes))
			require.NoError(t, err)
			n.OVS.Ofctl("add-flow", switchpair.BridgeName, missing)
			for _, w := range wrong {
				require.True(t, world.Allowed(w.Probe), "%v: a missing clause must not allow anything", w)
				require.True(t, c.allows(w.Probe), "%v: the agents' rules do not know that a flow is missing", w)
			}
			if len(wrong) > 0 {
				return
			}
		}
		next := generator.Next()
		require.NoError(t, c.change(t.Context(), world, next))
		world = next
	}
	t.Fatalf("no missing clause was found in %d sets", mostSets)
}

// clausesOf returns the flows with conjunctions of a switch, in the syntax of add-flow.
func clausesOf(n *switchpair.Node) []string {
	var clauses []string
	for _, flow := range n.OVS.DumpFlows(switchpair.BridgeName) {
		if strings.Contains(flow, "conjunction(") {
			_, flow, _ = strings.Cut(flow, ", ") // the cookie
			clauses = append(clauses, flow)
		}
	}
	return clauses
}

// Each round has at most one SCTP connection between the same two addresses.
func TestRounds(t *testing.T) {
	a, b, c := &policy.Pod{Name: "a"}, &policy.Pod{Name: "b"}, &policy.Pod{Name: "c"}
	trialOf := func(from, to *policy.Pod, ipv6 bool, protocol corev1.Protocol) *trial {
		return &trial{Probe: &policy.Probe{From: from, To: to, IPv6: ipv6, Protocol: protocol}}
	}
	tcp := trialOf(a, b, false, corev1.ProtocolTCP)
	first, back, six, other := trialOf(a, b, false, corev1.ProtocolSCTP), trialOf(b, a, false, corev1.ProtocolSCTP),
		trialOf(a, b, true, corev1.ProtocolSCTP), trialOf(a, c, false, corev1.ProtocolSCTP)
	require.Equal(t, [][]*trial{{tcp, first, six, other}, {back}}, rounds([]*trial{tcp, first, back, six, other}))
}
