// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Outcome is the fate of the first packet of a connection.
type Outcome uint8

const (
	// Untouched packets are none of the agent's business: a Pod's leave the bridge through the gateway as they are, others are not led
	// to the bridge.
	Untouched Outcome = iota
	// Served connections reach an Endpoint.
	Served
	// Rejected connections get a TCP reset or an ICMP message at once.
	Rejected
	// Dropped packets get no answer.
	Dropped
)

func (o Outcome) String() string {
	return [...]string{"left as it is", "served", "rejected", "dropped"}[o]
}

// Verdict is the documentation's promise about a connection.
type Verdict struct {
	Outcome Outcome
	// Endpoints are the possible Endpoints of the connection, sorted. Each gets connections if enough are opened.
	Endpoints []Endpoint
	// Affinity: connections of the client to this address get the same Endpoint.
	Affinity bool
	// Open: the documentation leaves open whether only Endpoints of the client's Node get connections. If there are none (OpenRejected), the
	// connection may be rejected instead.
	Open, OpenRejected bool
}

// Addresses returns the addresses of the Endpoints.
func (v *Verdict) Addresses() (all []netip.AddrPort) {
	for _, e := range v.Endpoints {
		all = append(all, e.Address)
	}
	return all
}

// Verdict says what a connection meets.
func (w *World) Verdict(p *Probe) Verdict {
	f := w.frontend(p.Client.Node, p.To, p.Protocol)
	switch {
	case f == nil && p.Client.Kind != FromPod && w.isRouted(p.Client.Node, p.To.Addr()):
		// "Routes to cluster IPs are for all ports: packets to other ports are dropped."
		return Verdict{Outcome: Dropped}
	case f == nil || p.Client.Kind != FromPod && !w.Settings.ProxyAll:
		return Verdict{Outcome: Untouched}
	case f.kind == loadBalancerIP && w.Settings.ProxyAll && !w.admits(f.service, &p.Client):
		return Verdict{Outcome: Dropped}
	}
	local := f.isLocalFor(p.Client.Kind)
	v := Verdict{Outcome: Served, Affinity: f.service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP}
	v.Endpoints = w.selected(f, p.Client.Node, local)
	if f.kind == nodePort && p.Client.Kind != FromOutside && hasLocalPolicy(f.service) {
		// "Clients sending to a NodePort from within the cluster may need to take traffic policy into account."
		v.Open, v.OpenRejected = true, len(w.selected(f, p.Client.Node, true)) == 0
	}
	switch {
	case len(v.Endpoints) > 0:
	case len(w.selected(f, p.Client.Node, false)) > 0:
		// "dropping the traffic if there are no local endpoints"
		return Verdict{Outcome: Dropped}
	default:
		return Verdict{Outcome: Rejected}
	}
	return v
}

// isLocalFor reports whether only Endpoints on the Node may serve the client. "Traffic sent to an External IP or LoadBalancer IP from within
// the cluster will always get Cluster semantics."
func (f *frontend) isLocalFor(kind ClientKind) bool {
	if f.kind == clusterIP {
		policy := f.service.Spec.InternalTrafficPolicy
		return policy != nil && *policy == corev1.ServiceInternalTrafficPolicyLocal
	}
	return kind == FromOutside && hasLocalPolicy(f.service)
}

func hasLocalPolicy(s *corev1.Service) bool {
	return s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// admits reports whether loadBalancerSourceRanges admit the client. "An IP version without a range of its own admits no
// client. A range with an address of the Node admits the Node."
func (w *World) admits(s *corev1.Service, c *Client) bool {
	ranges := s.Spec.LoadBalancerSourceRanges
	if len(ranges) == 0 {
		return true
	}
	sources := []netip.Addr{c.IP}
	if c.Kind == FromNode {
		for _, address := range w.Node(c.Node).Addresses {
			if address.Is4() == c.IP.Is4() {
				sources = append(sources, address)
			}
		}
	}
	return slices.ContainsFunc(ranges, func(text string) bool {
		network := netip.MustParsePrefix(text)
		return slices.ContainsFunc(sources, network.Contains)
	})
}

// Addresses that the documentation names as sources of connections that return to the host.
var (
	virtualIPv4 = netip.MustParseAddr("169.254.0.253")
	virtualIPv6 = netip.MustParseAddr("fc01::aabb:ccdd:eeff")
)

// Source returns the source that the Endpoint sees on the bridge where it leaves it; the zero Addr if nothing is promised, as about a Pod
// that is its own Endpoint.
func (w *World) Source(c *Client, e *Endpoint) netip.Addr {
	node := w.Node(c.Node)
	pick := func(addresses []netip.Addr) netip.Addr {
		return addresses[slices.IndexFunc(addresses, func(a netip.Addr) bool { return a.Is4() == c.IP.Is4() })]
	}
	isPodOf := func(n *Node) bool {
		return slices.ContainsFunc(n.PodNetworks, func(network netip.Prefix) bool { return network.Contains(e.Address.Addr()) })
	}
	switch {
	case c.Kind == FromPod && e.Address.Addr() == c.IP:
		return netip.Addr{}
	case c.Kind == FromPod:
		return c.IP
	case !slices.ContainsFunc(w.Nodes, isPodOf):
		if c.IP.Is4() {
			return virtualIPv4
		}
		return virtualIPv6
	case c.Kind == FromOutside && isPodOf(node):
		return c.IP
	}
	return pick(node.Gateways)
}
