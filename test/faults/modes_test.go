// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

func namesOf(kinds []kind) (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// TestFit: each mode has the events that make sense in it, and says why it lacks others.
func TestFit(t *testing.T) {
	all := slices.Concat(kinds, sabotage)
	for mode, lacking := range map[cluster.Mode]string{
		cluster.Encap:     "route-deleted node-moves wireguard-deleted wireguard-key in-clear",
		cluster.NoEncap:   "egress-moves egress-owner-kill gossip-cut wireguard-deleted wireguard-key wrong-source in-clear",
		cluster.Hybrid:    "egress-moves egress-owner-kill gossip-cut wireguard-deleted wireguard-key wrong-source in-clear",
		cluster.WireGuard: "egress-moves egress-owner-kill gossip-cut clock-step wrong-source",
	} {
		fitting, leftOut := fit(all, options{mode: mode, gateOn: true})
		var missing []string
		for _, name := range namesOf(all) {
			if !slices.Contains(namesOf(fitting), name) {
				missing = append(missing, name)
				require.Regexp(t, "(?m)^"+name+" is left out: .+", leftOut)
			}
		}
		require.Equal(t, lacking, strings.Join(missing, " "), mode)
		require.Len(t, strings.Split(leftOut, "\n"), len(missing))
	}
}

// TestEncryptedFlowsHaveNoHits: with WireGuard an event of Open vSwitch concerns all flows. Elsewhere it does only while the cache is taken over.
func TestEncryptedFlowsHaveNoHits(t *testing.T) {
	for _, mode := range cluster.Modes {
		o := options{mode: mode, gateOn: true}
		require.Equal(t, mode != cluster.WireGuard, o.hits())
		fitting, _ := fit(kinds, o)
		p, err := newPlan(1, fitting, regexp.MustCompile("^ovs-restart$"))
		require.NoError(t, err)
		require.Equal(t, mode == cluster.WireGuard, p.event(0).kind.concerns(flow{pattern: ping}), mode)
	}
	require.False(t, options{mode: cluster.NoEncap}.hits(), "with the gate off")
}

func TestHomes(t *testing.T) {
	now := netip.MustParseAddr("192.168.77.12")
	for _, mode := range cluster.Modes {
		homes := homesOf(mode, now)
		require.Equal(t, home{now, cluster.FabricGateway}, homes[0])
		near := netip.PrefixFrom(now, 24).Contains(homes[1].address)
		require.Equal(t, mode == cluster.NoEncap, near)
		require.Equal(t, near, homes[1].router == cluster.FabricGateway)
		require.True(t, netip.PrefixFrom(homes[1].router, 24).Contains(homes[0].address) == near)
	}
}

func TestReplayHasTheMode(t *testing.T) {
	require.Empty(t, options{mode: cluster.Encap, tunnel: tunnelEncap}.args())
	require.Equal(t, " FAULTS_ARGS=-tunnel=rewrite", options{mode: cluster.Encap, tunnel: tunnelRewrite}.args())
	require.Equal(t, " FAULTS_ARGS=-mode=wireGuard", options{mode: cluster.WireGuard, tunnel: tunnelEncap}.args())
}

func TestCacheInMode(t *testing.T) {
	for _, mode := range cluster.Modes {
		require.Equal(t, map[string]any{"maxFlows": 5, "tunnel": "encap", "direct": mode.Direct()}, options{mode: mode, tunnel: tunnelEncap}.cache(5))
	}
}
