// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package trie

import "math"

// Edit makes a Map from another one. It copies each node that it changes, and only once, so that it is also suitable for
// building a large Map from an empty one. It is not safe for concurrent use.
type Edit[V any] struct {
	m     Map[V]
	owner *owner
}

// Edit begins an edit.
func (m Map[V]) Edit() *Edit[V] { return &Edit[V]{m: m, owner: new(owner)} }

// Map returns the result so far. The edit may continue; that does not change the returned Map.
func (e *Edit[V]) Map() Map[V] {
	e.owner = new(owner)
	return e.m
}

// Get returns the value of the key.
func (e *Edit[V]) Get(key string) (V, bool) { return e.m.Get(key) }

// Put adds the key, or gives it another value.
func (e *Edit[V]) Put(key string, value V) {
	leaf := &node[V]{key: key, value: value, owner: e.owner}
	if e.m.root == nil {
		e.m = Map[V]{root: leaf, size: 1}
		return
	}
	at := firstDifference(key, nearest(e.m.root, key).key)
	if at == math.MaxInt {
		e.m.root = e.replace(e.m.root, leaf)
		return
	}
	e.m.root = e.insert(e.m.root, leaf, at)
	e.m.size++
}

// own returns a node that the edit may change.
func (e *Edit[V]) own(n *node[V]) *node[V] {
	if n.owner == e.owner {
		return n
	}
	owned := *n
	owned.owner = e.owner
	return &owned
}

// replace replaces the leaf with the same key.
func (e *Edit[V]) replace(n, leaf *node[V]) *node[V] {
	if n.leaf() {
		return leaf
	}
	n = e.own(n)
	side := bitOf(leaf.key, n.bit)
	n.children[side] = e.replace(n.children[side], leaf)
	return n
}

// insert adds a leaf whose key first differs from the nearest one in the given bit.
func (e *Edit[V]) insert(n, leaf *node[V], at int) *node[V] {
	if n.end() > at {
		branch := &node[V]{key: leaf.key, bit: at, owner: e.owner}
		side := bitOf(leaf.key, at)
		branch.children[side], branch.children[1-side] = leaf, n
		return branch
	}
	n = e.own(n)
	side := bitOf(leaf.key, n.bit)
	n.children[side] = e.insert(n.children[side], leaf, at)
	return n
}

// Delete removes the key, if it is there.
func (e *Edit[V]) Delete(key string) {
	if _, ok := e.m.Get(key); !ok {
		return
	}
	e.m.root = e.remove(e.m.root, key)
	e.m.size--
}

// remove returns n without a key that is below it.
func (e *Edit[V]) remove(n *node[V], key string) *node[V] {
	if n.leaf() {
		return nil
	}
	side := bitOf(key, n.bit)
	below := e.remove(n.children[side], key)
	if below == nil {
		return n.children[1-side]
	}
	n = e.own(n)
	n.children[side] = below
	return n
}
