// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// What proxyAll adds to Services: NodePorts, source ranges, health check ports, and routes of the Node.

// maxSourceRanges bounds how many networks of clients one Service can have: each is a flow for each frontend.
const maxSourceRanges = 256

// restrict marks the addresses that are for some clients only, and returns those that stand for NodePorts, one for each IP version.
func (c *Config) restrict(s *corev1.Service, p *service, addresses []address) (nodePorts []address) {
	balanced := s.Spec.Type == corev1.ServiceTypeLoadBalancer
	if balanced && p.externalLocal && s.Spec.HealthCheckNodePort != 0 {
		port, err := parsePort(s.Spec.HealthCheckNodePort)
		if err != nil {
			p.note("healthCheckNodePort: %v", err)
		}
		if port != 0 && port == c.RewritePort {
			p.note("healthCheckNodePort %d is the port of rewritten packets: %s", port, anotherPort)
			port = 0
		}
		p.healthPort = port
	}
	restricted := c.sourceRanges(s, p)
	for i, a := range addresses {
		addresses[i].restricted = a.rank == rankLoadBalancer && restricted[familyOf(a.Addr)]
	}
	if !balanced && s.Spec.Type != corev1.ServiceTypeNodePort {
		return nil
	}
	for _, f := range families {
		if slices.ContainsFunc(p.clusterIPs, func(a netip.Addr) bool { return familyOf(a) == f }) {
			nodePorts = append(nodePorts, address{Addr: f.unspecified(), rank: rankClusterIP, nodePort: true})
		}
	}
	return nodePorts
}

// unspecified is the address that stands for all addresses of this Node.
func (f family) unspecified() netip.Addr {
	if f == ipv6 {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// sourceRanges reads loadBalancerSourceRanges. An IP version without a range in it admits nobody. A connection of this Node comes from a
// gateway, so a range with an address of the Node admits it.
func (c *Config) sourceRanges(s *corev1.Service, p *service) (restricted [2]bool) {
	texts := s.Spec.LoadBalancerSourceRanges
	if len(texts) == 0 {
		return restricted
	}
	restricted = [2]bool{true, true}
	for _, text := range texts {
		// The API admits space around them.
		network, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			p.note("loadBalancerSourceRanges: %q is not a network", text)
			continue
		}
		if network.Bits() == 0 {
			restricted[familyOf(network.Addr())] = false
			continue
		}
		p.admit(network.Masked())
		if slices.ContainsFunc(c.NodeAddresses, network.Contains) {
			for _, gateway := range c.Gateways {
				if familyOf(gateway) == familyOf(network.Addr()) {
					p.admit(netip.PrefixFrom(gateway, gateway.BitLen()))
				}
			}
		}
	}
	return restricted
}

func (s *service) admit(network netip.Prefix) {
	sources := &s.sources[familyOf(network.Addr())]
	if slices.Contains(*sources, network) {
		return
	}
	if len(*sources) == maxSourceRanges {
		s.note("loadBalancerSourceRanges: %s and later ones are left out: a Service can have %d", network, maxSourceRanges)
		return
	}
	*sources = append(*sources, network)
}

// externalAddresses calls do with each external address of the Service, perhaps several times.
func (s *service) externalAddresses(do func(netip.Addr)) {
	if s == nil {
		return
	}
	for i := range s.ports {
		for _, frontends := range s.ports[i].frontends {
			for _, f := range frontends {
				if f.External {
					do(f.Address.Addr())
				}
			}
		}
	}
}

// noteExternals keeps the index of external addresses.
func (c *core) noteExternals(k key, former, now *service) {
	if !c.config.ProxyAll {
		return
	}
	former.externalAddresses(func(addr netip.Addr) {
		delete(c.externals[addr], k)
		if len(c.externals[addr]) == 0 {
			delete(c.externals, addr)
		}
	})
	now.externalAddresses(func(addr netip.Addr) {
		if c.externals[addr] == nil {
			c.externals[addr] = changes{}
		}
		c.externals[addr].add(k)
	})
}

// changeNodeAddresses notes that a Node has other addresses than before.
func (c *core) changeNodeAddresses(former, now []netip.Addr, changed func(key)) {
	count := func(addresses []netip.Addr, by int) {
		for _, addr := range addresses {
			before := c.nodeAddresses[addr]
			if c.nodeAddresses[addr] += by; before+by == 0 {
				delete(c.nodeAddresses, addr)
			}
			if before == 0 || before+by == 0 {
				c.externals[addr].each(changed)
			}
		}
	}
	if !slices.Equal(former, now) {
		count(now, 1)
		count(former, -1)
	}
}

// routes returns the addresses to which the Node's routes lead to the switch. A route is for all ports of an address, and would cut off the
// Node from a Pod or from another Node. note gets a text for each that is left out.
func (c *core) routes(frontends []openflow.Frontend, note func(string)) (routes []netip.Addr) {
	for _, f := range frontends {
		addr := f.Address.Addr()
		switch {
		case f.NodePort:
		case f.External && c.nodeAddresses[addr] > 0:
			note(fmt.Sprintf("%s is an address of a Node: it is the Service's for Pods only", addr))
		case f.External && c.inPodNetwork(addr):
			note(fmt.Sprintf("%s is in the network of Pods: it is the Service's for Pods only", addr))
		default:
			routes = append(routes, addr)
		}
	}
	return routes
}

// healthCheck is what load balancers are told at a Service's health check port.
type healthCheck struct {
	port uint16
	// endpoints is the number of ready Endpoints on this Node.
	endpoints int
}

// healthCheck returns the zero value for a Service without such a port. An Endpoint counts once, however many ports it serves.
func (c *core) healthCheck(s *service) healthCheck {
	if s == nil || s.healthPort == 0 {
		return healthCheck{}
	}
	ready := map[netip.Addr]bool{}
	for i := range s.ports {
		for _, f := range families {
			for _, e := range c.candidates(s.key, &s.ports[i], f, func(*slice, string) {}) {
				if e.local && e.ready {
					ready[e.addr] = true
				}
			}
		}
	}
	return healthCheck{s.healthPort, len(ready)}
}
