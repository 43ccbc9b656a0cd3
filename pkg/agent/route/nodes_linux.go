// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"net/netip"
	"slices"
)

// nodeAddresses are the addresses of one family to which Nodes may send tunnel packets, each as a network of one address.
type nodeAddresses struct {
	// own are the addresses of this Node. They are only ever added.
	own []netip.Prefix
	// others are the addresses of other Nodes by name, in order.
	others map[string][]netip.Prefix
	// holders counts the Nodes that have an address. Several have it while a Node is being renamed, or when one lies.
	holders map[netip.Prefix]int
}

func newNodeAddresses(own []netip.Prefix) nodeAddresses {
	n := nodeAddresses{own: own, others: map[string][]netip.Prefix{}, holders: map[netip.Prefix]int{}}
	for _, p := range own {
		n.holders[p]++
	}
	return n
}

// set replaces the addresses of another Node.
func (n nodeAddresses) set(name string, addresses []netip.Prefix) {
	for _, p := range addresses {
		n.holders[p]++
	}
	for _, p := range n.others[name] {
		if n.holders[p]--; n.holders[p] == 0 {
			delete(n.holders, p)
		}
	}
	if n.others[name] = addresses; len(addresses) == 0 {
		delete(n.others, name)
	}
}

func (n nodeAddresses) known() map[netip.Prefix]bool {
	known := make(map[netip.Prefix]bool, len(n.holders))
	for p := range n.holders {
		known[p] = true
	}
	return known
}

// hosts returns the addresses of the family.
func (f family) hosts(addresses []netip.Addr) []netip.Prefix {
	var hosts []netip.Prefix
	for _, addr := range addresses {
		if f.has(addr) {
			hosts = append(hosts, netip.PrefixFrom(addr.WithZone(""), f.bits))
		}
	}
	slices.SortFunc(hosts, comparePrefixes)
	return slices.Compact(hosts)
}

func (s *stack) addOwnAddresses(addresses []netip.Addr) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var errs []error
	for _, p := range s.family.hosts(addresses) {
		if slices.Contains(s.nodes.own, p) {
			continue
		}
		if err := s.nodeSet.add(p); err != nil {
			errs = append(errs, err)
			continue
		}
		s.nodes.own = append(s.nodes.own, p)
		s.nodes.holders[p]++
	}
	return errors.Join(errs...)
}

// setNodeAddresses records addresses that are in the set. A refused address delays neither the others nor other Nodes, but
// former addresses stay until all new ones are in the set. After an error it can be repeated.
func (s *stack) setNodeAddresses(name string, addresses []netip.Addr) error {
	want := s.family.hosts(addresses)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	before := s.nodes.others[name]
	if slices.Equal(before, want) {
		return nil
	}
	have := slices.Clone(before)
	var errs []error
	for _, p := range want {
		if slices.Contains(before, p) {
			continue
		}
		if err := s.nodeSet.add(p); err != nil {
			errs = append(errs, err)
			continue
		}
		have = append(have, p)
	}
	slices.SortFunc(have, comparePrefixes)
	s.nodes.set(name, have)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, p := range before {
		if slices.Contains(want, p) {
			continue
		}
		if s.nodes.holders[p] == 1 {
			if err := s.nodeSet.remove(p); err != nil {
				return err
			}
		}
		have = slices.DeleteFunc(slices.Clone(have), func(h netip.Prefix) bool { return h == p })
		s.nodes.set(name, have)
	}
	return nil
}

// reconcileNodes removes addresses of Nodes that disappeared while no agent was running.
func (s *stack) reconcileNodes() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.nodeSet.removeOthers(s.nodes.known())
}
