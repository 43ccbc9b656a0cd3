// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// RouteClient makes the host's routes to peers, as route.Interface describes it.
type RouteClient interface {
	SetNodeAddresses(nodeName string, addresses []netip.Addr) error
	Guard(nodeName string, podCIDRs []netip.Prefix) error
	Reconcile(podCIDRs []netip.Prefix) error
	AddRoutes(peerPodCIDR netip.Prefix, nodeName string, by reach.Reach, peerGatewayIP netip.Addr) error
	DeleteRoutes(peerPodCIDR netip.Prefix) error
}

// Routes are the host's routes to peers, with which the controller follows the networks that are reached by WireGuard. It knows a network
// as long as there is a route: packets never meet a device that has not been told of them.
type Routes struct {
	RouteClient
	Controller *Controller
}

// AddRoutes implements RouteClient.
func (r Routes) AddRoutes(cidr netip.Prefix, node string, by reach.Reach, gateway netip.Addr) error {
	if by.Kind == reach.WireGuard {
		r.Controller.setNetwork(cidr, location{node, by.Address})
	}
	return r.RouteClient.AddRoutes(cidr, node, by, gateway)
}

// DeleteRoutes implements RouteClient.
func (r Routes) DeleteRoutes(cidr netip.Prefix) error {
	err := r.RouteClient.DeleteRoutes(cidr)
	if err == nil {
		r.Controller.deleteNetwork(cidr)
	}
	return err
}
