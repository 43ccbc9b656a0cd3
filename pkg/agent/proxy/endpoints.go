// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// candidate is an Endpoint of a port of a Service.
type candidate struct {
	*endpoint
	address netip.AddrPort
	slice   *slice
}

// better orders candidates with the same address: while an Endpoint moves to another slice, or its address to another Pod,
// there can be several of it. The one that is alive is taken.
func (e candidate) better(f candidate) int {
	prefer := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(prefer(!e.terminating, !f.terminating), prefer(e.ready, f.ready), prefer(e.serving, f.serving),
		strings.Compare(e.slice.name, f.slice.name))
}

// candidates returns the Endpoints of a port by their addresses, each once, ready or not. Those that no packet can be sent to
// are left out and noted.
func (c *core) candidates(k key, p *servicePort, f family, note func(*slice, string)) []candidate {
	var found []candidate
	nested := c.services[k] != nil && c.services[k].nested
	for _, s := range c.slices[k] {
		i := slices.IndexFunc(s.ports, func(q slicePort) bool { return q.name == p.name && q.protocol == p.protocol })
		if s.family != f || i < 0 {
			continue
		}
		found = slices.Grow(found, len(s.endpoints))
		for j := range s.endpoints {
			e := &s.endpoints[j]
			if c.clusterIPs[e.addr] > 0 && !nested && !c.inPodNetwork(e.addr) {
				note(s, e.addr.String()+" is the cluster IP of a Service: an Endpoint must have an address of its own")
				continue
			}
			found = append(found, candidate{e, netip.AddrPortFrom(e.addr, s.ports[i].number), s})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.address.Compare(b.address), a.better(b)) })
	return slices.CompactFunc(found, func(a, b candidate) bool { return a.address == b.address })
}

// usable are ready or, if there are none, those that serve while they terminate.
func usable(candidates []candidate) []candidate {
	if ready := filter(candidates, func(e candidate) bool { return e.ready }); len(ready) > 0 {
		return ready
	}
	return filter(candidates, func(e candidate) bool { return e.serving && e.terminating })
}

func filter(candidates []candidate, keep func(candidate) bool) []candidate {
	var kept []candidate
	for _, e := range candidates {
		if keep(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// nearby follows the hints of the ready Endpoints: it returns the Endpoints for this Node, else for its zone, else all.
// Hints of one kind count only if each ready Endpoint has some and one of them is for this Node, or for its zone.
func (c *core) nearby(ready []candidate) []candidate {
	if c.config.NodeHints {
		if near := follow(ready, func(e candidate) (bool, bool) { return e.forNode(c.config.NodeName) }); near != nil {
			return near
		}
	}
	if near := follow(ready, func(e candidate) (bool, bool) { return e.forZone(c.zone) }); near != nil {
		return near
	}
	return ready
}

// follow returns the Endpoints that hints name, or nil if the hints do not count.
func follow(ready []candidate, hint func(candidate) (given, named bool)) []candidate {
	var near []candidate
	for _, e := range ready {
		given, named := hint(e)
		if !given {
			return nil
		}
		if named {
			near = append(near, e)
		}
	}
	return near
}

// clusterEndpoints are the Endpoints for the traffic policy Cluster, localEndpoints for Local.
func (c *core) clusterEndpoints(candidates []candidate) []candidate {
	all := usable(candidates)
	if len(all) == 0 || !all[0].ready {
		return all
	}
	return c.nearby(all)
}

func localEndpoints(candidates []candidate) []candidate {
	return usable(filter(candidates, func(e candidate) bool { return e.local }))
}

// endpoints converts.
func (c *core) endpoints(candidates []candidate) []openflow.Endpoint {
	if len(candidates) == 0 {
		return nil
	}
	converted := make([]openflow.Endpoint, 0, len(candidates))
	for _, e := range candidates {
		inPodNetwork := c.inPodNetwork(e.addr)
		converted = append(converted, openflow.Endpoint{Address: e.address, PodNetwork: inPodNetwork, OnThisNode: c.onThisNode(e.endpoint, inPodNetwork)})
	}
	return converted
}
