// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/test/services"
)

// hostNetwork stands in for the routes and rules of a Node by which proxyAll leads connections from the Node and from
// outside to the bridge. docs/use/antrea-proxy.md describes them; the end-to-end tests have the real ones.
type hostNetwork struct {
	mu sync.Mutex
	// ports are set by agents, fresh by the agent that runs.
	ports     map[string]route.ServicePort
	fresh     map[string]bool
	addresses []netip.Addr
}

func newHostNetwork() *hostNetwork {
	return &hostNetwork{ports: map[string]route.ServicePort{}, fresh: map[string]bool{}}
}

// restart notes that another agent starts. Without proxyAll it removes what its predecessor has made.
func (h *hostNetwork) restart(proxyAll bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fresh = map[string]bool{}
	if !proxyAll {
		clear(h.ports)
	}
}

// forAgent returns the host for an agent of proxyAll.
func (h *hostNetwork) forAgent(n *services.Node, flows proxy.NodePortFlows) proxy.Host {
	return proxy.Host{
		Network: h, NodePorts: flows,
		Addresses: func() ([]netip.Addr, error) { return n.Addresses, nil },
		Watch:     func(ctx context.Context, _ func()) { <-ctx.Done() },
	}
}

// SetServicePort implements route.Services.
func (h *hostNetwork) SetServicePort(name string, port route.ServicePort) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ports[name], h.fresh[name] = port, true
	return nil
}

// DeleteServicePort implements route.Services.
func (h *hostNetwork) DeleteServicePort(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ports, name)
	return nil
}

// SetNodePortAddresses implements route.Services.
func (h *hostNetwork) SetNodePortAddresses(addresses []netip.Addr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addresses = addresses
	return nil
}

// ReconcileServices implements route.Services.
func (h *hostNetwork) ReconcileServices() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.ports {
		if !h.fresh[name] {
			delete(h.ports, name)
		}
	}
	return nil
}

var protocolNumbers = map[corev1.Protocol]uint8{
	corev1.ProtocolTCP: unix.IPPROTO_TCP, corev1.ProtocolUDP: unix.IPPROTO_UDP, corev1.ProtocolSCTP: unix.IPPROTO_SCTP,
}

// lead returns the destination that a packet has when it comes to the bridge through the gateway; ok is false if it does not.
func (h *hostNetwork) lead(p *services.Probe) (to netip.AddrPort, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, port := range h.ports {
		external := slices.Contains(port.External, p.To.Addr()) && port.Port == p.To.Port() && port.Protocol == protocolNumbers[p.Protocol]
		if external || slices.Contains(port.ClusterIPs, p.To.Addr()) {
			return p.To, true
		}
		nodePort := slices.Contains(h.addresses, p.To.Addr()) && port.NodePort == p.To.Port() && port.Protocol == protocolNumbers[p.Protocol]
		if nodePort && port.IPv6 == p.To.Addr().Is6() {
			virtual := config.VirtualNodePortIPv4
			if port.IPv6 {
				virtual = config.VirtualNodePortIPv6
			}
			return netip.AddrPortFrom(virtual, p.To.Port()), true
		}
	}
	return p.To, false
}
