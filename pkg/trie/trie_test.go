// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package trie

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireContent compares a Map with a Go map.
func requireContent(t *testing.T, want map[string]int, m Map[int]) {
	t.Helper()
	var keys []string
	for key, value := range m.All() {
		keys = append(keys, key)
		require.Equal(t, want[key], value, key)
	}
	require.Equal(t, slices.Sorted(maps.Keys(want)), keys, "in the order of strings")
	require.Equal(t, len(want), m.Len())
}

// randomKey returns keys some of which are prefixes of others.
func randomKey(rng *rand.Rand) string {
	key := make([]byte, rng.IntN(4))
	for i := range key {
		key[i] = []byte{0, 1, 'a', 0x80, 0xff}[rng.IntN(5)]
	}
	return string(key)
}

// keysOf returns the keys that only the first one has.
func keysOf(first, second map[string]int) map[string]int {
	only := map[string]int{}
	for key := range first {
		if _, both := second[key]; !both {
			only[key] = 1
		}
	}
	return only
}

func TestMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	type version struct {
		m    Map[int]
		want map[string]int
	}
	versions := []version{{Map[int]{}, map[string]int{}}}
	for range 300 {
		from := versions[rng.IntN(len(versions))]
		edit, want := from.m.Edit(), maps.Clone(from.want)
		for i := range rng.IntN(30) {
			key := randomKey(rng)
			if rng.IntN(2) == 0 {
				edit.Delete(key)
				delete(want, key)
			} else {
				edit.Put(key, i)
				want[key] = i
			}
			value, ok := edit.Get(key)
			_, wanted := want[key]
			require.Equal(t, wanted, ok)
			require.Equal(t, want[key], value)
		}
		made := version{edit.Map(), want}
		edit.Put("after Map", 1)
		versions = append(versions, made)

		other := versions[rng.IntN(len(versions))]
		removed, added := map[string]int{}, map[string]int{}
		other.m.Diff(made.m, func(key string) { removed[key]++ }, func(key string) { added[key]++ })
		require.Equal(t, keysOf(other.want, made.want), removed)
		require.Equal(t, keysOf(made.want, other.want), added)

		var again Map[int]
		fresh := again.Edit()
		for _, key := range slices.Sorted(maps.Keys(want)) {
			fresh.Put(key, want[key])
		}
		again = fresh.Map()
		require.Equal(t, shape(again.root), shape(made.m.root), "the shape does not depend on how the map was made")
	}
	for _, v := range versions {
		requireContent(t, v.want, v.m)
	}
}

func shape(n *node[int]) string {
	switch {
	case n == nil:
		return "()"
	case n.leaf():
		return fmt.Sprintf("%q", n.key)
	default:
		return fmt.Sprintf("(%d %s %s)", n.bit, shape(n.children[0]), shape(n.children[1]))
	}
}

// Changing a key visits and copies only the nodes on the path to it.
func TestEditSharesWhatItLeaves(t *testing.T) {
	edit := Map[int]{}.Edit()
	for i := range 100_000 {
		edit.Put(fmt.Sprintf("%05d", i), i)
	}
	before := edit.Map()
	var after Map[int]
	const way = 9 * 6
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		edit := before.Edit()
		edit.Put("50000x", 1)
		edit.Delete("70000")
		after = edit.Map()
	}), 2.0*way)
	shared := map[*node[int]]bool{}
	walk(before.root, func(n *node[int]) { shared[n] = true })
	copied := 0
	walk(after.root, func(n *node[int]) {
		if !shared[n] {
			copied++
		}
	})
	require.LessOrEqual(t, copied, 2*way)
	var told []string
	before.Diff(after, func(key string) { told = append(told, "-"+key) }, func(key string) { told = append(told, "+"+key) })
	require.Equal(t, []string{"+50000x", "-70000"}, told)
}

func walk(n *node[int], visit func(*node[int])) {
	if n == nil {
		return
	}
	visit(n)
	walk(n.children[0], visit)
	walk(n.children[1], visit)
}
