// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
)

// The additions of proxyAll to Services: NodePorts, source ranges, health check ports, and routes of the Node.

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

// sourceRanges reads loadBalancerSourceRanges. An IP version without a range in it admits no client. A connection of
// this Node comes from a gateway, so a range with an address of the Node admits it.
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

// addresses calls do with each address of the Service, perhaps several times, and notes whether it has a NodePort.
func (s *service) addresses(do func(netip.Addr)) (nodePort bool) {
	if s == nil {
		return false
	}
	for i := range s.ports {
		for _, frontends := range s.ports[i].frontends {
			for _, f := range frontends {
				if nodePort = nodePort || f.NodePort; !f.NodePort {
					do(f.Address.Addr())
				}
			}
		}
	}
	return nodePort
}

// noteUsers keeps the indexes of Services by their addresses.
func (c *core) noteUsers(k key, former, now *service) {
	if !c.config.ProxyAll {
		return
	}
	former.addresses(func(addr netip.Addr) {
		if _, known := c.users[addr][k]; !known {
			return
		}
		if delete(c.users[addr], k); len(c.users[addr]) == 0 {
			delete(c.users, addr)
			c.usersNear.count(addr, addr, -1)
		}
	})
	delete(c.nodePorts, k)
	nodePort := now.addresses(func(addr netip.Addr) {
		if c.users[addr] == nil {
			c.users[addr] = changes{}
			c.usersNear.count(addr, addr, 1)
		}
		c.users[addr].add(k)
	})
	if nodePort {
		c.nodePorts.add(k)
	}
}

// refuses says why the Service cannot have the frontend: the Node depends on another server there. It is empty if it can.
func (c *core) refuses(s *service, f frontend) string {
	if !c.config.ProxyAll {
		return ""
	}
	needed, what := c.needs.Needs(f.Address.Addr(), f.Address.Port()), f.Address.String()
	if f.NodePort {
		needed, what = c.needs.NeedsNodePort(f.Address.Port()), fmt.Sprintf("NodePort %d", f.Address.Port())
	}
	switch {
	case needed.Kind != dependency.Server && needed.Kind != dependency.Pipeline, needed.Service == s.key.String():
		return ""
	case needed.Kind == dependency.Server && needed.Service == "" && f.rank != rankExternalIP:
		return "" // it is the server: whoever gives such addresses is trusted
	}
	return fmt.Sprintf("%s is %s, which this Node depends on: it is left out", what, needed.What)
}

// lead sets what leads connections to the switch: routes to cluster IPs, which are for all ports, and external addresses with the port. note gets
// a text for each address that is left out.
func (c *core) lead(s *service, p *port, note func(string)) {
	for _, f := range p.Frontends {
		addr := f.Address.Addr()
		if f.NodePort {
			continue
		}
		needed := c.needs.Needs(addr, f.Address.Port())
		if !f.External {
			needed = c.needs.NeedsBut(addr, s.serves)
		}
		switch {
		case needed.Kind == dependency.Host || needed.Kind != dependency.None && !f.External:
			note(fmt.Sprintf("%s is %s: it is the Service's for Pods only", addr, needed.What))
		case f.External:
			p.external = append(p.external, addr)
		default:
			p.routes = append(p.routes, addr)
		}
	}
}

// serves reports whether the Service has the port at its addresses.
func (s *service) serves(port uint16) bool {
	return slices.ContainsFunc(s.ports, func(p servicePort) bool { return p.number == port })
}

// healthCheck is the answer to load balancers at a Service's health check port.
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
