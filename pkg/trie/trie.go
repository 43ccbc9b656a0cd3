// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trie has an immutable map. An edit makes another map, which shares all equal parts with the former one. The cost
// of an edit depends only on its changes, any number of readers may use a map at any time, and the differences between two
// maps are found without visiting their shared parts.
//
// It is a binary trie (PATRICIA, after Morrison 1968) over the bits of the keys. Its shape depends on the keys alone, and
// not on the order in which they were added.
package trie

import (
	"iter"
	"math"
	"math/bits"
)

// Map is an immutable map with strings as keys. The zero value is empty. Two Maps are == only if they are the same; Maps
// that are not may have the same content.
type Map[V any] struct {
	root *node[V]
	size int
}

// node is a leaf, or a branch if it has children.
type node[V any] struct {
	// key is a leaf's key. In a branch it is a prefix of all keys below, up to but not including bit.
	key string
	// bit is the first bit in which keys below a branch differ.
	bit      int
	children [2]*node[V]
	value    V
	// owner is the edit that made the node, and may change it until the node is shared.
	owner *owner
}

// owner is not empty, so that each has its own address.
type owner struct{ _ byte }

func (n *node[V]) leaf() bool { return n.children[0] == nil }

// end returns the number of leading bits that all keys below have in common.
func (n *node[V]) end() int {
	if n.leaf() {
		return math.MaxInt
	}
	return n.bit
}

// bitsPerByte is one more than a byte has: the first bit says that the key continues. So no key is a prefix of another, and
// keys are ordered like strings.
const bitsPerByte = 9

// bitOf returns a bit of the key. Bits after its end are 0.
func bitOf(key string, bit int) int {
	i, place := bit/bitsPerByte, bit%bitsPerByte
	switch {
	case i >= len(key):
		return 0
	case place == 0:
		return 1
	default:
		return int(key[i]>>(bitsPerByte-1-place)) & 1
	}
}

// firstDifference returns the first bit in which two keys differ, math.MaxInt if they are equal.
func firstDifference(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x := a[i] ^ b[i]; x != 0 {
			return i*bitsPerByte + 1 + bits.LeadingZeros8(x)
		}
	}
	if len(a) == len(b) {
		return math.MaxInt
	}
	return min(len(a), len(b)) * bitsPerByte
}

// nearest returns the leaf with the longest common prefix with key; root is not nil.
func nearest[V any](root *node[V], key string) *node[V] {
	n := root
	for !n.leaf() {
		n = n.children[bitOf(key, n.bit)]
	}
	return n
}

// Len returns the number of keys.
func (m Map[V]) Len() int { return m.size }

// Get returns the value of the key.
func (m Map[V]) Get(key string) (value V, ok bool) {
	if m.root != nil {
		if n := nearest(m.root, key); n.key == key {
			return n.value, true
		}
	}
	return value, false
}

// All yields keys and values in the order of the keys.
func (m Map[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if m.root != nil {
			m.root.each(yield)
		}
	}
}

func (n *node[V]) each(yield func(string, V) bool) bool {
	if n.leaf() {
		return yield(n.key, n.value)
	}
	return n.children[0].each(yield) && n.children[1].each(yield)
}

// Diff calls removed for each key that only m has, and added for each that only after has. It does not visit nodes that an
// edit has left unchanged.
func (m Map[V]) Diff(after Map[V], removed, added func(key string)) {
	diff(m.root, after.root, removed, added)
}

// diff compares the keys below two nodes. Each has all keys of its Map in the same part of the key space; nil stands for
// none.
func diff[V any](before, after *node[V], removed, added func(key string)) {
	switch {
	case before == after:
		return
	case before == nil:
		after.tell(added)
		return
	case after == nil:
		before.tell(removed)
		return
	}
	first, second := before.end(), after.end()
	switch {
	case firstDifference(before.key, after.key) < min(first, second):
		before.tell(removed)
		after.tell(added)
	case first < second:
		side := bitOf(after.key, first)
		diff(before.children[side], after, removed, added)
		before.children[1-side].tell(removed)
	case second < first:
		side := bitOf(before.key, second)
		diff(before, after.children[side], removed, added)
		after.children[1-side].tell(added)
	case !before.leaf():
		diff(before.children[0], after.children[0], removed, added)
		diff(before.children[1], after.children[1], removed, added)
	}
}

func (n *node[V]) tell(what func(key string)) {
	n.each(func(key string, _ V) bool { what(key); return true })
}
