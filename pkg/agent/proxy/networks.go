// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
)

// setNode tells the core what counts of a Node's object: nothing of one that has gone. setZone tells it in which zone this Node is, setNeeded what
// the Node depends on, of one source. They return the Services for which that may matter.
func (c *core) setNode(name string, now noderoute.Accepted) []key {
	former := c.nodes[name]
	changed := changes{}
	if c.nodes[name] = now; len(now.Networks)+len(now.Addresses) == 0 {
		delete(c.nodes, name)
	}
	// Additions come first: what stays is never given up in between.
	c.countNode(now, 1, changed.add)
	c.countNode(former, -1, changed.add)
	return changed.list()
}

func (c *core) setZone(zone string) []key {
	changed := changes{}
	if zone != c.zone {
		c.zone = zone
		c.withHints(changed.add)
	}
	return changed.list()
}

func (c *core) setNeeded(source string, now []dependency.Address) []key {
	changed := changes{}
	c.need(source, now, changed.add)
	return changed.list()
}

func (c *core) need(source string, now []dependency.Address, changed func(key)) {
	addresses := c.needs.Set(source, now)
	for _, addr := range addresses {
		c.users[addr].each(changed)
	}
	if len(addresses) > 0 {
		c.nodePorts.each(changed) // a NodePort is one at any address
	}
}

// countNode notes that one more or one less Node has what is accepted of one.
func (c *core) countNode(a noderoute.Accepted, by int, changed func(key)) {
	for _, addr := range a.Addresses {
		if c.needs.CountNode(addr, by) {
			c.users[addr].each(changed)
		}
	}
	for _, network := range a.Networks {
		if c.needs.CountNetwork(network, by) {
			c.changeNetwork(network, changed)
		}
	}
}

// changeNetwork notes that the addresses of the network are of Pods now, or no longer.
func (c *core) changeNetwork(network netip.Prefix, changed func(key)) {
	for s := range c.near.near(network) {
		found := false
		for i := range s.endpoints {
			if addr := s.endpoints[i].addr; network.Contains(addr) {
				found = true
				c.forgetOutside(s, addr)
				c.noteOutside(s, addr)
			}
		}
		if found {
			changed(s.service)
		}
	}
	for addr := range c.usersNear.near(network) {
		if network.Contains(addr) {
			c.users[addr].each(changed)
		}
	}
}

// withHints calls changed with all Services whose Endpoints have hints.
func (c *core) withHints(changed func(key)) {
	for k, ofService := range c.slices {
		for _, s := range ofService {
			if slices.ContainsFunc(s.endpoints, func(e endpoint) bool { return e.hints != nil }) {
				changed(k)
				break
			}
		}
	}
}

// inPodNetwork reports whether the address is in the Pod network of any Node.
func (c *core) inPodNetwork(addr netip.Addr) bool { return c.needs.InPodNetwork(addr) }

// onThisNode reports whether the Endpoint is on this Node. In a Pod network its address says so, which, unlike the name
// of the Node, cannot be entered wrongly.
func (c *core) onThisNode(e *endpoint, inPodNetwork bool) bool {
	if inPodNetwork {
		return slices.ContainsFunc(c.config.PodNetworks, func(network netip.Prefix) bool { return network.Contains(e.addr) })
	}
	return e.local
}
