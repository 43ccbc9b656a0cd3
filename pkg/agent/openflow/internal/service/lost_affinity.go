// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
)

// A learned flow only loads the address of a client's Endpoint: the shared flow to the Endpoint does the rest. When the port loses the
// Endpoint, the learned flow has no effect as long as no port has an Endpoint with that address, so affinities to other Endpoints
// stay. Before a port gets the address, perhaps because a Pod has got the address of the former Pod, the flow must go. OpenFlow cannot
// delete a flow by its actions, so all clients of the port then lose their affinity.

// LostEndpoints returns the Endpoints that the port loses while it has affinity before and after.
func (c *portChange) lostEndpoints() (lost []endpointKey) {
	if c.old == nil || c.after == nil || c.old.Affinity == 0 || c.after.Affinity == 0 {
		return nil
	}
	for to := range scopes {
		for _, e := range c.old.endpoints(to) {
			if !slices.ContainsFunc(c.after.endpoints(to), func(other Endpoint) bool { return other.Address == e.Address }) {
				lost = append(lost, endpointKey{protocolNumbers[c.old.Protocol], e.Address})
			}
		}
	}
	return lost
}

// losesFrontend reports whether the port, which has affinity before and after, loses a frontend, or a frontend loses clients or all
// its Endpoints (because the other list serves it from now on). The switch deletes the port's learned flows only with its last
// frontend, and the Endpoints may serve other frontends.
func (c *portChange) losesFrontend() bool {
	if c.old == nil || c.after == nil || c.old.Affinity == 0 || c.after.Affinity == 0 {
		return false
	}
	sameRanges := slices.Equal(c.old.SourceRanges, c.after.SourceRanges)
	return slices.ContainsFunc(c.old.Frontends, func(f Frontend) bool {
		return !slices.ContainsFunc(c.after.Frontends, func(g Frontend) bool {
			return keyOf(c.old.ServicePort, f) == keyOf(c.after.ServicePort, g) && f.Local == g.Local && (!g.Restricted || f.Restricted && sameRanges)
		})
	})
}

// staleAffinities returns the ports with a learned flow that could lead to an Endpoint of another port after the change, or from an
// address that is no longer the port's.
func (s *serviceState) staleAffinities(c *portChange) (stale []*installedPort) {
	if c.losesFrontend() || len(s.lost[c.name])+len(c.lost) > MaxLost ||
		slices.ContainsFunc(c.lost, func(k endpointKey) bool { return c.users[k] > 0 }) {
		stale = append(stale, c.old)
	}
	others := map[string]bool{}
	for k, users := range c.users {
		if users > 0 {
			maps.Copy(others, s.losers[k])
		}
	}
	delete(others, c.name)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		stale = append(stale, s.ports[name])
	}
	return stale
}

// deletions returns the deletions of learned flows of stale ports.
func (c *portChange) deletions(g *pipeline.Generator) (deletions []flowstore.Deletion) {
	for _, p := range c.stale {
		for to := range scopes {
			if p.groups[to] != 0 {
				deletions = append(deletions, flowstore.Deletion{Cookie: p.flowsWith(g, 0).learnedCookie(to), Mask: ^uint64(0)})
			}
		}
	}
	return deletions
}

// applyAffinities records the Endpoints to which the learned flows may lead after the change.
func (s *serviceState) applyAffinities(c *portChange) {
	for _, p := range c.stale {
		s.forgetLost(p.Name)
	}
	// The switch deletes learned flows together with the flow that taught them.
	if c.after == nil || c.after.Affinity == 0 || slices.Contains(c.stale, c.old) {
		s.forgetLost(c.name)
		return
	}
	for k, users := range c.users {
		if users > 0 {
			removeFrom(s.lost, c.name, k)
			removeFrom(s.losers, k, c.name)
		}
	}
	for _, k := range c.lost {
		addTo(s.lost, c.name, k)
		addTo(s.losers, k, c.name)
	}
}

// forgetLost is called when the switch has no flow that it has learned for the port.
func (s *serviceState) forgetLost(name string) {
	for k := range s.lost[name] {
		removeFrom(s.losers, k, name)
	}
	delete(s.lost, name)
}

func addTo[K, V comparable](sets map[K]map[V]bool, key K, value V) {
	if sets[key] == nil {
		sets[key] = map[V]bool{}
	}
	sets[key][value] = true
}

func removeFrom[K, V comparable](sets map[K]map[V]bool, key K, value V) {
	if delete(sets[key], value); len(sets[key]) == 0 {
		delete(sets, key)
	}
}
