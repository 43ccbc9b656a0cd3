// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Frontend is an address by which Pods of this Node reach a port of a Service, as the switch has it.
type Frontend struct {
	openflow.Frontend
	// Service is its namespace/name.
	Service  string
	Protocol corev1.Protocol
	// Endpoints are the Endpoints for new connections of Pods, by address. If there are none, such connections are
	// rejected, or dropped if Elsewhere is set (see openflow.ServicePort).
	Endpoints []openflow.Endpoint
	Elsewhere bool
	// SourceRanges are the clients that a restricted frontend serves.
	SourceRanges []netip.Prefix
}

// FrontendAt returns the frontend that packets to the address are for; ok is false if the switch does not translate them.
func (c *Controller) FrontendAt(protocol corev1.Protocol, address netip.AddrPort) (f Frontend, ok bool) {
	wanted := []frontendKey{{protocol: protocol, address: address}}
	if c.cleaner.servesNodePorts(address.Addr()) {
		unspecified := familyOf(address.Addr()).unspecified()
		wanted = append(wanted, frontendKey{protocol, netip.AddrPortFrom(unspecified, address.Port()), true})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range wanted {
		if p := c.state.holders[k]; p != nil {
			i := slices.IndexFunc(p.Frontends, func(f openflow.Frontend) bool { return keyOf(p.Protocol, f) == k })
			f = p.frontend(i)
			f.Address = address
			return f, true
		}
	}
	return f, false
}

// FrontendsOf returns those frontends of a Service that have an address of their own (no NodePorts), in the order of the Service's ports
// by their names.
func (c *Controller) FrontendsOf(namespace, name string) (frontends []Frontend) {
	k := key{Namespace: namespace, Name: name}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, portName := range c.state.names(k) {
		p := c.state.ports[k][portName]
		for i := range p.Frontends {
			if !p.Frontends[i].NodePort {
				frontends = append(frontends, p.frontend(i))
			}
		}
	}
	return frontends
}

// frontend describes one of the port's frontends.
func (p *port) frontend(i int) Frontend {
	service, _, _ := strings.Cut(p.Name, ":")
	return Frontend{
		Frontend: p.Frontends[i], Service: service, Protocol: p.Protocol, Elsewhere: p.Elsewhere,
		Endpoints: slices.Clone(p.ForPods(p.Frontends[i])), SourceRanges: slices.Clone(p.SourceRanges),
	}
}

// servesNodePorts reports whether the switch serves NodePorts at the address.
func (c *cleaner) servesNodePorts(addr netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.host && c.addresses[addr]
}
