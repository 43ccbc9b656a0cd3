// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// addressKind is a kind of address that a Service has. If several Services want the same address, the lower kind wins.
type addressKind uint8

const (
	clusterIP addressKind = iota
	loadBalancerIP
	externalIP
	nodePort
)

// frontend is one address of a port of a Service.
type frontend struct {
	kind     addressKind
	address  netip.AddrPort
	protocol corev1.Protocol
	service  *corev1.Service
	port     *corev1.ServicePort
}

// frontend returns the owner of an address on a Node; nil without one.
func (w *World) frontend(node string, to netip.AddrPort, protocol corev1.Protocol) *frontend {
	var owner *frontend
	for _, f := range w.frontends(node) {
		if f.address == to && f.protocol == protocol && (owner == nil || f.precedes(owner)) {
			owner = f
		}
	}
	return owner
}

// precedes follows docs/use/antrea-proxy.md: "cluster IPs before addresses of load balancers before external IPs; among equals the oldest
// Service".
func (f *frontend) precedes(other *frontend) bool {
	if f.kind != other.kind {
		return f.kind < other.kind
	}
	a, b := f.service, other.service
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// isRouted reports whether packets to all ports of the address, from the Node itself and from outside, are led to the
// bridge.
func (w *World) isRouted(node string, address netip.Addr) bool {
	return w.Settings.ProxyAll && slices.ContainsFunc(w.frontends(node), func(f *frontend) bool { return f.kind == clusterIP && f.address.Addr() == address })
}

// frontends returns all addresses of Services that the agent of the Node handles.
func (w *World) frontends(node string) (all []*frontend) {
	for _, s := range w.Services {
		if w.isLeftAlone(s) {
			continue
		}
		add := func(kind addressKind, address netip.Addr) {
			if !hasVersion(s, address) {
				return
			}
			for i := range s.Spec.Ports {
				port := &s.Spec.Ports[i]
				number := port.Port
				if kind == nodePort {
					number = port.NodePort
				}
				if number > 0 {
					all = append(all, &frontend{kind, netip.AddrPortFrom(address, uint16(number)), port.Protocol, s, port})
				}
			}
		}
		for _, text := range s.Spec.ClusterIPs {
			add(clusterIP, netip.MustParseAddr(text))
		}
		for _, text := range s.Spec.ExternalIPs {
			add(externalIP, netip.MustParseAddr(text))
		}
		for _, address := range w.loadBalancerIPs(node, s) {
			add(loadBalancerIP, address)
		}
		if w.Settings.ProxyAll && s.Spec.Type != corev1.ServiceTypeClusterIP {
			for _, address := range w.Node(node).Addresses {
				add(nodePort, address)
			}
		}
	}
	return all
}

// hasVersion reports whether the Service is of the address's IP version.
func hasVersion(s *corev1.Service, address netip.Addr) bool {
	version := corev1.IPv6Protocol
	if address.Is4() {
		version = corev1.IPv4Protocol
	}
	return slices.Contains(s.Spec.IPFamilies, version)
}

// loadBalancerIPs returns those that the agent of the Node handles.
func (w *World) loadBalancerIPs(node string, s *corev1.Service) (all []netip.Addr) {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || !w.Settings.LoadBalancerIPs {
		return nil
	}
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		if ingress.IP == "" || ingress.IPMode != nil && *ingress.IPMode == corev1.LoadBalancerIPModeProxy {
			continue
		}
		address := netip.MustParseAddr(ingress.IP)
		if w.Settings.ProxyAll || w.admitsPods(node, s, address) {
			all = append(all, address)
		}
	}
	return all
}

// admitsPods reports whether one of loadBalancerSourceRanges has all Pods of the Node, of the address's IP version.
// Without proxyAll, the addresses of other Services are left to kube-proxy.
func (w *World) admitsPods(node string, s *corev1.Service, address netip.Addr) bool {
	ranges := s.Spec.LoadBalancerSourceRanges
	return len(ranges) == 0 || slices.ContainsFunc(ranges, func(text string) bool {
		network := netip.MustParsePrefix(text)
		return slices.ContainsFunc(w.Node(node).PodNetworks, func(pods netip.Prefix) bool {
			return pods.Addr().Is4() == address.Is4() && network.Bits() <= pods.Bits() && network.Contains(pods.Addr())
		})
	})
}

const labelServiceProxyName = "service.kubernetes.io/service-proxy-name"

// isLeftAlone reports whether the Service is not the agent's: it is headless, an external name, for another proxy, or skipped.
func (w *World) isLeftAlone(s *corev1.Service) bool {
	if s.Spec.Type == corev1.ServiceTypeExternalName || s.Spec.ClusterIP == corev1.ClusterIPNone || s.Spec.ClusterIP == "" {
		return true
	}
	proxy, labeled := s.Labels[labelServiceProxyName]
	if w.Settings.ServiceProxyName == "" && labeled || w.Settings.ServiceProxyName != "" && proxy != w.Settings.ServiceProxyName {
		return true
	}
	return slices.ContainsFunc(w.Settings.SkipServices, func(skip string) bool {
		return skip == s.Namespace+"/"+s.Name || slices.Contains(s.Spec.ClusterIPs, skip)
	})
}
