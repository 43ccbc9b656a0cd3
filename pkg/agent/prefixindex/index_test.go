// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package prefixindex

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// random networks in so few addresses that many overlap.
func random(r *rand.Rand) netip.Prefix {
	if r.IntN(2) == 0 {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(256))}), 20+r.IntN(13)).Masked()
	}
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(r.IntN(256))}), 116+r.IntN(13)).Masked()
}

func TestOverlapping(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x Index[int]
	all := map[netip.Prefix]int{}
	for i := range 20000 {
		p := random(r)
		if r.IntN(3) == 0 {
			x.Delete(p)
			delete(all, p)
		} else {
			x.Set(p, i)
			all[p] = i
		}
		require.Equal(t, len(all), x.Len())
		q := random(r)
		want := maps.Clone(all)
		maps.DeleteFunc(want, func(have netip.Prefix, _ int) bool { return !have.Overlaps(q) })
		require.Equal(t, want, maps.Collect(x.Overlapping(q)), "networks that overlap %v", q)
		got, ok := x.Get(q)
		value, known := all[q]
		require.Equal(t, known, ok)
		require.Equal(t, value, got)
	}
	require.Equal(t, all, maps.Collect(x.All()))
	var order []netip.Prefix
	for p := range x.All() {
		order = append(order, p)
	}
	require.True(t, slices.IsSortedFunc(order, compare))
}

func TestOverlappingEnds(t *testing.T) {
	var x Index[string]
	for p := range x.Overlapping(netip.MustParsePrefix("0.0.0.0/0")) {
		t.Fatalf("%v in an empty index", p)
	}
	for _, text := range []string{"10.0.0.0/8", "10.1.0.0/16", "10.1.1.0/24", "10.1.1.4/32", "10.2.0.0/16"} {
		x.Set(netip.MustParsePrefix(text), text)
	}
	var seen []string
	for _, text := range x.Overlapping(netip.MustParsePrefix("10.1.1.0/24")) {
		seen = append(seen, text)
	}
	require.Equal(t, []string{"10.1.0.0/16", "10.0.0.0/8", "10.1.1.0/24", "10.1.1.4/32"}, seen)
	for first := range x.Overlapping(netip.MustParsePrefix("10.1.1.0/24")) {
		require.Equal(t, netip.MustParsePrefix("10.1.0.0/16"), first)
		break
	}
}
