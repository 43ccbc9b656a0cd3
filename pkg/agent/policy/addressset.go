// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"iter"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/trie"
)

// AddressSet is an immutable set of addresses that counts how often each was added. Comparing a set with one derived from it
// costs time for the differences only. Sets that are == are equal; equal sets need not be ==.
type AddressSet struct {
	v4, v6 trie.Map[int]
	// origin is shared by all sets derived from one another.
	origin *origin
}

// origin is not empty, because pointers to variables without a size may be equal.
type origin struct{ _ byte }

// AddressEdit derives an AddressSet from another one.
type AddressEdit struct {
	v4, v6 *trie.Edit[int]
	origin *origin
}

// Edit begins an edit.
func (s AddressSet) Edit() *AddressEdit {
	if s.origin == nil {
		s.origin = new(origin)
	}
	return &AddressEdit{s.v4.Edit(), s.v6.Edit(), s.origin}
}

// Set returns the set as edited so far.
func (e *AddressEdit) Set() AddressSet { return AddressSet{e.v4.Map(), e.v6.Map(), e.origin} }

// addressKey returns the bytes of the address, for an IPv4-mapped IPv6 address the bytes of the IPv4 address.
func addressKey(addr netip.Addr) string { return string(addr.Unmap().AsSlice()) }

func addressOf(key string) netip.Addr {
	addr, _ := netip.AddrFromSlice([]byte(key))
	return addr
}

func (e *AddressEdit) family(addr netip.Addr) *trie.Edit[int] {
	if addr.Unmap().Is4() {
		return e.v4
	}
	return e.v6
}

// Add adds a valid address once more.
func (e *AddressEdit) Add(addr netip.Addr) {
	family, key := e.family(addr), addressKey(addr)
	times, _ := family.Get(key)
	family.Put(key, times+1)
}

// Remove undoes one Add. The address stays a member until each Add has been undone.
func (e *AddressEdit) Remove(addr netip.Addr) {
	family, key := e.family(addr), addressKey(addr)
	switch times, _ := family.Get(key); times {
	case 0:
	case 1:
		family.Delete(key)
	default:
		family.Put(key, times-1)
	}
}

// forget removes the address, however often it was added.
func (e *AddressEdit) forget(addr netip.Addr) { e.family(addr).Delete(addressKey(addr)) }

// Contains reports whether the address is a member.
func (s AddressSet) Contains(addr netip.Addr) bool {
	family := s.v6
	if addr.Unmap().Is4() {
		family = s.v4
	}
	_, ok := family.Get(addressKey(addr))
	return ok
}

// Len returns the number of addresses.
func (s AddressSet) Len() int { return s.v4.Len() + s.v6.Len() }

// All yields the addresses in ascending order, IPv4 first.
func (s AddressSet) All() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, family := range []trie.Map[int]{s.v4, s.v6} {
			for key := range family.All() {
				if !yield(addressOf(key)) {
					return
				}
			}
		}
	}
}

// Diff calls removed for each address that is only in s, and added for each that is only in after.
func (s AddressSet) Diff(after AddressSet, removed, added func(netip.Addr)) {
	gone, come := func(key string) { removed(addressOf(key)) }, func(key string) { added(addressOf(key)) }
	s.v4.Diff(after.v4, gone, come)
	s.v6.Diff(after.v6, gone, come)
}
