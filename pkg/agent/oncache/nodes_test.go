// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// change tells the ledger of a change that the switch has accepted.
func (e *env) change(c coherency.Change) {
	_, end := e.Begin(c)
	end(nil)
}

// TestSharedPodNetwork: when several Nodes have the same Pod network, the last one gets it; when that one goes, the one
// before.
func TestSharedPodNetwork(t *testing.T) {
	network := netip.MustParsePrefix("10.10.2.0/24")
	first, second, third := remote("first", "192.168.77.11", "10.10.2.0/24"), remote("second", "192.168.77.12", "10.10.2.0/24"), remote("third", "192.168.77.13", "10.10.2.0/24")
	moved := remote("second", "192.168.77.12", "10.10.9.0/24")
	for _, tc := range []struct {
		name   string
		then   coherency.Change
		leads  string
		nobody bool
	}{
		{name: "the last one leaves", then: coherency.Change{RemovedNodes: []string{"third"}}, leads: "second"},
		{name: "the last two leave", then: coherency.Change{RemovedNodes: []string{"third", "second"}}, leads: "first"},
		{name: "one that has lost it leaves", then: coherency.Change{RemovedNodes: []string{"second"}}, leads: "third"},
		{name: "the last one gets other networks, and the one before",
			then: coherency.Change{RemovedNodes: []string{"third"}, Nodes: []coherency.Node{moved}}, leads: "first"},
		{name: "one that has lost it gets another address",
			then: coherency.Change{Nodes: []coherency.Node{remote("first", "192.168.77.99", "10.10.2.0/24")}}, leads: "first"},
		{name: "all leave", then: coherency.Change{RemovedNodes: []string{"first", "second", "third"}}, nobody: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnv(t)
			for _, n := range []coherency.Node{first, second, third} {
				e.change(coherency.Change{Nodes: []coherency.Node{n}})
			}
			e.change(tc.then)
			slot, leads := e.slots.networks[network]
			require.Equal(t, !tc.nobody, leads)
			if leads {
				require.NotNil(t, e.slotNodes[slot])
				require.Equal(t, tc.leads, e.slotNodes[slot].Name)
			}
		})
	}
}

// TestNodesAtRandom: Nodes come, go and change with random networks. Each network always leads to the present Node that was
// announced with it last, and a network of no Node leads nowhere.
func TestNodesAtRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	e := newEnv(t, "a")
	var order []coherency.Node // as announced
	without := func(name string) (rest []coherency.Node) {
		for _, n := range order {
			if n.Name != name {
				rest = append(rest, n)
			}
		}
		return rest
	}
	for step := range 2000 {
		name := fmt.Sprintf("node-%d", random.IntN(5))
		var c coherency.Change
		if random.IntN(3) == 0 {
			c.RemovedNodes = []string{name}
			order = without(name)
		} else {
			n := remote(name, fmt.Sprintf("192.168.77.%d", random.IntN(3)))
			for _, i := range random.Perm(4)[:random.IntN(3)] {
				n.PodCIDRs = append(n.PodCIDRs, netip.MustParsePrefix(fmt.Sprintf("10.10.%d.0/%d", i/2, 24+i%2)))
			}
			c.Nodes = []coherency.Node{n}
			if known := e.nodes[name]; !sameNodes(known, c.Nodes) { // an unchanged Node keeps its place
				order = append(without(name), n)
			}
		}
		e.change(c)

		want, have := map[netip.Prefix]string{}, map[netip.Prefix]string{}
		for _, n := range order {
			for _, p := range n.PodCIDRs {
				want[p] = n.Name
			}
		}
		for p, slot := range e.slots.networks {
			require.NotNil(t, e.slotNodes[slot], "step %d, %+v: %v leads to slot %d, which is unused", step, c, p, slot)
			have[p] = e.slotNodes[slot].Name
		}
		require.Empty(t, cmp.Diff(want, have), "step %d, %+v", step, c)
	}
}

// TestPlainNode: a Node that is reached without the tunnel has neither slot nor Pod network, and evicts what was learned when it was behind it. Users see
// it with the reason.
func TestPlainNode(t *testing.T) {
	tunneled := remote("second", "192.168.77.12", "10.10.2.0/24")
	direct := tunneled
	direct.Reach.Kind = reach.Direct
	e := newEnv(t)
	e.change(coherency.Change{Nodes: []coherency.Node{tunneled}})
	require.Len(t, e.slots.networks, 1)
	for range 2 {
		before := e.evictions.Node
		require.True(t, e.changesNodes(coherency.Change{Nodes: []coherency.Node{direct}}), "every Pod gets a new epoch")
		e.change(coherency.Change{Nodes: []coherency.Node{direct}})
		require.Equal(t, before+1, e.evictions.Node)
		require.Empty(t, e.slots.networks)
		require.Empty(t, e.eachNode())
		require.Equal(t, map[string][]coherency.Node{"second": {direct}}, e.plain)
		e.change(coherency.Change{Nodes: []coherency.Node{tunneled}})
		require.Len(t, e.slots.networks, 1)
		require.Empty(t, e.plain)
	}
	e.change(coherency.Change{Nodes: []coherency.Node{direct}})
	e.change(coherency.Change{RemovedNodes: []string{"second"}})
	require.Empty(t, e.plain)
}

// TestDirectNode: a Node that is reached directly has a slot if the cache knows such Nodes, and a new one when it moves behind the tunnel and back.
// Each move gives every Pod a new epoch. A Node that is routed in another way stays on Open vSwitch.
func TestDirectNode(t *testing.T) {
	e := newEnv(t)
	e.direct = true
	node := func(kind reach.Kind) coherency.Change {
		n := remote("second", "192.168.77.12", "10.10.2.0/24")
		n.Reach.Kind = kind
		return coherency.Change{Nodes: []coherency.Node{n}}
	}
	for _, tc := range []struct {
		kind   reach.Kind
		writes []string
	}{
		{reach.Direct, []string{"direct node 0 192.168.77.12", "network 10.10.2.0/24 -> 0"}},
		{reach.Direct, nil},
		{reach.Tunnel, []string{"no network 10.10.2.0/24", "clear node 0", "node 0 192.168.77.12", "network 10.10.2.0/24 -> 0"}},
		{reach.Direct, []string{"no network 10.10.2.0/24", "clear node 0", "direct node 0 192.168.77.12", "network 10.10.2.0/24 -> 0"}},
		{reach.Routed, []string{"no network 10.10.2.0/24", "clear node 0"}},
		{reach.WireGuard, nil},
	} {
		had := len(e.eachNode()) > 0
		require.Equal(t, had && len(tc.writes) > 0, e.changesNodes(node(tc.kind)), "%v", tc.kind)
		e.slots.take()
		e.change(node(tc.kind))
		require.Equal(t, tc.writes, e.slots.take(), "%v", tc.kind)
	}
	require.Len(t, e.plain, 1)
}
