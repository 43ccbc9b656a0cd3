// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package occupied says which addresses no Node may take from an ExternalIPPool: machines that a Node needs, such as its router, have them, and
// packets to them would no longer leave the Node that takes one.
package occupied

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
)

// source is the name of what SetNeeded is told.
const source = "the Node"

// Addresses are the occupied addresses. Its methods may be called concurrently.
type Addresses struct {
	subscribers []func()

	mu    sync.Mutex
	list  *dependency.List
	nodes map[string]node
}

// node contains the addresses and the Pod networks of a Node.
type node struct {
	addresses []netip.Addr
	networks  []netip.Prefix
}

// New returns Addresses with nothing but what every Node depends on.
func New() *Addresses {
	return &Addresses{list: dependency.NewList(), nodes: map[string]node{}}
}

// Subscribe lets changed be called when there are others. changed must not block. It is for before the first call of a Set method.
func (a *Addresses) Subscribe(changed func()) { a.subscribers = append(a.subscribers, changed) }

func (a *Addresses) tell(changed bool) {
	if changed {
		for _, subscriber := range a.subscribers {
			subscriber()
		}
	}
}

// SetNeeded replaces what this Node depends on.
func (a *Addresses) SetNeeded(now []dependency.Address) {
	a.mu.Lock()
	changed := a.list.Set(source, slices.Clone(now))
	a.mu.Unlock()
	a.tell(len(changed) > 0)
}

// SetNode replaces the addresses and the Pod networks of a Node.
func (a *Addresses) SetNode(name string, addresses []netip.Addr, networks []netip.Prefix) {
	now := node{slices.Clone(addresses), slices.Clone(networks)}
	a.mu.Lock()
	changed := a.count(now, 1)
	changed = a.count(a.nodes[name], -1) || changed
	a.nodes[name] = now
	if len(addresses)+len(networks) == 0 {
		delete(a.nodes, name)
	}
	a.mu.Unlock()
	a.tell(changed)
}

func (a *Addresses) count(n node, by int) (changed bool) {
	for _, addr := range n.addresses {
		changed = a.list.CountNode(addr, by) || changed
	}
	for _, network := range n.networks {
		changed = a.list.CountNetwork(network, by) || changed
	}
	return changed
}

// Refuse returns why no Node may take the address, nil if one may.
func (a *Addresses) Refuse(addr netip.Addr) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if needed := a.list.Needs(addr, 0); needed.Kind != dependency.None {
		return fmt.Errorf("%s is %s; an ExternalIPPool must only contain addresses that nothing else has", addr, needed.What)
	}
	return nil
}
