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

	"github.com/antrea-oncache/antrea/pkg/agent/prefixindex"
)

// conflictError means that the connection of another Node has not been removed yet. It ends when that has happened.
type conflictError struct {
	node, holder string
	cidr, held   netip.Prefix
}

func (e conflictError) Error() string {
	return fmt.Sprintf("Pod CIDR %s of Node %s has to wait for the flows of Node %s to %s to go", e.cidr, e.node, e.holder, e.held)
}

// state has what is installed for all Nodes, and which Node holds which Pod CIDR. Workers of different Nodes use it
// concurrently; one Node is handled by one worker at a time.
type state struct {
	mutex sync.Mutex
	nodes map[string]*installed
	// holders has each CIDR that a Node wants, or for which it still has flows or routes. CIDRs of two Nodes never overlap:
	// their flows would match the same packets.
	holders prefixindex.Index[string]
	// waiting are the Nodes to check again when a CIDR becomes free.
	waiting map[netip.Prefix]map[string]bool
}

func newState() *state {
	return &state{nodes: map[string]*installed{}, waiting: map[netip.Prefix]map[string]bool{}}
}

// plan lists the operations for the Node, and claims its CIDRs. CIDRs that overlap a CIDR of another Node are left out, with
// a conflictError. The caller must reach the returned state (nil for nothing) nevertheless, because that frees CIDRs that
// the Node had before.
func (s *state) plan(name string, want *Peer) (possible *Peer, ops []operation, conflict error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	possible = &Peer{Name: name}
	if want != nil {
		for _, network := range want.Networks {
			held, holder := s.holder(name, network.CIDR)
			if holder == "" {
				possible.Networks = append(possible.Networks, network)
				continue
			}
			conflict = conflictError{node: name, holder: holder, cidr: network.CIDR, held: held}
			if s.waiting[held] == nil {
				s.waiting[held] = map[string]bool{}
			}
			s.waiting[held][name] = true
		}
	}
	if len(possible.Networks) == 0 {
		possible = nil
	} else {
		s.hold(possible)
	}
	have := installed{}
	if node := s.nodes[name]; node != nil {
		have = *node
	}
	return possible, plan(name, have, possible), conflict
}

// holder returns a CIDR that overlaps the given one, and the other Node that holds it.
func (s *state) holder(name string, cidr netip.Prefix) (netip.Prefix, string) {
	for held, holder := range s.holders.Overlapping(cidr) {
		if holder != name {
			return held, holder
		}
	}
	return netip.Prefix{}, ""
}

func (s *state) hold(peer *Peer) {
	node := s.nodes[peer.Name]
	if node == nil {
		node = &installed{routes: map[netip.Prefix]routeTo{}}
		s.nodes[peer.Name] = node
	}
	for _, cidr := range peer.cidrs() {
		if !slices.Contains(node.holds, cidr) {
			s.holders.Set(cidr, peer.Name)
			node.holds = append(node.holds, cidr)
		}
	}
}

// begin records that op, which comes from plan, is about to be tried. From here on its effect may exist.
func (s *state) begin(op operation) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	node := s.nodes[op.peer.Name]
	switch op.kind {
	case installFlows:
		node.flows = &flows{peer: op.peer}
	case addRoute:
		node.routes[op.network.CIDR] = routeTo{reach: op.network.Reach}
	}
}

// succeed records the effect of op.
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
		node.routes[op.network.CIDR] = routeTo{reach: op.network.Reach, known: true}
	case deleteRoute:
		delete(node.routes, op.network.CIDR)
	}
}

// settle frees the CIDRs that the Node neither wants nor has anything installed for, and returns, in order, the Nodes that
// waited for them. It must be called when the operations for the Node have ended, successful or not.
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
		s.holders.Delete(cidr)
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

// transport returns the addresses that the Node's flows lead to, by CIDR: all that may exist or, with known, those that are
// known to be right.
func (s *state) transport(name string, known bool) map[netip.Prefix]netip.Addr {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	addresses := map[netip.Prefix]netip.Addr{}
	if node := s.nodes[name]; node != nil && node.flows != nil && (node.flows.known || !known) {
		for _, n := range node.flows.peer.Networks {
			addresses[n.CIDR] = n.Reach.Address
		}
	}
	return addresses
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

// cidrs lists the CIDRs held by peers, in order.
func (s *state) cidrs() []netip.Prefix {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var cidrs []netip.Prefix
	for cidr := range s.holders.All() {
		cidrs = append(cidrs, cidr)
	}
	return cidrs
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
