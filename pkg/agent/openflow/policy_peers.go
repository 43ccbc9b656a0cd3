// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"
	"slices"
)

// peers are the other ends of a rule's connections, of the families that the pipeline carries.
type peers struct {
	v4, v6   bool
	prefixes map[netip.Prefix]bool
	sets     []AddressSet
}

// peersOf returns the peers of a rule, none if it is nil.
func (g policyFlows) peersOf(r *PolicyRule) peers {
	p := peers{v4: g.node.PodIPv4CIDR.IsValid(), v6: g.node.PodIPv6CIDR.IsValid()}
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

func (p peers) carries(addr netip.Addr) bool { return addr.Is4() && p.v4 || addr.Is6() && p.v6 }

// none tells whether there is no peer.
func (p peers) none() bool {
	return len(p.prefixes) == 0 && !slices.ContainsFunc(p.sets, func(s AddressSet) bool {
		return p.v4 && s.v4.Len() > 0 || p.v6 && s.v6.Len() > 0
	})
}

// has tells whether there is a flow for exactly this prefix.
func (p peers) has(prefix netip.Prefix) bool {
	return p.prefixes[prefix] ||
		prefix.IsSingleIP() && slices.ContainsFunc(p.sets, func(s AddressSet) bool { return s.Contains(prefix.Addr()) })
}

// diff calls removed for each prefix that only p has, and added for each that only after has, some of them several times. For sets
// derived from one another, the cost depends on what has changed and not on their size.
func (p peers) diff(after peers, removed, added func(netip.Prefix)) {
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
		a.diff(b, func(addr netip.Addr) { gone(host(addr)) }, func(addr netip.Addr) { come(host(addr)) })
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
func (r *PolicyRule) CommonPeers(other *PolicyRule) (prefixes []netip.Prefix, addresses []AddressSet) {
	others := peers{v4: true, v6: true, prefixes: map[netip.Prefix]bool{}, sets: other.PeerAddresses}
	for _, peer := range other.Peers {
		others.prefixes[peer.Masked()] = true
	}
	for _, peer := range r.Peers {
		if others.has(peer.Masked()) {
			prefixes = append(prefixes, peer)
		}
	}
	eachPair(r.PeerAddresses, other.PeerAddresses, func(mine, its AddressSet) {
		edit := mine.Edit()
		mine.diff(its, func(addr netip.Addr) {
			if !others.has(host(addr)) {
				edit.forget(addr)
			}
		}, func(netip.Addr) {})
		if common := edit.Set(); common.Len() > 0 {
			addresses = append(addresses, common)
		}
	})
	return prefixes, addresses
}
