// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// uplinkEvents are the kernel's messages about everything that the path to other Nodes depends on.
type uplinkEvents struct {
	links     chan netlink.LinkUpdate
	addresses chan netlink.AddrUpdate
	neighbors chan netlink.NeighUpdate
	routes    chan netlink.RouteUpdate
	// policies reports changed IPsec policies, nexthops changed nexthop objects.
	policies, nexthops <-chan struct{}
	// failed carries the error of a subscription that has ended.
	failed chan error
}

// subscribeUplink subscribes until done closes. It does not report earlier changes, except the present neighbors.
func subscribeUplink(done <-chan struct{}) (*uplinkEvents, error) {
	e := &uplinkEvents{
		links: make(chan netlink.LinkUpdate, 64), addresses: make(chan netlink.AddrUpdate, 64),
		neighbors: make(chan netlink.NeighUpdate, 64), routes: make(chan netlink.RouteUpdate, 64), failed: make(chan error, 4),
	}
	onError := func(err error) {
		select {
		case e.failed <- err:
		default:
		}
	}
	if err := netlink.LinkSubscribeWithOptions(e.links, done, netlink.LinkSubscribeOptions{ErrorCallback: onError}); err != nil {
		return nil, fmt.Errorf("subscribe to links: %w", err)
	}
	if err := netlink.AddrSubscribeWithOptions(e.addresses, done, netlink.AddrSubscribeOptions{ErrorCallback: onError}); err != nil {
		return nil, fmt.Errorf("subscribe to addresses: %w", err)
	}
	if err := netlink.NeighSubscribeWithOptions(e.neighbors, done, netlink.NeighSubscribeOptions{ErrorCallback: onError, ListExisting: true}); err != nil {
		return nil, fmt.Errorf("subscribe to neighbors: %w", err)
	}
	if err := netlink.RouteSubscribeWithOptions(e.routes, done, netlink.RouteSubscribeOptions{ErrorCallback: onError}); err != nil {
		return nil, fmt.Errorf("subscribe to routes: %w", err)
	}
	var err error
	if e.policies, err = subscribe(unix.NETLINK_XFRM, nl.XFRMNLGRP_POLICY, anyMessage, done, onError); err != nil {
		return nil, err
	}
	e.nexthops, err = subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_NEXTHOP, changesNexthop, done, onError)
	return e, err
}

// neighbors remembers the MAC of every neighbor on the uplink, to tell a changed next hop from the kernel's routine reachability
// updates.
type neighbors map[netip.Addr]string

// changed takes one update and reports whether the MAC of a known neighbor has changed.
func (n neighbors) changed(ip net.IP, mac net.HardwareAddr) bool {
	addr, ok := netip.AddrFromSlice(ip)
	if !ok || len(mac) == 0 {
		return false
	}
	addr = addr.Unmap()
	old, known := n[addr]
	n[addr] = mac.String()
	return known && old != mac.String()
}
