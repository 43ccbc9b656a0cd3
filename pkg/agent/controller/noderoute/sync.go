// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// syncNode brings one Node from the installed state to the content of its object. For this Node that means its addresses.
func (c *Controller) syncNode(name string) error {
	node, err := c.lister.Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get Node %s: %w", name, err)
	}
	var o *object
	if err == nil {
		o = readNode(node)
	}
	changed, affected := c.claims.set(name, o)
	for _, other := range affected {
		c.queue.Add(other)
	}
	if name == c.local.name {
		return c.syncOwn(o)
	}
	if changed {
		c.queue.Add(c.local.name)
	}
	return c.syncPeer(name, o)
}

func (c *Controller) syncOwn(o *object) error {
	c.report(c.local.name, o, c.local.own(o, c.claims))
	if o == nil {
		return nil
	}
	return c.routes.SetNodeAddresses(c.local.name, o.allAddresses())
}

// syncPeer connects another Node, or disconnects it when its object is gone. The addresses that its flows lead to are known
// before the flows exist and as long as they do: Pods could send packets there that look like tunnel packets.
func (c *Controller) syncPeer(name string, o *object) error {
	before := c.state.transport(name, false)
	var want *Peer
	var findings []finding
	var addresses []netip.Addr
	if o != nil {
		want, findings = c.local.peer(o, c.claims, c.state.transport(name, true))
		addresses = o.allAddresses()
	}
	c.report(name, o, findings)
	if err := c.guard(name, o); err != nil {
		return err
	}
	if o != nil {
		// Even for a Node that cannot be connected: other Nodes may find it usable.
		if err := c.routes.SetNodeAddresses(name, union(addresses, before)); err != nil {
			return err
		}
	}
	conflict, err := c.connect(name, want)
	if err != nil {
		return err
	}
	if o == nil || len(union(addresses, before)) > len(addresses) {
		if err := c.routes.SetNodeAddresses(name, union(addresses, c.state.transport(name, false))); err != nil {
			return err
		}
	}
	return conflict
}

// guard makes sure that, with encryption, nothing leaves for the Node's Pods in clear: not before there are flows to them, nor if it cannot be connected.
func (c *Controller) guard(name string, o *object) error {
	var cidrs []netip.Prefix
	if o != nil {
		cidrs, _ = c.local.podNetworks(o, c.claims)
	}
	return c.routes.Guard(name, cidrs)
}

// union returns addresses and those that flows lead to, in order.
func union(addresses []netip.Addr, flows map[netip.Prefix]netip.Addr) []netip.Addr {
	all := slices.AppendSeq(slices.Clone(addresses), maps.Values(flows))
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// connect makes flows and routes lead to the peer, nil for nowhere. It returns a conflict separately from failures.
func (c *Controller) connect(name string, want *Peer) (conflict, err error) {
	possible, ops, conflict := c.state.plan(name, want)
	defer func() {
		for _, waiter := range c.state.settle(name, possible) {
			c.queue.Add(waiter)
		}
	}()
	for _, op := range ops {
		c.state.begin(op)
		if err := c.execute(op); err != nil {
			return nil, err
		}
		c.state.succeed(op)
	}
	if len(ops) > 0 {
		klog.InfoS("Updated flows and routes of Node", "node", name, "peer", possible)
	}
	return conflict, nil
}

func (c *Controller) execute(op operation) error {
	switch op.kind {
	case installFlows:
		peers := make(map[netip.Prefix]openflow.Peer, len(op.peer.Networks))
		for _, n := range op.peer.Networks {
			peers[n.CIDR] = openflow.Peer{Gateway: gatewayOf(n.CIDR), Reach: n.Reach}
		}
		if err := c.flows.InstallNodeFlows(op.peer.Name, peers); err != nil {
			return fmt.Errorf("install flows to Node %s, networks %v: %w", op.peer.Name, op.peer.Networks, err)
		}
	case uninstallFlows:
		if err := c.flows.UninstallNodeFlows(op.peer.Name); err != nil {
			return fmt.Errorf("uninstall flows to Node %s: %w", op.peer.Name, err)
		}
	case addRoute:
		if err := c.routes.AddRoutes(op.network.CIDR, op.peer.Name, op.network.Reach, gatewayOf(op.network.CIDR)); err != nil {
			return fmt.Errorf("add route to Pod CIDR %s of Node %s: %w", op.network.CIDR, op.peer.Name, err)
		}
	case deleteRoute:
		if err := c.routes.DeleteRoutes(op.network.CIDR); err != nil {
			return fmt.Errorf("delete route to Pod CIDR %s of Node %s: %w", op.network.CIDR, op.peer.Name, err)
		}
	}
	return nil
}
