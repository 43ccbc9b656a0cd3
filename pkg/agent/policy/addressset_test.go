// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddressSet(t *testing.T) {
	a, b, c := netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3"), netip.MustParseAddr("2001:db8::1")
	mapped := netip.AddrFrom16(a.As16())
	var none AddressSet
	edit := none.Edit()
	for _, addr := range []netip.Addr{c, b, a, mapped} {
		edit.Add(addr)
	}
	first := edit.Set()
	edit.Remove(b)
	edit.Remove(a)
	edit.Remove(netip.MustParseAddr("10.0.0.9"))
	second := edit.Set()
	edit.Remove(a)
	third := edit.Set()

	require.Equal(t, []netip.Addr{a, b, c}, slices.Collect(first.All()))
	require.Equal(t, []netip.Addr{a, c}, slices.Collect(second.All()), "added twice, removed once")
	require.Equal(t, []netip.Addr{c}, slices.Collect(third.All()))
	require.Empty(t, slices.Collect(none.All()))
	require.Equal(t, 3, first.Len())
	for _, addr := range []netip.Addr{a, mapped, b, c} {
		require.True(t, first.Contains(addr), addr)
		require.False(t, none.Contains(addr), addr)
	}
	require.False(t, third.Contains(mapped))
	for addr := range first.All() {
		require.Equal(t, a, addr, "the iteration can be stopped")
		break
	}
}
