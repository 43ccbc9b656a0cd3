// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// routes is the host network of a Node: routes to Pod networks, and addresses from which tunnel packets are admitted. It
// outlives agents.
type routes struct {
	mu        sync.Mutex
	byCIDR    map[netip.Prefix]string
	addresses map[string][]netip.Addr
	// fresh are the Nodes whose addresses were set since the agent's start.
	fresh map[string]bool
}

func newRoutes() *routes {
	return &routes{byCIDR: map[netip.Prefix]string{}, addresses: map[string][]netip.Addr{}, fresh: map[string]bool{}}
}

// SetNodeAddresses implements noderoute.RouteClient.
func (r *routes) SetNodeAddresses(nodeName string, addresses []netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(addresses) == 0 {
		delete(r.addresses, nodeName)
		return nil
	}
	r.addresses[nodeName], r.fresh[nodeName] = slices.Clone(addresses), true
	return nil
}

// Guard implements noderoute.RouteClient. Nothing is encrypted.
func (r *routes) Guard(string, []netip.Prefix) error { return nil }

// Reconcile implements noderoute.RouteClient.
func (r *routes) Reconcile(podCIDRs []netip.Prefix) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.byCIDR, func(cidr netip.Prefix, _ string) bool { return !slices.Contains(podCIDRs, cidr) })
	maps.DeleteFunc(r.addresses, func(name string, _ []netip.Addr) bool { return !r.fresh[name] })
	return nil
}

// AddRoutes implements noderoute.RouteClient.
func (r *routes) AddRoutes(peerPodCIDR netip.Prefix, nodeName string, by reach.Reach, peerGatewayIP netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byCIDR[peerPodCIDR] = fmt.Sprintf("via %s to %s at %s", peerGatewayIP, nodeName, by.Address)
	return nil
}

// DeleteRoutes implements noderoute.RouteClient.
func (r *routes) DeleteRoutes(peerPodCIDR netip.Prefix) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byCIDR, peerPodCIDR)
	return nil
}

// forget simulates the start of another agent.
func (r *routes) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.fresh)
}

func (r *routes) snapshot() (byCIDR map[netip.Prefix]string, addresses map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	addresses = map[string]string{}
	for name, list := range r.addresses {
		addresses[name] = fmt.Sprint(list)
	}
	return maps.Clone(r.byCIDR), addresses
}
