// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// flapUplink takes the carrier from a Node's uplink, as when a cable is pulled.
func flapUplink(ctx context.Context, w *world, e event) error {
	port := w.Nodes[e.node].Name // on the switch
	down := onLink(w.Fabric, port, netlink.LinkSetDown)
	if down == nil {
		down = last(ctx, e.length)
	}
	return errors.Join(down, onLink(w.Fabric, port, netlink.LinkSetUp))
}

func changeMTU(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node].Space
	set := func(mtu int) error {
		return onLink(n, cluster.Uplink, func(l netlink.Link) error { return netlink.LinkSetMTU(l, mtu) })
	}
	err := set(1400)
	if err == nil {
		err = last(ctx, e.length)
	}
	return errors.Join(err, set(1500))
}

// changeMAC gives a Node's uplink another MAC address: to the other Node, and to everything else on the link, it is the next hop. The Node
// announces it as routers do (arp_notify).
func changeMAC(_ context.Context, w *world, e event) error {
	w.made++
	mac := net.HardwareAddr{2, 0x77, 0, byte(e.node), byte(w.made >> 8), byte(w.made)}
	return onLink(w.Nodes[e.node].Space, cluster.Uplink, func(l netlink.Link) error { return netlink.LinkSetHardwareAddr(l, mac) })
}

// addDefaultRoute adds a default route that is worse than the one that is there.
func addDefaultRoute(ctx context.Context, w *world, e event) error {
	route := []string{"default", "via", w.routerOf(e.node).String(), "metric", "500"}
	return w.withRoute(ctx, e, append([]string{"route"}, route...))
}

// addPolicyRoute adds a rule for packets that no Pod sends.
func addPolicyRoute(ctx context.Context, w *world, e event) error {
	return w.withRoute(ctx, e, []string{"rule", "from", "198.51.100.0/24", "lookup", "100", "priority", "100"})
}

// withRoute adds a route or rule for the length of the event.
func (w *world) withRoute(ctx context.Context, e event, what []string) error {
	change := func(command string) error {
		args := append([]string{"ip", what[0], command}, what[1:]...)
		_, err := w.Nodes[e.node].Exec(ctx, args...)
		return err
	}
	if err := change("add"); err != nil {
		return err
	}
	return errors.Join(last(ctx, e.length), change("del"))
}

func onLink(s *cluster.Space, name string, do func(netlink.Link) error) error {
	return s.Do(func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		return do(link)
	})
}
