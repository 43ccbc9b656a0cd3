// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// node is a Node object as far as it matters here.
type node struct {
	podNetworks []netip.Prefix
	zone        string
	// addresses are those of the Node itself.
	addresses []netip.Addr
}

func parseNode(n *corev1.Node) *node {
	p := &node{zone: n.Labels[corev1.LabelTopologyZone]}
	texts := n.Spec.PodCIDRs
	if len(texts) == 0 && n.Spec.PodCIDR != "" {
		texts = []string{n.Spec.PodCIDR}
	}
	for _, text := range texts {
		// Package noderoute reports networks that are not valid.
		if network, err := netip.ParsePrefix(text); err == nil {
			p.podNetworks = append(p.podNetworks, network.Masked())
		}
	}
	for _, a := range n.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil {
			p.addresses = append(p.addresses, addr.Unmap())
		}
	}
	return p
}

// setNode and deleteNode tell the core about a Node. They return the Services for which that may matter.
func (c *core) setNode(n *corev1.Node) []key { return c.changeNode(n.Name, parseNode(n)) }

func (c *core) deleteNode(name string) []key { return c.changeNode(name, nil) }

func (c *core) changeNode(name string, now *node) []key {
	former := c.nodes[name]
	if former == nil {
		former = &node{}
	}
	if now == nil {
		delete(c.nodes, name)
		now = &node{}
	} else {
		c.nodes[name] = now
	}
	changed := changes{}
	if c.config.ProxyAll {
		c.changeNodeAddresses(former.addresses, now.addresses, changed.add)
	}
	if name == c.config.NodeName && now.zone != former.zone {
		c.zone = now.zone
		c.withHints(changed.add)
	}
	for _, network := range now.podNetworks {
		if !slices.Contains(former.podNetworks, network) {
			c.countNetwork(network, 1, changed.add)
		}
	}
	for _, network := range former.podNetworks {
		if !slices.Contains(now.podNetworks, network) {
			c.countNetwork(network, -1, changed.add)
		}
	}
	return changed.list()
}

// countNetwork notes that one more or one less Node has the Pod network.
func (c *core) countNetwork(network netip.Prefix, change int, changed func(key)) {
	before, _ := c.networks.Get(network)
	if before+change == 0 {
		c.networks.Delete(network)
	} else {
		c.networks.Set(network, before+change)
	}
	if before != 0 && before+change != 0 {
		return
	}
	// Nodes come and go too rarely to have an index for this.
	for k, ofService := range c.slices {
		for _, s := range ofService {
			if slices.ContainsFunc(s.endpoints, func(e endpoint) bool { return network.Contains(e.addr) }) {
				c.forgetOutside(s)
				c.noteOutside(s)
				changed(k)
			}
		}
	}
	for addr, services := range c.externals {
		if network.Contains(addr) {
			services.each(changed)
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
func (c *core) inPodNetwork(addr netip.Addr) bool {
	for range c.networks.Overlapping(netip.PrefixFrom(addr, addr.BitLen())) {
		return true
	}
	return false
}

// onThisNode reports whether the Endpoint is on this Node. In a Pod network its address says so, which, in contrast to the
// name of the Node, nobody can enter wrongly.
func (c *core) onThisNode(e *endpoint, inPodNetwork bool) bool {
	if inPodNetwork {
		return slices.ContainsFunc(c.config.PodNetworks, func(network netip.Prefix) bool { return network.Contains(e.addr) })
	}
	return e.local
}
