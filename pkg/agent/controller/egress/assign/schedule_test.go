// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
)

// makeEgresses returns Egresses of two pools, some with a shared address.
func makeEgresses(rng *rand.Rand, n int) (egresses []Egress) {
	for i := range n {
		egresses = append(egresses, Egress{
			Name: fmt.Sprint("e", i), Created: time.Unix(rng.Int64N(5), 0), Pool: "a", Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(rng.IntN(n))}),
		})
	}
	return egresses
}

// TestOwnership: agents with the same members agree, whatever the order of their objects; a Node has no more addresses than it may have, and
// an address is left without a Node only if all are full. The end of a Node moves no address of another one.
func TestOwnership(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 37))
		var nodes []string
		for i := range 1 + rng.IntN(6) {
			nodes = append(nodes, fmt.Sprint("node-", i))
		}
		egresses, most := makeEgresses(rng, 1+rng.IntN(40)), rng.IntN(8)
		limit := func(string) int { return most }
		one := Schedule(egresses, map[string]*memberlist.Ring{"a": memberlist.NewRing(nodes)}, limit)
		shuffled := slices.Clone(nodes)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		rng.Shuffle(len(egresses), func(i, j int) { egresses[i], egresses[j] = egresses[j], egresses[i] })
		require.Equal(t, one, Schedule(egresses, map[string]*memberlist.Ring{"a": memberlist.NewRing(shuffled)}, limit))
		had := map[string]map[netip.Addr]bool{}
		for _, node := range nodes {
			had[node] = map[netip.Addr]bool{}
		}
		placed := 0
		for _, e := range egresses {
			if node, ok := one[e.Name]; ok && !had[node][e.Addr] {
				had[node][e.Addr] = true
				placed++
			}
		}
		for node, addresses := range had {
			require.LessOrEqual(t, len(addresses), most, node)
		}
		if len(one) < len(egresses) {
			require.Equal(t, most*len(nodes), placed, "an address has no Node, but there is room")
		}
		requireOneOwner(t, egresses, one)

		unlimited := func(string) int { return 255 }
		before := Schedule(egresses, map[string]*memberlist.Ring{"a": memberlist.NewRing(nodes)}, unlimited)
		after := Schedule(egresses, map[string]*memberlist.Ring{"a": memberlist.NewRing(nodes[1:])}, unlimited)
		for name, node := range before {
			if node != nodes[0] {
				require.Equal(t, node, after[name], "a Node that stays keeps its addresses")
			}
		}
	}
}

// requireOneOwner: Egresses with the same address have the same Node.
func requireOneOwner(t *testing.T, egresses []Egress, schedule map[string]string) {
	t.Helper()
	owners := map[netip.Addr]string{}
	for _, e := range egresses {
		if node, ok := schedule[e.Name]; ok {
			require.Contains(t, []string{"", node}, owners[e.Addr], "%s has two Nodes", e.Addr)
			owners[e.Addr] = node
		}
	}
}

// TestLimits: the oldest Egress is first, an address counts once, and 0 means none.
func TestLimits(t *testing.T) {
	addr := netip.MustParseAddr("169.254.100.2")
	later := netip.MustParseAddr("169.254.101.10")
	egresses := []Egress{
		{"b", time.Unix(2, 0), "p", later}, {"c", time.Unix(1, 0), "p", addr}, {"a", time.Unix(2, 0), "p", addr}, {"d", time.Unix(0, 0), "unknown", addr},
	}
	rings := map[string]*memberlist.Ring{"p": memberlist.NewRing([]string{"node-1", "node-2"})}
	room := func(n int) func(string) int {
		return func(node string) int {
			if node == "node-1" {
				return n
			}
			return 1
		}
	}
	require.Equal(t, map[string]string{"c": "node-1", "a": "node-1", "b": "node-2"}, Schedule(egresses, rings, room(1)))
	require.Equal(t, map[string]string{"c": "node-2", "a": "node-2"}, Schedule(egresses, rings, room(0)))
}
