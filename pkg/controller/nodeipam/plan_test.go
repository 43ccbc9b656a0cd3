// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeipam

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func prefixes(texts ...string) (networks []netip.Prefix) {
	for _, text := range texts {
		networks = append(networks, netip.MustParsePrefix(text))
	}
	return networks
}

func of(name string, networks ...string) node {
	return node{name: name, uid: name, networks: prefixes(networks...)}
}

// outcome describes operations.
func outcome(operations []operation) (lines []string) {
	for _, o := range operations {
		line := o.node.name
		for _, network := range o.networks {
			line += " " + network.String()
		}
		if o.refusal != "" {
			line += ": " + o.refusal
		}
		lines = append(lines, line)
	}
	return lines
}

func TestPlan(t *testing.T) {
	small := Config{Cluster: prefixes("10.10.0.0/22"), Bits4: 24}
	for _, tc := range []struct {
		name   string
		config Config
		nodes  []node
		want   []string
	}{
		{name: "nothing to do", config: small, nodes: []node{of("a", "10.10.1.0/24")}},
		{name: "in order, behind the others", config: small, nodes: []node{of("a", "10.10.0.0/24"), of("b"), of("c")}, want: []string{"b 10.10.1.0/24", "c 10.10.2.0/24"}},
		{name: "gaps are used at the end", config: small, nodes: []node{of("a", "10.10.2.0/24"), of("b"), of("c"), of("d"), of("e")}, want: []string{
			"b 10.10.3.0/24", "c 10.10.0.0/24", "d 10.10.1.0/24", "e: all 4 networks /24 of 10.10.0.0/22 are in use",
		}},
		{name: "both IP versions", config: Config{Cluster: prefixes("10.10.0.0/16", "fd00:10::/56"), Bits4: 24, Bits6: 64}, nodes: []node{of("a", "10.10.4.0/24", "fd00:10::/64"), of("b")},
			want: []string{"b 10.10.5.0/24 fd00:10:0:1::/64"}},
		{name: "one IP version is exhausted, and nothing of the other is taken", config: Config{Cluster: prefixes("10.10.0.0/16", "fd00:10::/64"), Bits4: 24, Bits6: 64},
			nodes: []node{of("a", "fd00:10::/64"), of("b")}, want: []string{"b: all 1 networks /64 of fd00:10::/64 are in use"}},
		{name: "Services", config: Config{Cluster: prefixes("10.10.0.0/22"), Bits4: 24, Services: prefixes("10.10.0.0/23", "10.10.2.128/25", "fd00::/112")}, nodes: []node{of("a")},
			want: []string{"a 10.10.3.0/24"}},
		{name: "Services have everything", config: Config{Cluster: prefixes("10.10.0.0/22"), Bits4: 24, Services: prefixes("10.0.0.0/8")}, nodes: []node{of("a")},
			want: []string{"a: all 4 networks /24 of 10.10.0.0/22 are in use"}},
		{name: "larger, smaller and foreign networks of Nodes", config: small, nodes: []node{of("a", "10.10.0.0/23"), of("b", "10.10.2.64/26"), of("c", "192.168.0.0/16"), of("d")},
			want: []string{"d 10.10.3.0/24"}},
		{name: "a Node that cannot be read", config: small, nodes: []node{{name: "a", unreadable: true}}},
		{name: "the whole network is one part", config: Config{Cluster: prefixes("10.10.0.0/24"), Bits4: 24}, nodes: []node{of("a"), of("b")},
			want: []string{"a 10.10.0.0/24", "b: all 1 networks /24 of 10.10.0.0/24 are in use"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, outcome(newAllocator(tc.config).plan(tc.nodes)))
		})
	}
}

// TestReuse: what a Node gave back is used again last.
func TestReuse(t *testing.T) {
	a := newAllocator(Config{Cluster: prefixes("10.10.0.0/22"), Bits4: 24})
	require.Equal(t, []string{"a 10.10.0.0/24", "b 10.10.1.0/24"}, outcome(a.plan([]node{of("a"), of("b")})))
	require.Equal(t, []string{"c 10.10.2.0/24"}, outcome(a.plan([]node{of("b", "10.10.1.0/24"), of("c")})))
	require.Equal(t, []string{"d 10.10.3.0/24", "e 10.10.0.0/24"}, outcome(a.plan([]node{of("b", "10.10.1.0/24"), of("c", "10.10.2.0/24"), of("d"), of("e")})))
}

// TestNeverTwice: whatever happens to Nodes and writes, two Nodes never have networks that overlap, and a Node is refused only if nothing is free.
func TestNeverTwice(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		config := Config{Cluster: prefixes("10.10.0.0/20", "fd00:10::/60"), Bits4: 24, Bits6: 64, Services: prefixes("10.10.5.0/24")}
		a := newAllocator(config)
		var nodes []node
		for step := range 60 {
			if random.IntN(8) == 0 {
				a = newAllocator(config) // another controller
			}
			if random.IntN(3) > 0 {
				nodes = append(nodes, of(fmt.Sprint(step)))
			} else if len(nodes) > 0 {
				i := random.IntN(len(nodes))
				nodes = slices.Delete(nodes, i, i+1)
			}
			for _, o := range a.plan(slices.Clone(nodes)) {
				i := slices.IndexFunc(nodes, func(n node) bool { return n.uid == o.node.uid })
				require.Empty(t, nodes[i].networks)
				if o.refusal != "" {
					require.GreaterOrEqual(t, len(nodes), 15, "refused with free networks")
					continue
				}
				require.Len(t, o.networks, 2)
				if random.IntN(4) > 0 { // otherwise the write fails
					nodes[i].networks = o.networks
				}
			}
			for i, n := range nodes {
				for _, network := range n.networks {
					require.False(t, network.Overlaps(config.Services[0]))
					for _, other := range nodes[:i] {
						if slices.ContainsFunc(other.networks, network.Overlaps) {
							t.Fatalf("seed %d: Nodes %s and %s have %v", seed, other.name, n.name, network)
						}
					}
				}
			}
		}
	}
}

func TestOverlap(t *testing.T) {
	twice := of("twice", "10.10.0.0/24", "10.10.0.0/24", "fd00::/64")
	for name, tc := range map[string]struct {
		nodes []node
		want  string
	}{
		"none":           {[]node{twice, of("b", "10.10.1.0/24", "fd00:0:0:1::/64"), of("c")}, ""},
		"the same":       {[]node{of("b", "10.10.1.0/24"), twice, of("c", "10.10.0.0/24")}, "twice c 10.10.0.0/24"},
		"of IPv6 only":   {[]node{of("b", "10.10.1.0/24", "fd00::/64"), twice}, "b twice fd00::/64"},
		"a part, older":  {[]node{of("part", "10.10.0.128/25"), of("a", "10.10.0.0/26", "10.10.0.64/26"), twice}, "a twice 10.10.0.0/26"},
		"behind its own": {[]node{of("a", "10.10.0.0/16", "10.10.1.0/24"), of("b", "10.10.2.0/24")}, "a b 10.10.2.0/24"},
	} {
		got := ""
		if first, second, network := overlap(tc.nodes); first != nil {
			got = fmt.Sprint(first.name, " ", second.name, " ", network)
		}
		require.Equal(t, tc.want, got, name)
	}
}
