// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// conflictError says that another Node holds the CIDR. It goes away when that Node does.
type conflictError struct {
	node, holder string
	cidr         netip.Prefix
}

func (e conflictError) Error() string {
	return fmt.Sprintf("Node %s claims Pod CIDR %s, which Node %s still holds", e.node, e.cidr, e.holder)
}

// state is what is installed for all Nodes, and which Node holds which Pod CIDR. Workers of different Nodes use it at the
// same time; one Node is handled by one worker at a time.
type state struct {
	mutex sync.Mutex
	nodes map[string]*installed
	// holders gives each CIDR to the first Node that claims it, until its flows and routes are gone: flows of two Nodes
	// for one CIDR match the same packets, so removing the old ones would remove the new ones.
	holders map[netip.Prefix]string
	// waiting are the Nodes to look at again when a CIDR becomes free.
	waiting map[netip.Prefix]map[string]bool
}

// newState gives the Node's own CIDRs to it for ever.
func newState(own string, cidrs []netip.Prefix) *state {
	s := &state{nodes: map[string]*installed{}, holders: map[netip.Prefix]string{}, waiting: map[netip.Prefix]map[string]bool{}}
	for _, cidr := range cidrs {
		s.holders[cidr] = own
	}
	return s
}

// plan lists what to do for the Node, and claims its CIDRs. When a CIDR belongs to another Node, the Node is treated as if
// it wanted nothing, and a conflictError comes with the operations: they must be done all the same, as they free the CIDRs
// that the Node had before.
func (s *state) plan(name string, want *Peer) ([]operation, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var conflict error
	if want != nil {
		for _, cidr := range want.cidrs() {
			if holder, held := s.holders[cidr]; held && holder != name {
				conflict = conflictError{node: name, holder: holder, cidr: cidr}
				if s.waiting[cidr] == nil {
					s.waiting[cidr] = map[string]bool{}
				}
				s.waiting[cidr][name] = true
				want = nil
				break
			}
		}
	}
	if want != nil {
		node := s.nodes[name]
		if node == nil {
			node = &installed{routes: map[netip.Prefix]netip.Addr{}}
			s.nodes[name] = node
		}
		for _, cidr := range want.cidrs() {
			if s.holders[cidr] != name {
				s.holders[cidr] = name
				node.holds = append(node.holds, cidr)
			}
		}
	}
	have := installed{}
	if node := s.nodes[name]; node != nil {
		have = *node
	}
	return plan(name, have, want), conflict
}

// begin notes that op, which comes from plan, is about to be tried. From here on its effect may exist.
func (s *state) begin(op operation) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	node := s.nodes[op.peer.Name]
	switch op.kind {
	case installFlows:
		node.flows = &flows{peer: op.peer}
	case addRoute:
		node.routes[op.network.CIDR] = netip.Addr{}
	}
}

// succeed notes the effect of op.
func (s *state) succeed(op operation) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	node := s.nodes[op.peer.Name]
	switch op.kind {
	case installFlows:
		node.flows = &flows{peer: op.peer, known: true}
	case uninstallFlows:
		node.flows = nil
	case addRoute:
		node.routes[op.network.CIDR] = op.network.IP
	case deleteRoute:
		delete(node.routes, op.network.CIDR)
	}
}

// settle frees the CIDRs that the Node neither wants nor has anything installed for, and returns in order the Nodes that
// waited for them. Call it when the operations for the Node ended, well or not.
func (s *state) settle(name string, want *Peer) (woken []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	node := s.nodes[name]
	if node == nil {
		return nil
	}
	var holds []netip.Prefix
	for _, cidr := range node.holds {
		_, routed := node.routes[cidr]
		wanted := want != nil && slices.Contains(want.cidrs(), cidr)
		if wanted || routed || node.flows != nil && slices.Contains(node.flows.peer.cidrs(), cidr) {
			holds = append(holds, cidr)
			continue
		}
		delete(s.holders, cidr)
		woken = slices.AppendSeq(woken, maps.Keys(s.waiting[cidr]))
		delete(s.waiting, cidr)
	}
	node.holds = holds
	if len(holds) == 0 {
		delete(s.nodes, name)
	}
	slices.Sort(woken)
	return slices.Compact(woken)
}

// peers lists the Nodes whose flows are known to be right, by name.
func (s *state) peers() []Peer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var peers []Peer
	for name, node := range s.nodes {
		if node.flows != nil && node.flows.known {
			peers = append(peers, Peer{Name: name, Networks: slices.Clone(node.flows.peer.Networks)})
		}
	}
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Compare(a.Name, b.Name) })
	return peers
}

// cidrs lists all that is held by peers, in order.
func (s *state) cidrs(own string) []netip.Prefix {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var cidrs []netip.Prefix
	for _, cidr := range slices.SortedFunc(maps.Keys(s.holders), comparePrefixes) {
		if s.holders[cidr] != own {
			cidrs = append(cidrs, cidr)
		}
	}
	return cidrs
}
