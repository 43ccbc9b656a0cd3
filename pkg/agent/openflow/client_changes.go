// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func (c *client) InstallPodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	if err := validatePod(interfaceName, ips, mac, ofPort); err != nil {
		return err
	}
	// The caller may have left when they are read.
	ips, mac = slices.Clone(ips), slices.Clone(mac)
	return c.changeFor(ctx, interfaceName, func() error { return c.installPodFlows(interfaceName, ips, mac, ofPort) })
}

func (c *client) installPodFlows(interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	if c.generator == nil {
		return errNotInitialized
	}
	flows := c.generator.podFlows(ips, mac, ofPort)
	if err := c.checkNotBase(flows); err != nil {
		return fmt.Errorf("interface %s with MAC address %v, OpenFlow port %d: %w", interfaceName, mac, ofPort, err)
	}
	p := c.pods.plan(interfaceName, flows)
	// A flow that belonged to another interface: that one is affected too, in a way that the change cannot express.
	change := coherency.Change{All: p.takesOver}
	if p.replaces {
		change.Interfaces = []string{interfaceName}
	}
	if err := c.commit(change, nil, p); err != nil {
		return fmt.Errorf("install the flows of interface %s: %w", interfaceName, err)
	}
	return nil
}

func (c *client) UninstallPodFlows(ctx context.Context, interfaceName string) error {
	return c.changeFor(ctx, interfaceName, func() error { return c.uninstallPodFlows(interfaceName) })
}

func (c *client) uninstallPodFlows(interfaceName string) error {
	if c.generator == nil {
		return errNotInitialized
	}
	change := coherency.Change{RemovedInterfaces: []string{interfaceName}}
	if err := c.commit(change, nil, c.pods.plan(interfaceName, nil)); err != nil {
		return fmt.Errorf("remove the flows of interface %s: %w", interfaceName, err)
	}
	return nil
}

func (c *client) InstallNodeFlows(nodeName string, peers map[netip.Prefix]Peer) error {
	if err := validateNode(nodeName, peers); err != nil {
		return err
	}
	if err := c.changes.takeSoon(); err != nil {
		return err
	}
	defer c.changes.give()
	if c.generator == nil {
		return errNotInitialized
	}
	for cidr := range peers {
		for _, f := range c.generator.families() {
			if cidr.Overlaps(f.podCIDR) {
				return fmt.Errorf("remote Node %s: the Pod network %v overlaps the local one, %v", nodeName, cidr, f.podCIDR)
			}
		}
		for other, holder := range c.networks.Overlapping(cidr) {
			if holder != nodeName {
				return fmt.Errorf("remote Node %s: the Pod network %v overlaps %v of remote Node %s, whose flows must go first", nodeName, cidr, other, holder)
			}
		}
	}
	flows := c.generator.nodeFlows(peers)
	if err := c.checkNotBase(flows); err != nil {
		return fmt.Errorf("remote Node %s: %w", nodeName, err)
	}
	change := coherency.Change{Nodes: coherencyNodes(nodeName, peers)}
	if err := c.commit(change, nil, c.nodes.plan(nodeName, flows)); err != nil {
		return fmt.Errorf("install the flows of remote Node %s: %w", nodeName, err)
	}
	c.setNetworks(nodeName, sortedPrefixes(peers))
	return nil
}

// setNetworks notes whose flows match which Pod networks. The caller holds changeMu.
func (c *client) setNetworks(nodeName string, cidrs []netip.Prefix) {
	for _, cidr := range c.nodeNetworks[nodeName] {
		c.networks.Delete(cidr)
	}
	for _, cidr := range cidrs {
		c.networks.Set(cidr, nodeName)
	}
	if c.nodeNetworks[nodeName] = cidrs; len(cidrs) == 0 {
		delete(c.nodeNetworks, nodeName)
	}
}

// coherencyNodes groups the Pod networks of a Node by the transport address that leads to them.
func coherencyNodes(name string, peers map[netip.Prefix]Peer) []coherency.Node {
	var nodes []coherency.Node
	for _, cidr := range sortedPrefixes(peers) {
		ip := peers[cidr].TunnelIP
		i := slices.IndexFunc(nodes, func(n coherency.Node) bool { return n.TunnelIP == ip })
		if i < 0 {
			i, nodes = len(nodes), append(nodes, coherency.Node{Name: name, TunnelIP: ip})
		}
		nodes[i].PodCIDRs = append(nodes[i].PodCIDRs, cidr)
	}
	return nodes
}

func (c *client) UninstallNodeFlows(nodeName string) error {
	if err := c.changes.takeSoon(); err != nil {
		return err
	}
	defer c.changes.give()
	if c.generator == nil {
		return errNotInitialized
	}
	change := coherency.Change{RemovedNodes: []string{nodeName}}
	if err := c.commit(change, nil, c.nodes.plan(nodeName, nil)); err != nil {
		return fmt.Errorf("remove the flows of remote Node %s: %w", nodeName, err)
	}
	c.setNetworks(nodeName, nil)
	return nil
}

// checkNotBase refuses flows that would replace base flows, and take them along when they are removed.
func (c *client) checkNotBase(flows []of.Flow) error {
	for _, flow := range flows {
		if key := flow.Key(); c.baseKeys[key] {
			return fmt.Errorf("the flow %q belongs to the gateway or the tunnel: addresses and ports must differ from theirs", key)
		}
	}
	return nil
}

func (c *client) InstallMarkFlows(marks []coherency.Mark) error {
	if err := c.sending.takeSoon(); err != nil {
		return err
	}
	defer c.sending.give()
	if c.generator == nil {
		return errNotInitialized
	}
	plans, err := c.planMarks(marks, nil)
	if err != nil {
		return err
	}
	if err := c.send(nil, plans); err != nil {
		return fmt.Errorf("install %d ONCache marks: %w", len(marks), err)
	}
	return nil
}

func (c *client) UninstallMarkFlows(interfaceNames []string) error {
	if err := c.sending.takeSoon(); err != nil {
		return err
	}
	defer c.sending.give()
	if c.generator == nil {
		return errNotInitialized
	}
	plans, err := c.planMarks(nil, interfaceNames)
	if err != nil {
		return err
	}
	if err := c.send(nil, plans); err != nil {
		return fmt.Errorf("remove the ONCache marks of interfaces %q: %w", interfaceNames, err)
	}
	return nil
}
