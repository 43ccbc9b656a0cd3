// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"slices"
)

// nodeAddresses are the addresses of one family to which Nodes may send tunnel packets, as networks of one address.
type nodeAddresses struct {
	// own are those of this Node. They only become more.
	own []netip.Prefix
	// others are those of other Nodes by name, in order.
	others map[string][]netip.Prefix
}

func (n nodeAddresses) known() map[netip.Prefix]bool {
	known := map[netip.Prefix]bool{}
	for _, p := range n.own {
		known[p] = true
	}
	for _, addresses := range n.others {
		for _, p := range addresses {
			known[p] = true
		}
	}
	return known
}

// hosts returns the addresses that are of the family.
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
	for _, p := range s.family.hosts(addresses) {
		if slices.Contains(s.nodes.own, p) {
			continue
		}
		if err := s.nodeSet.add(p); err != nil {
			return err
		}
		s.nodes.own = append(s.nodes.own, p)
	}
	return nil
}

// setNodeAddresses notes the addresses when the set has them; after an error it can be repeated.
func (s *stack) setNodeAddresses(name string, addresses []netip.Addr) error {
	want := s.family.hosts(addresses)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	before := s.nodes.others[name]
	if slices.Equal(before, want) {
		return nil
	}
	for _, p := range want {
		if err := s.nodeSet.add(p); err != nil {
			return err
		}
	}
	if len(want) > 0 {
		s.nodes.others[name] = want
	} else {
		delete(s.nodes.others, name)
	}
	// Two Nodes have the same address while one is renamed.
	known := s.nodes.known()
	for _, p := range before {
		if known[p] {
			continue
		}
		if err := s.nodeSet.remove(p); err != nil {
			s.nodes.others[name] = before
			return err
		}
	}
	return nil
}

// reconcileNodes removes addresses of Nodes that have gone while no agent was running.
func (s *stack) reconcileNodes() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.nodeSet.removeOthers(s.nodes.known())
}
