// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/policy"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agentOrder {
		fmt.Fprintln(os.Stderr, "agent:", runAgent(os.Stdin, os.Stdout))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newKilling starts a cluster with agents of their own under policies that forbid something.
func newKilling(t *testing.T) (k *killing, world *policy.World, probes []*policy.Probe) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 0))
	k = &killing{rng: rng, generator: policy.NewGenerator(rng), r: &killResult{}}
	open := k.generator.Next()
	open.Policies = nil
	require.NoError(t, k.start(t.Context(), t, open))
	require.NoError(t, k.establish(open))
	forbidden := func() (n int) {
		for _, p := range probes {
			if !world.Allowed(p) {
				n++
			}
		}
		return n
	}
	for world == nil || forbidden() < mostAtOnce/4 {
		world = k.generator.Next()
		probes = k.sample(world)
	}
	require.NoError(t, k.c.change(t.Context(), open, world))
	require.NoError(t, k.c.settle(t.Context(), k.f))
	k.requireRight(t, world, world, probes)
	return k, world, probes
}

func (k *killing) requireRight(t *testing.T, before, after *policy.World, probes []*policy.Probe) {
	t.Helper()
	require.NoError(t, k.try(before, after, probes))
	require.Zero(t, k.r.wrong)
	require.Zero(t, k.r.lost)
}

// An agent that starts while antrea-controller is unreachable keeps its predecessor's rules in force, continues from the policies on
// disk, and adopts changes once antrea-controller is back.
func TestStartWithoutController(t *testing.T) {
	k, world, probes := newKilling(t)
	a := k.agents[0]
	k.stopServing[0]()
	require.NoError(t, a.kill())
	require.NoError(t, a.start())
	for !a.isReady() {
		k.requireRight(t, world, world, probes)
	}
	k.requireRight(t, world, world, probes)

	next := *world
	next.Policies = world.Policies[1:]
	require.NoError(t, k.c.change(t.Context(), world, &next))
	k.requireRight(t, world, &next, probes)
	require.NoError(t, k.serve(0))
	require.NoError(t, k.c.settle(t.Context(), k.f))
	k.requireRight(t, &next, &next, probes)
}

// A watch that breaks in the middle of a change misses nothing.
func TestBrokenWatch(t *testing.T) {
	k, world, probes := newKilling(t)
	next := k.generator.Next()
	k.stopServing[0]()
	require.NoError(t, k.c.change(t.Context(), world, next))
	k.stopServing[1]()
	for i := range k.agents {
		require.NoError(t, k.serve(i))
	}
	require.NoError(t, k.c.settle(t.Context(), k.f))
	k.requireRight(t, next, next, probes)
}

// An agent that begins the round of its predecessor again deletes the flows that are in force. The test detects that.
func TestFindsRoundBegunAgain(t *testing.T) {
	k, world, probes := newKilling(t)
	a := k.agents[0]
	k.stopServing[0]()
	require.NoError(t, a.kill())
	a.begun--
	require.NoError(t, a.start())
	for !a.isReady() && k.r.wrong == 0 {
		if err := k.try(world, world, probes); err != nil {
			return // not even the fences arrive
		}
	}
	require.Positive(t, k.r.wrong)
}
