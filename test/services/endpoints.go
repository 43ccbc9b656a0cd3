// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Endpoint is an address and port to which a Service's connections go.
type Endpoint struct {
	Address netip.AddrPort
	// Node is empty for addresses outside the cluster.
	Node                        string
	Ready, Serving, Terminating bool
	// Zones and Nodes are the hints.
	Zones, Nodes []string
}

// selected returns the Endpoints for new connections on a Node.
func (w *World) selected(f *frontend, node string, local bool) []Endpoint {
	all := w.endpoints(f)
	if local {
		all = slices.DeleteFunc(all, func(e Endpoint) bool { return e.Node != node })
	}
	ready := filter(all, func(e *Endpoint) bool { return e.Ready })
	if len(ready) == 0 {
		// "If no Endpoint is ready, those are used that still serve while they terminate."
		return filter(all, func(e *Endpoint) bool { return e.Serving && e.Terminating })
	}
	if local {
		return ready // "Hints do not matter."
	}
	return w.hinted(ready, node)
}

// hinted follows the hints of ready Endpoints if they are complete. "One or more endpoints does not have a zone hint: kube-proxy falls back
// to using all endpoints." "If the kube-proxy is unable to find at least one endpoint with a hint targeting the zone it is running in, it
// falls back to using endpoints from all zones."
func (w *World) hinted(ready []Endpoint, node string) []Endpoint {
	choose := func(hints func(*Endpoint) []string, mine string) []Endpoint {
		if slices.ContainsFunc(ready, func(e Endpoint) bool { return len(hints(&e)) == 0 }) {
			return nil
		}
		return filter(ready, func(e *Endpoint) bool { return slices.Contains(hints(e), mine) })
	}
	if w.Settings.NodeHints {
		if chosen := choose(func(e *Endpoint) []string { return e.Nodes }, node); len(chosen) > 0 {
			return chosen
		}
	}
	if zone := w.Node(node).Zone; zone != "" {
		if chosen := choose(func(e *Endpoint) []string { return e.Zones }, zone); len(chosen) > 0 {
			return chosen
		}
	}
	return ready
}

func filter(endpoints []Endpoint, keep func(*Endpoint) bool) (kept []Endpoint) {
	for _, e := range endpoints {
		if keep(&e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// endpoints returns all Endpoints of a port, in whatever condition, sorted. A client of the API "must iterate through all the existing
// EndpointSlices associated to a Service and build a complete list of unique network endpoints".
func (w *World) endpoints(f *frontend) (all []Endpoint) {
	version := discoveryv1.AddressTypeIPv6
	if f.address.Addr().Is4() {
		version = discoveryv1.AddressTypeIPv4
	}
	for _, slice := range w.Slices {
		if slice.Namespace != f.service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != f.service.Name || slice.AddressType != version {
			continue
		}
		for _, port := range slice.Ports {
			// "This must match the name field in the EndpointPort", whose protocol is "the IP protocol for this port".
			if port.Port == nil || valueOr(port.Name, "") != f.port.Name || valueOr(port.Protocol, corev1.ProtocolTCP) != f.protocol {
				continue
			}
			for i := range slice.Endpoints {
				if e := endpointOf(&slice.Endpoints[i], uint16(*port.Port)); w.isUsable(e.Address.Addr()) {
					all = append(all, e)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Endpoint) int { return a.Address.Compare(b.Address) })
	return slices.CompactFunc(all, func(a, b Endpoint) bool { return a.Address == b.Address })
}

// endpointOf follows the API: a nil value of ready and of serving is true, one of terminating is false. Only the first address counts.
func endpointOf(e *discoveryv1.Endpoint, port uint16) Endpoint {
	endpoint := Endpoint{
		Address: netip.AddrPortFrom(netip.MustParseAddr(e.Addresses[0]), port), Node: valueOr(e.NodeName, ""),
		Ready: valueOr(e.Conditions.Ready, true), Serving: valueOr(e.Conditions.Serving, true), Terminating: valueOr(e.Conditions.Terminating, false),
	}
	if e.Hints != nil {
		for _, zone := range e.Hints.ForZones {
			endpoint.Zones = append(endpoint.Zones, zone.Name)
		}
		for _, node := range e.Hints.ForNodes {
			endpoint.Nodes = append(endpoint.Nodes, node.Name)
		}
	}
	return endpoint
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// isUsable: Endpoints "must not be: loopback, or link-local", nor "the cluster IPs of other Kubernetes Services". Of Services that the agent
// leaves alone nothing is said.
func (w *World) isUsable(address netip.Addr) bool {
	if address.IsLoopback() || address.IsLinkLocalUnicast() || address.IsMulticast() || address.IsUnspecified() {
		return false
	}
	for _, s := range w.Services {
		if !w.isLeftAlone(s) && slices.Contains(s.Spec.ClusterIPs, address.String()) {
			return false
		}
	}
	return true
}
