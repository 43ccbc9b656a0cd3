// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func planOf(t *testing.T, seed uint64, only string) plan {
	t.Helper()
	p, err := newPlan(seed, kinds, regexp.MustCompile(only))
	require.NoError(t, err)
	return p
}

func TestSameSeedSamePlan(t *testing.T) {
	first, again, other := planOf(t, 7, ""), planOf(t, 7, ""), planOf(t, 8, "")
	differ := 0
	for i := 99; i >= 0; i-- { // in whichever order they are asked for
		require.Equal(t, first.event(i), again.event(i))
		if first.event(i).String() != other.event(i).String() {
			differ++
		}
	}
	require.Greater(t, differ, 90)
}

func TestEveryKindIsDrawn(t *testing.T) {
	drawn, nodes := map[string]int{}, map[int]int{}
	p := planOf(t, 1, "")
	for i := range 2000 {
		e := p.event(i)
		drawn[e.kind.name]++
		nodes[e.node]++
		require.LessOrEqual(t, e.pause, e.kind.pause)
		require.GreaterOrEqual(t, e.length, e.kind.length[0])
		require.LessOrEqual(t, e.length, e.kind.length[1])
	}
	for _, k := range kinds {
		require.InDelta(t, float64(2000*k.weight)/float64(p.total), drawn[k.name], 60, k.name)
	}
	require.InDelta(t, 1000, nodes[0], 100)
}

func TestOnlySomeKinds(t *testing.T) {
	p := planOf(t, 1, "^agent-")
	for i := range 100 {
		require.Regexp(t, "^agent-", p.event(i).kind.name)
	}
	_, err := newPlan(1, kinds, regexp.MustCompile("^nothing$"))
	require.ErrorContains(t, err, "no kind of event")
}

// TestKinds: the table is complete, and a bound belongs to flows that are concerned.
func TestKinds(t *testing.T) {
	names := map[string]bool{}
	all := slices.Concat(kinds, sabotage)
	for _, k := range all {
		require.False(t, names[k.name], k.name)
		names[k.name] = true
		require.Positive(t, k.weight, k.name)
		require.NotNil(t, actions[k.name], k.name)
		concerned := 0
		for _, f := range allFlows() {
			if k.concerns(f) {
				concerned++
			}
		}
		require.Equal(t, concerned > 0, k.bound > 0, k.name)
	}
	require.Len(t, actions, len(all))
}

// TestTakeover: what an event concerns when there are no hits, and that it is counted apart.
func TestTakeover(t *testing.T) {
	lasting, opened := flow{pattern: ping}, flow{pattern: short}
	for _, k := range kinds {
		met := k.duringTakeover()
		require.Equal(t, k.name+", takeover", met.name)
		require.Zero(t, met.hits)
		require.Equal(t, k.concerns(lasting) || k.withoutHits != nil, met.concerns(lasting), k.name)
		require.Equal(t, k.concerns(opened), met.concerns(opened), k.name)
	}
}
