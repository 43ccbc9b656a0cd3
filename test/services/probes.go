// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// target is the destination of a connection.
type target struct {
	address  netip.AddrPort
	protocol corev1.Protocol
	// node is the one Node that has the address; empty: it is the same on all.
	node string
}

// Probes returns connections to all addresses of Services that agents handle in one of the Worlds, the last of which is the current one, to
// addresses of Services that they leave alone, and to ports that no Service has.
func (g *Generator) Probes(worlds ...*World) []*Probe {
	var probes []*Probe
	seen := map[Probe]bool{}
	// add adds each probe once: of connections that a client with affinity opens at the same time, the last one counts.
	add := func(p *Probe) {
		if !seen[*p] {
			seen[*p], probes = true, append(probes, p)
		}
	}
	for _, t := range targets(worlds) {
		for range 1 + g.rng.IntN(2) {
			add(g.probe(t, FromPod))
		}
		if !g.world.Settings.ProxyAll {
			continue
		}
		if g.chance(50) {
			add(g.probe(t, FromNode))
		}
		// "Cluster IPs are for the cluster."
		if !isClusterIP(t.address.Addr()) {
			add(g.probe(t, FromOutside))
		}
	}
	return probes
}

func isClusterIP(address netip.Addr) bool {
	return netip.MustParsePrefix("10.96.0.0/16").Contains(address) || netip.MustParsePrefix("fd00:96::/64").Contains(address)
}

// targets returns each address once, in a fixed order.
func targets(worlds []*World) (all []target) {
	seen := map[target]bool{}
	add := func(t target) {
		if !seen[t] {
			seen[t], all = true, append(all, t)
		}
	}
	for _, w := range worlds {
		everything := *w
		// Services that are left alone, or that another configuration handles, also have addresses.
		everything.Services = withoutModes(w.Services)
		everything.Settings = Settings{ProxyAll: true, LoadBalancerIPs: true}
		for _, settings := range []Settings{everything.Settings, {ProxyAll: true, LoadBalancerIPs: true, ServiceProxyName: ProxyName}} {
			everything.Settings = settings
			for _, n := range w.Nodes {
				for _, f := range everything.frontends(n.Name) {
					t := target{address: f.address, protocol: f.protocol}
					if f.kind == nodePort {
						t.node = n.Name
					}
					add(t)
					if f.kind != nodePort && f.address.Port() == 80 {
						add(target{address: netip.AddrPortFrom(f.address.Addr(), 79), protocol: f.protocol})
					}
				}
			}
		}
	}
	return all
}

// withoutModes returns the Services as if agents handled the addresses of load balancers that are proxies, and leave the original ones alone.
func withoutModes(services []*corev1.Service) (all []*corev1.Service) {
	for _, s := range services {
		s = s.DeepCopy()
		for i := range s.Status.LoadBalancer.Ingress {
			s.Status.LoadBalancer.Ingress[i].IPMode = nil
		}
		all = append(all, s)
	}
	return all
}

// probe returns a connection to the target from a random client of the kind.
func (g *Generator) probe(t target, kind ClientKind) *Probe {
	p := &Probe{To: t.address, Protocol: t.protocol, Client: Client{Kind: kind, Node: t.node}}
	if p.Client.Node == "" {
		p.Client.Node = pick(g.rng, g.world.Nodes).Name
	}
	four := t.address.Addr().Is4()
	switch kind {
	case FromPod:
		pods := slices.DeleteFunc(slices.Clone(g.world.Pods), func(pod *Pod) bool { return pod.Node != p.Client.Node })
		pod := pick(g.rng, pods)
		if p.Client.IP = pod.IPv6; four {
			p.Client.IP = pod.IPv4
		}
	case FromNode:
		gateways := g.world.Node(p.Client.Node).Gateways
		if p.Client.IP = gateways[1]; four {
			p.Client.IP = gateways[0]
		}
	default:
		outside := outsideIPv6
		if four {
			outside = outsideIPv4
		}
		p.Client.IP = netip.MustParseAddr(pick(g.rng, outside))
	}
	return p
}
