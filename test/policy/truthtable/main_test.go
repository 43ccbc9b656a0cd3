// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/policy"
)

// The comparison finds that what is in force is of another world, and sees when it is right.
func TestCompareFindsDifferences(t *testing.T) {
	generator := policy.NewGenerator(rand.New(rand.NewPCG(3, 0)))
	world := generator.Next()
	for len(world.Policies) == 0 {
		world = generator.Next()
	}
	c, err := newCluster(t.Context(), world, t.TempDir())
	require.NoError(t, err)
	defer c.stop()
	right := func(w *policy.World, probes []*policy.Probe) func() bool {
		return func() bool { return len(c.compare(w, probes)) == 0 }
	}
	require.Eventually(t, right(world, generator.Probes(world)), time.Minute, time.Millisecond)

	open := *world
	open.Policies = nil
	probes := generator.Probes(&open)
	require.NotEmpty(t, c.compare(&open, probes), "policies are in force that this world does not have")
	require.NoError(t, c.change(t.Context(), world, &open))
	require.Eventually(t, right(&open, probes), time.Minute, time.Millisecond)
}
