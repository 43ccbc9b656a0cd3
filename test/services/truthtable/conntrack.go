// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
)

// connections is the conntrack table of Open vSwitch in user space, for the part of the agent that ends UDP connections and expects the
// kernel's.
type connections struct {
	node *switchpair.Node

	mu sync.Mutex
	// fence is a connection in the list that was never opened, to an address that it must not have. It is behind all
	// others, so these have been ended when it is.
	fence *conntrack.Connection
	ended chan struct{}
}

// setFence makes a fence of a UDP connection to this destination. ended is closed when the agent has ended it.
func (c *connections) setFence(destination netip.AddrPort) (ended <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	client, nowhere := netip.MustParseAddrPort("192.0.2.250:1"), netip.MustParseAddrPort("192.0.2.251:1")
	tuple := func(from, to netip.AddrPort) conntrack.Tuple {
		return conntrack.Tuple{Source: from.Addr(), Destination: to.Addr(), Protocol: unix.IPPROTO_UDP, SourcePort: from.Port(), DestinationPort: to.Port()}
	}
	c.fence, c.ended = &conntrack.Connection{
		Zone: openflow.ConntrackZoneIPv4, Original: tuple(client, destination), Reply: tuple(nowhere, client),
	}, make(chan struct{})
	return c.ended
}

// WaitRevalidation implements proxy.Datapath. switchpair.Node.ForgetMegaflows says why megaflows have to be removed.
func (c *connections) WaitRevalidation(ctx context.Context) error {
	_, err := c.node.Call(ctx, "revalidator/purge")
	return err
}

// List implements proxy.Connections.
func (c *connections) List(zones []uint16, yield func(*conntrack.Connection) bool) error {
	c.mu.Lock()
	fence := c.fence
	c.mu.Unlock()
	all, err := c.node.Connections(context.Background())
	if err != nil {
		return err
	}
	for _, conn := range all {
		if slices.Contains(zones, conn.Zone) && !yield(conn) {
			return nil
		}
	}
	if fence != nil {
		yield(fence)
	}
	return nil
}

// Delete implements proxy.Connections.
func (c *connections) Delete(conn *conntrack.Connection) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn == c.fence {
		c.fence = nil
		close(c.ended)
		return nil
	}
	o, family := conn.Original, "ct"
	if o.Source.Is6() {
		family = "ct_ipv6"
	}
	addresses := fmt.Sprintf("ct_nw_src=%s,ct_nw_dst=%s", o.Source, o.Destination)
	if family == "ct_ipv6" {
		addresses = fmt.Sprintf("ct_ipv6_src=%s,ct_ipv6_dst=%s", o.Source, o.Destination)
	}
	_, err := c.node.Call(context.Background(), "dpctl/flush-conntrack", fmt.Sprint("zone=", conn.Zone),
		fmt.Sprintf("%s,ct_nw_proto=%d,ct_tp_src=%d,ct_tp_dst=%d", addresses, o.Protocol, o.SourcePort, o.DestinationPort))
	return err
}
