// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// world is a cluster: all its objects, by their names.
type world struct {
	services map[string]*corev1.Service
	slices   map[string]*discoveryv1.EndpointSlice
	nodes    map[string]*corev1.Node
}

// expected says what the switch of Node n1 has to have. It is written from the documentation of Kubernetes (the API reference
// of Service and EndpointSlice; "Virtual IPs and Service Proxies"; "Service Internal Traffic Policy"; "Topology Aware Routing")
// and of this package's rules for what Kubernetes leaves open (doc.go), and shares no code with the package. It looks at
// everything each time.
func (w *world) expected(config Config) map[string]openflow.ServicePort {
	ports := map[string]openflow.ServicePort{}
	for _, s := range w.services {
		if !w.isHandled(s, config) {
			continue
		}
		for _, p := range w.validPorts(s) {
			for _, version := range []string{"", "/IPv6"} {
				port := openflow.ServicePort{Name: fmt.Sprintf("%s/%s:%d/%s%s", s.Namespace, s.Name, p.Port, p.Protocol, version), Protocol: p.Protocol}
				if s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
					port.Affinity = min(time.Duration(*s.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds), 65535) * time.Second
				}
				isSix := version != ""
				useCluster, useLocal := false, false
				for _, f := range w.wishes(s, p, config) {
					if f.Address.Addr().Is6() != isSix || w.winner(f.Address, p.Protocol, config) != s {
						continue
					}
					port.Frontends = append(port.Frontends, f)
					if f.External || f.NodePort || !f.Local {
						useCluster = true
					}
					if f.Restricted {
						port.SourceRanges, _ = admittedClients(s, isSix)
					}
					if f.Local {
						useLocal = true
					}
				}
				if len(port.Frontends) == 0 {
					continue
				}
				all := w.endpointsOf(s, p, isSix, config)
				if useCluster {
					port.Cluster = w.convert(w.clusterPolicy(all, config), config)
				}
				if useLocal {
					port.Local = w.convert(localPolicy(all, config), config)
					port.Elsewhere = len(port.Local) == 0 && len(w.clusterPolicy(all, config)) > 0
				}
				ports[port.Name] = port
			}
		}
	}
	return ports
}

func (w *world) isHandled(s *corev1.Service, config Config) bool {
	proxyName, hasName := s.Labels["service.kubernetes.io/service-proxy-name"]
	if config.ServiceProxyName == "" {
		if hasName {
			return false
		}
	} else if proxyName != config.ServiceProxyName {
		return false
	}
	if _, headless := s.Labels["service.kubernetes.io/headless"]; headless {
		return false
	}
	for _, skip := range config.SkipServices {
		if skip == s.Namespace+"/"+s.Name || slices.Contains(s.Spec.ClusterIPs, skip) {
			return false
		}
	}
	return s.Spec.Type != corev1.ServiceTypeExternalName && s.Spec.ClusterIP != "None" && s.Spec.ClusterIP != ""
}

func (w *world) validPorts(s *corev1.Service) (ports []corev1.ServicePort) {
next:
	for _, p := range s.Spec.Ports {
		if p.Port < 1 || p.Port > 65535 {
			continue
		}
		for _, q := range ports {
			if q.Name == p.Name || q.Port == p.Port && q.Protocol == p.Protocol {
				continue next
			}
		}
		ports = append(ports, p)
	}
	return ports
}

func valid(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() && !addr.IsMulticast() && !addr.IsUnspecified()
}

// wishes are the frontends that a Service wants, in the order of its fields.
func (w *world) wishes(s *corev1.Service, p corev1.ServicePort, config Config) (wishes []openflow.Frontend) {
	add := func(text string, external bool) {
		if !valid(text) {
			return
		}
		address := netip.AddrPortFrom(netip.MustParseAddr(text), uint16(p.Port))
		if address.Addr().Is6() && !config.IPv6 || address.Addr().Is4() && !config.IPv4 {
			return
		}
		for _, f := range wishes {
			if f.Address == address {
				return
			}
		}
		local := s.Spec.InternalTrafficPolicy != nil && *s.Spec.InternalTrafficPolicy == "Local"
		if external {
			local = s.Spec.ExternalTrafficPolicy == "Local"
		}
		wishes = append(wishes, openflow.Frontend{Address: address, External: external, Local: local})
	}
	for _, ip := range s.Spec.ClusterIPs {
		add(ip, false)
	}
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		if balances(s, ingress.IP, config) {
			add(ingress.IP, true)
		}
	}
	for _, ip := range s.Spec.ExternalIPs {
		add(ip, true)
	}
	if config.ProxyAll {
		wishes = w.proxyAllWishes(s, p, wishes, config)
	}
	return wishes
}

// proxyAllWishes: addresses of load balancers are for some clients only, and ports have NodePorts in the IP versions of the Service.
func (w *world) proxyAllWishes(s *corev1.Service, p corev1.ServicePort, wishes []openflow.Frontend, config Config) []openflow.Frontend {
	versions := map[bool]bool{}
	for i, f := range wishes {
		isSix := f.Address.Addr().Is6()
		text := f.Address.Addr().String()
		if f.External && balances(s, text, config) {
			_, wishes[i].Restricted = admittedClients(s, isSix)
		}
		if slices.Contains(s.Spec.ClusterIPs, text) {
			versions[isSix] = true
		}
	}
	if p.NodePort == 0 || s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return wishes
	}
	for _, q := range w.validPorts(s) {
		if q.Name == p.Name {
			break
		}
		if q.NodePort == p.NodePort && q.Protocol == p.Protocol {
			return wishes // another port of the Service has it
		}
	}
	for isSix, any := range map[bool]string{false: "0.0.0.0", true: "::"} {
		if versions[isSix] {
			wishes = append(wishes, openflow.Frontend{Address: netip.AddrPortFrom(netip.MustParseAddr(any), uint16(p.NodePort)), NodePort: true,
				Local: s.Spec.ExternalTrafficPolicy == "Local"})
		}
	}
	return wishes
}

// admittedClients returns the clients in loadBalancerSourceRanges. Without any range all are admitted, without a range
// of the IP version none.
func admittedClients(s *corev1.Service, isSix bool) (networks []netip.Prefix, some bool) {
	if len(s.Spec.LoadBalancerSourceRanges) == 0 {
		return nil, false
	}
	some = true
	for _, text := range s.Spec.LoadBalancerSourceRanges {
		network := netip.MustParsePrefix(text)
		if network.Addr().Is6() != isSix {
			continue
		}
		if network.Bits() == 0 {
			some = false
		} else {
			networks = append(networks, network)
		}
	}
	return networks, some
}

// balances: the address is one of the Service's load balancer, and its connections are handled. Without proxyAll, those are not of which
// some Pods here are not admitted.
func balances(s *corev1.Service, text string, config Config) bool {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || !config.LoadBalancerIPs {
		return false
	}
	ranges := s.Spec.LoadBalancerSourceRanges
	if !config.ProxyAll && len(ranges) > 0 && (strings.Contains(text, ":") || !slices.Contains(ranges, "0.0.0.0/0")) {
		return false
	}
	return slices.ContainsFunc(s.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool {
		return i.IP == text && (i.IPMode == nil || *i.IPMode == "VIP")
	})
}

// winner is the Service that gets an address: cluster IPs go first, then addresses of load balancers, then external IPs; among
// equals the older Service wins, then the first by name.
func (w *world) winner(address netip.AddrPort, protocol corev1.Protocol, config Config) *corev1.Service {
	type candidate struct {
		service *corev1.Service
		rank    int
	}
	var candidates []candidate
	for _, s := range w.services {
		if !w.isHandled(s, config) {
			continue
		}
		for _, p := range w.validPorts(s) {
			if p.Protocol != protocol {
				continue
			}
			for _, f := range w.wishes(s, p, config) {
				if f.Address != address {
					continue
				}
				rank := 2
				if slices.Contains(s.Spec.ClusterIPs, address.Addr().String()) {
					rank = 0
				} else if balances(s, address.Addr().String(), config) {
					rank = 1
				}
				candidates = append(candidates, candidate{s, rank})
			}
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(a.rank-b.rank, a.service.CreationTimestamp.Compare(b.service.CreationTimestamp.Time),
			strings.Compare(a.service.Namespace, b.service.Namespace), strings.Compare(a.service.Name, b.service.Name))
	})
	return candidates[0].service
}

// backend is an Endpoint of a port, ready or not.
type backend struct {
	address                     netip.AddrPort
	ready, serving, terminating bool
	node                        string
	zones, nodes                []string
	slice                       string
}

func isTrue(p *bool, unset bool) bool {
	if p == nil {
		return unset
	}
	return *p
}

// endpointsOf lists the Endpoints of a port of a Service from all slices of the Service, each address once.
func (w *world) endpointsOf(s *corev1.Service, p corev1.ServicePort, isSix bool, config Config) (all []backend) {
	addressType := discoveryv1.AddressTypeIPv4
	if isSix {
		addressType = discoveryv1.AddressTypeIPv6
	}
	best := map[netip.AddrPort]backend{}
	for _, slice := range w.slices {
		_, headless := slice.Labels["service.kubernetes.io/headless"]
		if slice.Namespace != s.Namespace || slice.Labels["kubernetes.io/service-name"] != s.Name || headless || slice.AddressType != addressType {
			continue
		}
		number := int32(0)
		for _, q := range slice.Ports {
			if number == 0 && q.Port != nil && *q.Port > 0 && *q.Name == p.Name && *q.Protocol == p.Protocol {
				number = *q.Port
			}
		}
		if number == 0 {
			continue
		}
		for _, e := range slice.Endpoints {
			if !valid(e.Addresses[0]) || w.isClusterIP(netip.MustParseAddr(e.Addresses[0]), config) {
				continue
			}
			b := backend{
				address: netip.AddrPortFrom(netip.MustParseAddr(e.Addresses[0]), uint16(number)), slice: slice.Name,
				ready: isTrue(e.Conditions.Ready, true), serving: isTrue(e.Conditions.Serving, true), terminating: isTrue(e.Conditions.Terminating, false),
			}
			if e.NodeName != nil {
				b.node = *e.NodeName
			}
			if e.Hints != nil {
				for _, z := range e.Hints.ForZones {
					b.zones = append(b.zones, z.Name)
				}
				for _, n := range e.Hints.ForNodes {
					b.nodes = append(b.nodes, n.Name)
				}
			}
			if other, ok := best[b.address]; !ok || b.goodness() > other.goodness() || b.goodness() == other.goodness() && b.slice < other.slice {
				best[b.address] = b
			}
		}
	}
	for _, b := range best {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b backend) int { return a.address.Compare(b.address) })
	return all
}

func (b backend) goodness() (points int) {
	if !b.terminating {
		points += 4
	}
	if b.ready {
		points += 2
	}
	if b.serving {
		points++
	}
	return points
}

// isClusterIP: such an address cannot be an Endpoint's, unless it is a Pod's.
func (w *world) isClusterIP(addr netip.Addr, config Config) bool {
	if w.isPod(addr, config) {
		return false
	}
	for _, s := range w.services {
		if w.isHandled(s, config) && slices.Contains(s.Spec.ClusterIPs, addr.String()) {
			return true
		}
	}
	return false
}

func (w *world) isPod(addr netip.Addr, config Config) bool {
	networks := slices.Clone(config.PodNetworks)
	for _, n := range w.nodes {
		for _, cidr := range n.Spec.PodCIDRs {
			networks = append(networks, netip.MustParsePrefix(cidr))
		}
	}
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// clusterPolicy: ready Endpoints, of which the hinted ones if all have hints and some of them are for here; if none is ready, those
// that serve while they terminate.
func (w *world) clusterPolicy(all []backend, config Config) []backend {
	ready := keep(all, func(b backend) bool { return b.ready })
	if len(ready) == 0 {
		return keep(all, func(b backend) bool { return b.serving && b.terminating })
	}
	zone := ""
	if n := w.nodes[config.NodeName]; n != nil {
		zone = n.Labels["topology.kubernetes.io/zone"]
	}
	forNode := keep(ready, func(b backend) bool { return slices.Contains(b.nodes, config.NodeName) })
	withoutNodes := keep(ready, func(b backend) bool { return len(b.nodes) == 0 })
	forZone := keep(ready, func(b backend) bool { return slices.Contains(b.zones, zone) })
	withoutZones := keep(ready, func(b backend) bool { return len(b.zones) == 0 })
	switch {
	case config.NodeHints && len(withoutNodes) == 0 && len(forNode) > 0:
		return forNode
	case len(withoutZones) == 0 && len(forZone) > 0:
		return forZone
	}
	return ready
}

func localPolicy(all []backend, config Config) []backend {
	here := keep(all, func(b backend) bool { return b.node == config.NodeName })
	if ready := keep(here, func(b backend) bool { return b.ready }); len(ready) > 0 {
		return ready
	}
	return keep(here, func(b backend) bool { return b.serving && b.terminating })
}

func keep(all []backend, wanted func(backend) bool) (kept []backend) {
	for _, b := range all {
		if wanted(b) {
			kept = append(kept, b)
		}
	}
	return kept
}

func (w *world) convert(all []backend, config Config) (converted []openflow.Endpoint) {
	for _, b := range all {
		e := openflow.Endpoint{Address: b.address, OnThisNode: b.node == config.NodeName, PodNetwork: w.isPod(b.address.Addr(), config)}
		if e.PodNetwork {
			e.OnThisNode = slices.ContainsFunc(config.PodNetworks, func(p netip.Prefix) bool { return p.Contains(b.address.Addr()) })
		}
		converted = append(converted, e)
	}
	return converted
}
