// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// uplinkEvents are the kernel's messages about everything that the path to other Nodes depends on.
type uplinkEvents struct {
	links     chan netlink.LinkUpdate
	addresses chan netlink.AddrUpdate
	neighbors chan netlink.NeighUpdate
	routes    chan netlink.RouteUpdate
	// policies reports changed IPsec policies, nexthops changed nexthop objects.
	policies, nexthops <-chan struct{}
	// filters reports changed queueing disciplines and filters that matter.
	filters <-chan struct{}
	// failed carries the error of a subscription that has ended.
	failed chan error
}

// subscribeUplink subscribes until done closes, to filters if there is a function that picks them. It does not report earlier changes.
func subscribeUplink(done <-chan struct{}, filters func(syscall.NetlinkMessage) bool) (*uplinkEvents, error) {
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
	const size, force = rtnl.ReceiveBuffer, true
	err := netlink.LinkSubscribeWithOptions(e.links, done, netlink.LinkSubscribeOptions{
		ErrorCallback: onError, ReceiveBufferSize: size, ReceiveBufferForceSize: force})
	if err != nil {
		return nil, fmt.Errorf("subscribe to links: %w", err)
	}
	err = netlink.AddrSubscribeWithOptions(e.addresses, done, netlink.AddrSubscribeOptions{
		ErrorCallback: onError, ReceiveBufferSize: size, ReceiveBufferForceSize: force})
	if err != nil {
		return nil, fmt.Errorf("subscribe to addresses: %w", err)
	}
	err = netlink.NeighSubscribeWithOptions(e.neighbors, done, netlink.NeighSubscribeOptions{
		ErrorCallback: onError, ReceiveBufferSize: size, ReceiveBufferForceSize: force})
	if err != nil {
		return nil, fmt.Errorf("subscribe to neighbors: %w", err)
	}
	err = netlink.RouteSubscribeWithOptions(e.routes, done, netlink.RouteSubscribeOptions{
		ErrorCallback: onError, ReceiveBufferSize: size, ReceiveBufferForceSize: force})
	if err != nil {
		return nil, fmt.Errorf("subscribe to routes: %w", err)
	}
	if e.policies, err = subscribe(unix.NETLINK_XFRM, nl.XFRMNLGRP_POLICY, anyMessage, done, onError); err != nil {
		return nil, err
	}
	if e.nexthops, err = subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_NEXTHOP, changesNexthop, done, onError); err != nil {
		return nil, err
	}
	if filters == nil {
		return e, nil
	}
	e.filters, err = subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_TC, filters, done, onError)
	return e, err
}
