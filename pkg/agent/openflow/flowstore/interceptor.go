// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// knownNodes is the Interceptor until SetInterceptor is called. It remembers the Nodes that have flows, by name.
type knownNodes map[string][]coherency.Node

// Begin implements coherency.Interceptor.
func (k knownNodes) Begin(c coherency.Change) ([]coherency.Mark, func(error)) {
	return nil, func(err error) {
		if err != nil {
			return // the change will be made again
		}
		for _, name := range c.RemovedNodes {
			delete(k, name)
		}
		for _, n := range c.Nodes {
			delete(k, n.Name)
		}
		for _, n := range c.Nodes {
			k[n.Name] = append(k[n.Name], n)
		}
	}
}

// announce tells an Interceptor that has just begun of the Nodes. A new Node affects nobody, so there are no marks to write.
func (k knownNodes) announce(to coherency.Interceptor) {
	var nodes []coherency.Node
	for _, name := range slices.Sorted(maps.Keys(k)) {
		nodes = append(nodes, k[name]...)
	}
	if len(nodes) == 0 {
		return
	}
	_, end := to.Begin(coherency.Change{Nodes: nodes})
	end(nil)
}

// SetInterceptor makes every later Commit go through the Interceptor. The first one is told of the Nodes that have flows.
func (s *Store) SetInterceptor(interceptor coherency.Interceptor) {
	// This needs no timeout: every change ends, at the latest when the switch has not answered in time.
	s.changes <- struct{}{}
	defer s.changes.give()
	if known, first := s.interceptor.(knownNodes); first {
		known.announce(interceptor)
	}
	s.interceptor = interceptor
}
