// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route programs the Node's own network stack (routes, neighbors, ipsets, iptables) for Pod traffic.
package route

import (
	"net/netip"
)

// Interface is the part of the host network that controllers need.
type Interface interface {
	// Initialize sets up sysctls, ipsets, iptables and then starts the 60 s re-sync in Run.
	Initialize() error
	// Run restores anything that somebody removed, every 60 s, until stopCh closes.
	Run(stopCh <-chan struct{})
	// SetNodeAddresses sets the addresses to which other Nodes may send tunnel packets for a Node; no addresses means that
	// the Node is gone. The addresses of a new Node must be set before its flows. Idempotent.
	SetNodeAddresses(nodeName string, addresses []netip.Addr) error
	// Reconcile deletes routes on the gateway whose destination is neither the local Pod CIDR nor in podCIDRs. It also
	// deletes addresses of Nodes that SetNodeAddresses has not set since the start.
	Reconcile(podCIDRs []netip.Prefix) error
	// AddRoutes makes peerPodCIDR reachable through the peer's gateway address. Idempotent.
	AddRoutes(peerPodCIDR netip.Prefix, nodeName string, peerNodeIP, peerGatewayIP netip.Addr) error
	// DeleteRoutes undoes AddRoutes. Idempotent.
	DeleteRoutes(peerPodCIDR netip.Prefix) error
}
