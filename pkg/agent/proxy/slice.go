// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// maxFindings limits the findings kept of one object, which can have thousands of parts.
const maxFindings = 5

// addressFamilies has the address types that Services use.
var addressFamilies = map[discoveryv1.AddressType]family{discoveryv1.AddressTypeIPv4: ipv4, discoveryv1.AddressTypeIPv6: ipv6}

// slice is an EndpointSlice as far as it matters here.
type slice struct {
	name      string
	uid       string
	service   key
	family    family
	ports     []slicePort
	endpoints []endpoint
	// findings are the faults of the object itself, at most maxFindings.
	findings []string
}

type slicePort struct {
	name     string
	protocol corev1.Protocol
	number   uint16
}

// endpoint is an Endpoint of a slice. There can be many: it is small.
type endpoint struct {
	addr netip.Addr
	// hints is nil without hints, and shared by Endpoints with the same ones.
	hints                       *hints
	ready, serving, terminating bool
	// local: the Endpoint's Node is this one.
	local bool
}

type hints struct{ zones, nodes []string }

// forZone and forNode report whether the Endpoint has such hints, and whether they name the zone or Node.
func (e *endpoint) forZone(zone string) (given, named bool) {
	if e.hints == nil {
		return false, false
	}
	return len(e.hints.zones) > 0, slices.Contains(e.hints.zones, zone)
}

func (e *endpoint) forNode(node string) (given, named bool) {
	if e.hints == nil {
		return false, false
	}
	return len(e.hints.nodes) > 0, slices.Contains(e.hints.nodes, node)
}

// parseSlice reads an EndpointSlice. Faulty parts are left out and noted. It returns nil for a slice that no Service of
// the enabled IP versions can have.
func (c *Config) parseSlice(s *discoveryv1.EndpointSlice) *slice {
	service, ok := serviceOf(s)
	f, known := addressFamilies[s.AddressType]
	if !ok || !known || !c.enabled(f) {
		return nil
	}
	p := &slice{name: s.Name, uid: string(s.UID), service: service, family: f}
	for _, port := range s.Ports {
		p.addPort(port)
	}
	shared := map[string]*hints{}
	p.endpoints = make([]endpoint, 0, len(s.Endpoints))
	for i := range s.Endpoints {
		p.addEndpoint(&s.Endpoints[i], c.NodeName, shared)
	}
	return p
}

func (s *slice) note(format string, args ...any) {
	if len(s.findings) < maxFindings {
		s.findings = append(s.findings, fmt.Sprintf(format, args...))
	}
}

// addPort adds a port of the slice. One without number is for consumers other than Services.
func (s *slice) addPort(port discoveryv1.EndpointPort) {
	if port.Port == nil {
		return
	}
	p := slicePort{protocol: corev1.ProtocolTCP}
	if port.Name != nil {
		p.name = *port.Name
	}
	if port.Protocol != nil {
		p.protocol = *port.Protocol
	}
	number, err := parsePort(*port.Port)
	if err != nil {
		s.note("port %q: %v", p.name, err)
		return
	}
	p.number = number
	if slices.ContainsFunc(s.ports, func(other slicePort) bool { return other.name == p.name && other.protocol == p.protocol }) {
		s.note("two ports have the name %q: %d is left out", p.name, number)
		return
	}
	s.ports = append(s.ports, p)
}

// addEndpoint adds an Endpoint. Its addresses beyond the first have no meaning (discovery.k8s.io/v1).
func (s *slice) addEndpoint(e *discoveryv1.Endpoint, node string, shared map[string]*hints) {
	if len(e.Addresses) == 0 {
		s.note("an Endpoint has no address")
		return
	}
	addr, err := parseAddr(e.Addresses[0])
	if err == nil && familyOf(addr) != s.family {
		err = fmt.Errorf("%s is not an %s address, as the slice says", addr, s.family)
	}
	if err != nil {
		s.note("Endpoint: %v", err)
		return
	}
	s.endpoints = append(s.endpoints, endpoint{
		addr: addr, hints: parseHints(e.Hints, shared), local: e.NodeName != nil && *e.NodeName == node,
		ready:       e.Conditions.Ready == nil || *e.Conditions.Ready,
		serving:     e.Conditions.Serving == nil || *e.Conditions.Serving,
		terminating: e.Conditions.Terminating != nil && *e.Conditions.Terminating,
	})
}

func parseHints(h *discoveryv1.EndpointHints, shared map[string]*hints) *hints {
	if h == nil || len(h.ForZones)+len(h.ForNodes) == 0 {
		return nil
	}
	parsed := &hints{}
	for _, zone := range h.ForZones {
		parsed.zones = append(parsed.zones, zone.Name)
	}
	for _, node := range h.ForNodes {
		parsed.nodes = append(parsed.nodes, node.Name)
	}
	// No name has a comma or a slash in it.
	text := strings.Join(parsed.zones, ",") + "/" + strings.Join(parsed.nodes, ",")
	if shared[text] == nil {
		shared[text] = parsed
	}
	return shared[text]
}
