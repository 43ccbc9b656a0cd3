// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func claimant(name string, created int64, ip string, cidrs ...string) *object {
	return &object{name: name, created: created, cidrs: prefixes(cidrs...), addresses: [3][]netip.Addr{1: {netip.MustParseAddr(ip)}}}
}

// A claim that has lost keeps no other from winning. A Node that claims another's address, or an address of its Pods, takes
// nothing from it.
func TestClaims(t *testing.T) {
	x := newClaims()
	cidr := func(text string) netip.Prefix { return netip.MustParsePrefix(text) }
	x.set("old", claimant("old", 1, "192.168.0.1", "10.0.1.0/24"))
	_, affected := x.set("wide", claimant("wide", 2, "192.168.0.2", "10.0.0.0/16"))
	require.Empty(t, affected)
	require.Equal(t, verdict{by: "old", byCIDR: cidr("10.0.1.0/24")}, x.verdict("wide", cidr("10.0.0.0/16")))
	x.set("young", claimant("young", 3, "192.168.0.3", "10.0.2.0/24"))
	require.True(t, x.verdict("young", cidr("10.0.2.0/24")).won, "beside one that has lost")

	_, affected = x.set("old", nil)
	require.Equal(t, []string{"wide", "young"}, affected, "both have another verdict")
	require.True(t, x.verdict("wide", cidr("10.0.0.0/16")).won)
	require.Equal(t, "wide", x.verdict("young", cidr("10.0.2.0/24")).by)

	_, affected = x.set("wide", claimant("wide", 2, "192.168.0.2", "192.168.0.0/24"))
	require.Contains(t, affected, "young")
	require.True(t, x.verdict("young", cidr("10.0.2.0/24")).won)
	require.True(t, x.verdict("wide", cidr("192.168.0.0/24")).won, "the address of only one other Node")
	x.set("third", claimant("third", 4, "192.168.0.4", "10.0.3.0/24"))
	require.Equal(t, []string{"young", "third"}, x.verdict("wide", cidr("192.168.0.0/24")).crowd)
	_, affected = x.set("third", claimant("third", 4, "10.0.2.4", "10.0.3.0/24"))
	require.Equal(t, []string{"wide", "young"}, affected, "the network is wide's again, with young's address in it")
	require.True(t, x.verdict("young", cidr("10.0.2.0/24")).won)

	for _, name := range []string{"wide", "young", "third"} {
		x.set(name, nil)
	}
	require.Empty(t, x.nodes)
	require.Empty(t, x.claims)
	require.Empty(t, x.crowded)
	require.Zero(t, x.winners.Len()+x.addresses.Len())
}

// BenchmarkClaims measures a Node that joins a cluster and leaves it.
func BenchmarkClaims(b *testing.B) {
	for _, size := range []int{500, 5000, 50000} {
		for _, liars := range []int{0, 10} {
			b.Run(fmt.Sprintf("%d Nodes, %d %% liars", size, liars), func(b *testing.B) {
				x, r := newClaims(), rand.New(rand.NewPCG(1, 1))
				make := func(i int) *object {
					cidr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10 + byte(i>>16), byte(i >> 8), byte(i), 0}), 24)
					if r.IntN(100) < liars {
						cidr = netip.PrefixFrom(cidr.Addr(), 8+r.IntN(16)).Masked()
					}
					return &object{name: fmt.Sprint(i), created: int64(r.IntN(size)), cidrs: []netip.Prefix{cidr},
						addresses: [3][]netip.Addr{1: {netip.AddrFrom4([4]byte{172, byte(i >> 16), byte(i >> 8), byte(i)})}}}
				}
				for i := range size {
					x.set(fmt.Sprint(i), make(i))
				}
				b.ResetTimer()
				for b.Loop() {
					i := r.IntN(size)
					x.set(fmt.Sprint(i), nil)
					x.set(fmt.Sprint(i), make(i))
				}
			})
		}
	}
}
