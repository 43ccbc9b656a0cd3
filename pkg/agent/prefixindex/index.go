// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prefixindex keeps networks so that those that overlap a given one are found without a look at all others.
package prefixindex

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
)

// Index maps networks, which must be without host bits, to values. The zero Index is empty. It is not safe for concurrent use.
//
// Two networks overlap only if one contains the other. Networks that contain a network are found by asking for each
// shorter prefix; networks in it stand next to each other in the order of addresses.
type Index[V any] struct {
	order  []netip.Prefix
	values map[netip.Prefix]V
}

// Len is the number of networks.
func (x *Index[V]) Len() int { return len(x.order) }

// Get returns the value of exactly this network.
func (x *Index[V]) Get(p netip.Prefix) (V, bool) {
	v, ok := x.values[p]
	return v, ok
}

// Set adds the network, or gives it another value.
func (x *Index[V]) Set(p netip.Prefix, v V) {
	if x.values == nil {
		x.values = map[netip.Prefix]V{}
	}
	if _, known := x.values[p]; !known {
		i, _ := slices.BinarySearchFunc(x.order, p, compare)
		x.order = slices.Insert(x.order, i, p)
	}
	x.values[p] = v
}

// Delete removes the network if it is there.
func (x *Index[V]) Delete(p netip.Prefix) {
	if _, known := x.values[p]; !known {
		return
	}
	i, _ := slices.BinarySearchFunc(x.order, p, compare)
	x.order = slices.Delete(x.order, i, i+1)
	delete(x.values, p)
}

// All returns everything, in the order of addresses. The Index must not change during the iteration.
func (x *Index[V]) All() iter.Seq2[netip.Prefix, V] {
	return func(yield func(netip.Prefix, V) bool) {
		for _, p := range x.order {
			if !yield(p, x.values[p]) {
				return
			}
		}
	}
}

// Overlapping returns the networks that overlap p: first those that contain it, from the smallest on, then p and the
// networks in it, in the order of addresses. The Index must not change during the iteration.
func (x *Index[V]) Overlapping(p netip.Prefix) iter.Seq2[netip.Prefix, V] {
	return func(yield func(netip.Prefix, V) bool) {
		for bits := p.Bits() - 1; bits >= 0 && len(x.order) > 0; bits-- {
			around := netip.PrefixFrom(p.Addr(), bits).Masked()
			if v, ok := x.values[around]; ok && !yield(around, v) {
				return
			}
		}
		i, _ := slices.BinarySearchFunc(x.order, p, compare)
		for ; i < len(x.order) && p.Contains(x.order[i].Addr()); i++ {
			if !yield(x.order[i], x.values[x.order[i]]) {
				return
			}
		}
	}
}

// compare puts a network before those that it contains.
func compare(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
