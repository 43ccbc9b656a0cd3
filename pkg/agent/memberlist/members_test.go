// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"errors"
	"hash/crc32"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestRing has the places and owners that agents of Antrea compute.
func TestRing(t *testing.T) {
	require.Equal(t, uint32(2537539536), crc32.ChecksumIEEE([]byte("0node-1")))
	require.Equal(t, uint32(1650953769), crc32.ChecksumIEEE([]byte("49node-2")))
	two, three := NewRing([]string{"node-1", "node-2"}), NewRing([]string{"node-3", "node-1", "node-2"})
	for addr, want := range map[string][3]string{
		"169.254.100.1":  {"node-2", "node-2", "node-2"},
		"169.254.100.2":  {"node-1", "node-1", "node-3"},
		"169.254.101.1":  {"node-2", "node-2", "node-2"},
		"169.254.101.10": {"node-1", "node-1", "node-3"},
		"10.10.0.11":     {"node-2", "node-3", "node-3"},
		"10.10.0.12":     {"node-1", "node-3", "node-3"},
		"2021:1::aaa1":   {"node-2", "node-3", "node-3"},
	} {
		every := func(string) bool { return true }
		first, _ := two.Owner(addr, every)
		second, _ := three.Owner(addr, every)
		full, _ := three.Owner(addr, func(node string) bool { return node != "node-1" })
		require.Equal(t, want, [3]string{first, second, full}, addr)
	}
	_, ok := NewRing(nil).Owner("10.0.0.1", func(string) bool { return true })
	require.False(t, ok)
	_, ok = two.Owner("10.0.0.1", func(string) bool { return false })
	require.False(t, ok)
}

// TestSnapshot: a pool's ring has the Nodes that are alive, known and selected; while the members are unknown there is no owner.
func TestSnapshot(t *testing.T) {
	addr := netip.MustParseAddr("169.254.100.1")
	nodes := map[string]labels.Set{"node-1": {"zone": "a"}, "node-2": nil, "dead": {"zone": "a"}}
	pools := map[string]labels.Selector{
		"all": labels.Everything(), "a": labels.SelectorFromSet(labels.Set{"zone": "a"}), "b": labels.SelectorFromSet(labels.Set{"zone": "b"}),
	}
	s := newSnapshot(sets.New("node-1", "node-2", "unknown"), nodes, pools)
	owner := func(pool string, accept func(string) bool) string {
		node, err := s.Owner(pool, addr, accept)
		if err != nil {
			return err.Error()
		}
		return node
	}
	require.Equal(t, "node-2", owner("all", nil))
	require.Equal(t, "node-1", owner("all", func(node string) bool { return node != "node-2" }))
	require.Equal(t, "node-1", owner("a", nil))
	require.Equal(t, "no Node available", owner("b", nil))
	require.Equal(t, "ExternalIPPool none does not exist", owner("none", nil))
	s.Unknown = errors.New("no key")
	require.Equal(t, "no key", owner("all", nil))
}

// TestGained: only a Node that came, of the pool, may have claimed the pool's addresses.
func TestGained(t *testing.T) {
	nodes := map[string]labels.Set{"node-1": {"zone": "a"}, "node-2": {"zone": "a"}, "node-3": {"zone": "b"}}
	pools := map[string]labels.Selector{"a": labels.SelectorFromSet(labels.Set{"zone": "a"})}
	alive := func(names ...string) *Snapshot { return newSnapshot(sets.New(names...), nodes, pools) }
	one, two := alive("node-1"), alive("node-1", "node-2")
	require.True(t, two.Gained(one).Has("a"))
	require.False(t, one.Gained(two).Has("a"), "it has left")
	require.False(t, two.Gained(alive("node-1", "node-2")).Has("a"))
	require.False(t, alive("node-1", "node-3").Gained(one).Has("a"), "not of the pool")
	require.True(t, alive("node-2").Gained(one).Has("a"), "one has left, one came")
	require.False(t, two.Gained(one).Has("gone"))
	require.True(t, one.Gained(nil).Has("a"))
	unknown := alive("node-1", "node-2")
	unknown.Unknown = errors.New("no key")
	require.True(t, one.Gained(unknown).Has("a"), "any Node may have claimed while the members were unknown")
	require.False(t, unknown.Gained(one).Has("a"))
}
