// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// known is the Interceptor until SetInterceptor is called. It remembers the Nodes that have flows, by name, and the addresses of
// Services that lead to Pods.
type known struct {
	nodes    map[string][]coherency.Node
	services map[netip.Addr]bool
}

func newKnown() known {
	return known{nodes: map[string][]coherency.Node{}, services: map[netip.Addr]bool{}}
}

// Begin implements coherency.Interceptor.
func (k known) Begin(c coherency.Change) ([]coherency.Mark, func(error)) {
	return nil, func(err error) {
		if err != nil {
			return // the change will be made again
		}
		for _, name := range c.RemovedNodes {
			delete(k.nodes, name)
		}
		for _, n := range c.Nodes {
			delete(k.nodes, n.Name)
		}
		for _, n := range c.Nodes {
			k.nodes[n.Name] = append(k.nodes[n.Name], n)
		}
		maps.Copy(k.services, c.Services)
		maps.DeleteFunc(k.services, func(_ netip.Addr, toPods bool) bool { return !toPods })
	}
}

// announce tells a new Interceptor the Nodes and Services. New ones affect no flow, so there are no marks to write.
func (k known) announce(to coherency.Interceptor) {
	var change coherency.Change
	if len(k.services) > 0 {
		change.Services = k.services
	}
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		change.Nodes = append(change.Nodes, k.nodes[name]...)
	}
	if len(change.Nodes) == 0 && len(change.Services) == 0 {
		return
	}
	_, end := to.Begin(change)
	end(nil)
}

// SetInterceptor makes every later Commit go through the Interceptor. The first one is told of the Nodes and Services that have flows. The former
// agent's cache must have no hits any more.
func (s *Store) SetInterceptor(interceptor coherency.Interceptor) {
	// This needs no timeout: every change ends, at the latest when the switch has not answered in time.
	s.changes <- struct{}{}
	defer s.changes.give()
	if known, first := s.interceptor.(known); first {
		known.announce(interceptor)
	}
	s.forgetHits()
	s.interceptor = interceptor
}
