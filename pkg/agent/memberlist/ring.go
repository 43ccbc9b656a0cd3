// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"cmp"
	"hash/crc32"
	"slices"
	"sort"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"
)

// places is the number of places that a Node has on a ring.
const places = 50

// Ring is a consistent hash ring. It is not changed after NewRing.
type Ring struct {
	places []place
}

type place struct {
	hash uint32
	node string
}

// nodes returns the Nodes of the ring.
func (r *Ring) nodes() sets.Set[string] {
	all := sets.New[string]()
	for _, place := range r.places {
		all.Insert(place.node)
	}
	return all
}

// without returns the ring of the other Nodes.
func (r *Ring) without(node string) *Ring { return NewRing(sets.List(r.nodes().Delete(node))) }

// NewRing returns the ring of Nodes. The hash of a place is CRC-32 (IEEE) of its number, from 0, and the Node's name. Of Nodes with the
// same hash, the last by name has the place.
func NewRing(nodes []string) *Ring {
	r := &Ring{}
	for _, node := range nodes {
		for i := range places {
			r.places = append(r.places, place{crc32.ChecksumIEEE([]byte(strconv.Itoa(i) + node)), node})
		}
	}
	slices.SortFunc(r.places, func(a, b place) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(b.node, a.node)) })
	r.places = slices.CompactFunc(r.places, func(a, b place) bool { return a.hash == b.hash })
	return r
}

// Owner returns the Node of the first place from the hash of a key onward whose Node is accepted; ok is false if there is none.
func (r *Ring) Owner(key string, accept func(node string) bool) (node string, ok bool) {
	hash := crc32.ChecksumIEEE([]byte(key))
	first := sort.Search(len(r.places), func(i int) bool { return r.places[i].hash >= hash })
	for i := range r.places {
		if node := r.places[(first+i)%len(r.places)].node; accept(node) {
			return node, true
		}
	}
	return "", false
}
