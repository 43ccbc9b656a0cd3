// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route programs the Node's own network stack (routes, neighbors, ipsets, iptables) for Pod traffic.
package route

import (
	"context"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/upkeep"
)

// Interface is the part of the host network that controllers need.
type Interface interface {
	// Initialize sets up sysctls, ipsets and iptables.
	Initialize() error
	// ForgetFormerPorts removes the rules that Initialize has left in place for ports for rewritten packets of earlier agents. Upkeep tries
	// again if it fails.
	ForgetFormerPorts(ctx context.Context) error
	// Upkeep restores what other programs have removed.
	Upkeep() []upkeep.Part
	// SetNodeAddresses sets the addresses to which other Nodes may send tunnel packets for a Node; no addresses means that
	// the Node is gone. The addresses of a new Node must be set before its flows. Idempotent.
	SetNodeAddresses(nodeName string, addresses []netip.Addr) error
	// Guard replaces the Pod networks of a Node from and to which packets are dropped that are not encrypted, whether there are routes to them or not; none
	// means that the Node is gone. Without encryption it does nothing. Idempotent.
	Guard(nodeName string, podCIDRs []netip.Prefix) error
	// GuardClusters replaces the addresses of gateway Nodes of other clusters, in the device that encrypts and outside: tunnel packets from and to
	// them are dropped unless they are encrypted. A former agent's stay until then. Without encryption between clusters it does nothing. Idempotent.
	GuardClusters(addresses []netip.Addr) error
	// RestoreEncrypted restores the routes to the WireGuard device, once there is one again.
	RestoreEncrypted() error
	// Reconcile deletes routes on the gateway, and the agent's routes to peers, whose destination is neither the local Pod CIDR nor in podCIDRs. It also
	// deletes addresses of Nodes that SetNodeAddresses has not set since the start.
	Reconcile(podCIDRs []netip.Prefix) error
	// AddRoutes makes peerPodCIDR reachable: through the tunnel by the peer's gateway address, directly by the peer's transport address, or, if
	// the network routes to it, by no route. It refuses other kinds of Reach. Idempotent.
	AddRoutes(peerPodCIDR netip.Prefix, nodeName string, by reach.Reach, peerGatewayIP netip.Addr) error
	// DeleteRoutes undoes AddRoutes. Idempotent.
	DeleteRoutes(peerPodCIDR netip.Prefix) error
}

// Services is the part of the host network that leads connections to Services, from the Node and from outside, to the bridge. It needs
// Options.ProxyAll.
type Services interface {
	// SetServicePort replaces what the host does for the port with this name. After an error it can be repeated.
	SetServicePort(name string, port ServicePort) error
	// DeleteServicePort undoes SetServicePort. Idempotent.
	DeleteServicePort(name string) error
	// SetNodePortAddresses replaces the addresses of this Node that serve NodePorts.
	SetNodePortAddresses(addresses []netip.Addr) error
	// ReconcileServices removes what has been made for Services and is not for one that was set since the start.
	ReconcileServices() error
}

// ServicePort describes how the host serves one port of a Service, of one IP version.
type ServicePort struct {
	IPv6 bool
	// ClusterIPs get routes to the bridge, for all protocols and ports.
	ClusterIPs []netip.Addr
	// External are other addresses. Of what is for them, only Port is led to the bridge, and ICMP errors about connections to it.
	External []netip.Addr
	// Protocol is the IP protocol of Port and NodePort. NodePort is 0 for none.
	Protocol uint8
	Port     uint16
	NodePort uint16
}
