// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"slices"
)

// Peers are the other ends of the connections that a rule matches, of some IP versions.
type Peers struct {
	v4, v6   bool
	prefixes map[netip.Prefix]bool
	sets     []AddressSet
}

// PeersOf returns the peers of a rule that are of the given IP versions; no peers if the rule is nil.
func PeersOf(r *Rule, v4, v6 bool) Peers {
	p := Peers{v4: v4, v6: v6}
	if r == nil {
		return p
	}
	p.sets = r.PeerAddresses
	p.prefixes = make(map[netip.Prefix]bool, len(r.Peers))
	for _, peer := range r.Peers {
		if p.carries(peer.Addr()) {
			p.prefixes[peer.Masked()] = true
		}
	}
	return p
}

func (p Peers) carries(addr netip.Addr) bool { return addr.Is4() && p.v4 || addr.Is6() && p.v6 }

// None reports whether there is no peer.
func (p Peers) None() bool {
	return len(p.prefixes) == 0 && !slices.ContainsFunc(p.sets, func(s AddressSet) bool {
		return p.v4 && s.v4.Len() > 0 || p.v6 && s.v6.Len() > 0
	})
}

// has reports whether exactly this prefix is a peer.
func (p Peers) has(prefix netip.Prefix) bool {
	return p.prefixes[prefix] ||
		prefix.IsSingleIP() && slices.ContainsFunc(p.sets, func(s AddressSet) bool { return s.Contains(prefix.Addr()) })
}

// Diff calls removed for each prefix that only p has, and added for each that only after has, some of them several times. For sets
// derived from one another, the cost depends on what has changed and not on their size.
func (p Peers) Diff(after Peers, removed, added func(netip.Prefix)) {
	gone := func(prefix netip.Prefix) {
		if p.carries(prefix.Addr()) && !after.has(prefix) {
			removed(prefix)
		}
	}
	come := func(prefix netip.Prefix) {
		if p.carries(prefix.Addr()) && !p.has(prefix) {
			added(prefix)
		}
	}
	for prefix := range p.prefixes {
		gone(prefix)
	}
	for prefix := range after.prefixes {
		come(prefix)
	}
	eachPair(p.sets, after.sets, func(a, b AddressSet) {
		a.Diff(b, func(addr netip.Addr) { gone(single(addr)) }, func(addr netip.Addr) { come(single(addr)) })
	})
}

// eachPair calls visit for each set of one list together with the set of the other list that was derived from it, or with an
// empty set if there is none.
func eachPair(before, after []AddressSet, visit func(before, after AddressSet)) {
	known := make(map[*origin][]AddressSet, len(before))
	for _, s := range before {
		known[s.origin] = append(known[s.origin], s)
	}
	for _, s := range after {
		var old AddressSet
		if same := known[s.origin]; len(same) > 0 {
			old, known[s.origin] = same[0], same[1:]
		}
		visit(old, s)
	}
	for _, rest := range known {
		for _, s := range rest {
			visit(s, AddressSet{})
		}
	}
}

// CommonPeers returns the peers that both rules have.
func (r *Rule) CommonPeers(other *Rule) (prefixes []netip.Prefix, addresses []AddressSet) {
	others := PeersOf(other, true, true)
	for _, peer := range r.Peers {
		if others.has(peer.Masked()) {
			prefixes = append(prefixes, peer)
		}
	}
	eachPair(r.PeerAddresses, other.PeerAddresses, func(mine, its AddressSet) {
		edit := mine.Edit()
		mine.Diff(its, func(addr netip.Addr) {
			if !others.has(single(addr)) {
				edit.forget(addr)
			}
		}, func(netip.Addr) {})
		if common := edit.Set(); common.Len() > 0 {
			addresses = append(addresses, common)
		}
	})
	return prefixes, addresses
}

// peersWithin reports whether other matches every peer of r.
func (r *Rule) peersWithin(other *Rule) bool {
	for _, peer := range r.Peers {
		if !slices.ContainsFunc(other.Peers, func(p netip.Prefix) bool { return p.Bits() <= peer.Bits() && p.Contains(peer.Addr()) }) &&
			!(peer.IsSingleIP() && other.hasPeer(peer.Addr())) {
			return false
		}
	}
	within := true
	eachPair(r.PeerAddresses, other.PeerAddresses, func(mine, its AddressSet) {
		mine.Diff(its, func(addr netip.Addr) { within = within && other.hasPeer(addr) }, func(netip.Addr) {})
	})
	return within
}

// hasPeer reports whether the address is a peer of the rule.
func (r *Rule) hasPeer(addr netip.Addr) bool {
	return slices.ContainsFunc(r.PeerAddresses, func(s AddressSet) bool { return s.Contains(addr) }) ||
		slices.ContainsFunc(r.Peers, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func single(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }
