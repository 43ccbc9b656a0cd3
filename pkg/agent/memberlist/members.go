// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

// ErrNoNode is the answer for an address that no Node can have. The text is Antrea's, and part of conditions.
var ErrNoNode = errors.New("no Node available")

// Members shows users of addresses the members of the cluster.
type Members interface {
	// Snapshot returns what is known now.
	Snapshot() *Snapshot
	// Subscribe lets changed be called after the snapshot has changed. changed must not block. It is for before the start.
	Subscribe(changed func())
}

// Snapshot contains the Nodes that are alive at one time, as this Node sees it. It is not changed.
type Snapshot struct {
	// Unknown says why the members are not known. While it is set, no address may be claimed or given up because of the members.
	Unknown error
	// Alive are the Nodes whose agents answer, this one among them.
	Alive sets.Set[string]
	// Rings have the Nodes that are alive and that a pool selects, by pool. The ring with no name has all that are alive.
	Rings map[string]*Ring
}

// Owner returns the Node of an address of a pool: the first one from the address onward on the pool's ring that accept accepts; nil accepts
// all. It returns Unknown or ErrNoNode if there is none.
func (s *Snapshot) Owner(pool string, addr netip.Addr, accept func(node string) bool) (node string, err error) {
	if s.Unknown != nil {
		return "", s.Unknown
	}
	ring := s.Rings[pool]
	if ring == nil {
		return "", fmt.Errorf("ExternalIPPool %s does not exist", pool)
	}
	if accept == nil {
		accept = func(string) bool { return true }
	}
	if node, ok := ring.Owner(addr.String(), accept); ok {
		return node, nil
	}
	return "", ErrNoNode
}

// Gained returns the pools that have a Node that they did not have in a former snapshot, nil for none: with the network divided, that Node may have
// claimed any address of the pool and told neighbours so. While the members were unknown, any Node may have done so.
func (s *Snapshot) Gained(former *Snapshot) sets.Set[string] {
	pools := sets.New[string]()
	if s == former || s.Unknown != nil {
		return pools
	}
	for pool, ring := range s.Rings {
		if former == nil || former.Unknown != nil || former.Rings[pool] == nil || !former.Rings[pool].nodes().IsSuperset(ring.nodes()) {
			pools.Insert(pool)
		}
	}
	return pools
}

// newSnapshot returns the snapshot of the Nodes that are alive, of all Nodes by their labels, and of pools by their selectors.
func newSnapshot(alive sets.Set[string], nodes map[string]labels.Set, pools map[string]labels.Selector) *Snapshot {
	s := &Snapshot{Alive: alive, Rings: map[string]*Ring{}}
	pools = maps.Clone(pools)
	pools[""] = labels.Everything()
	for name, selector := range pools {
		var selected []string
		for member := range alive {
			if has, ok := nodes[member]; ok && selector.Matches(has) {
				selected = append(selected, member)
			}
		}
		s.Rings[name] = NewRing(selected)
	}
	return s
}

// equal reports whether users of both snapshots decide the same.
func (s *Snapshot) equal(other *Snapshot) bool {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	same := func(a, b *Ring) bool { return slices.Equal(a.places, b.places) }
	return text(s.Unknown) == text(other.Unknown) && s.Alive.Equal(other.Alive) && maps.EqualFunc(s.Rings, other.Rings, same)
}

// Without returns the snapshot that others have when a Node has left.
func (s *Snapshot) Without(node string) *Snapshot {
	without := &Snapshot{Unknown: s.Unknown, Alive: s.Alive.Clone().Delete(node), Rings: map[string]*Ring{}}
	for pool, ring := range s.Rings {
		without.Rings[pool] = ring.without(node)
	}
	return without
}
