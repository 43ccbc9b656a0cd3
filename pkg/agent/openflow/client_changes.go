// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func (c *client) InstallPodFlows(interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	if err := validatePod(interfaceName, ips, mac, ofPort); err != nil {
		return err
	}
	c.changeMu.Lock()
	defer c.changeMu.Unlock()
	if c.generator == nil {
		return errNotInitialized
	}
	flows := c.generator.podFlows(ips, slices.Clone(mac), ofPort)
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

func (c *client) UninstallPodFlows(interfaceName string) error {
	c.changeMu.Lock()
	defer c.changeMu.Unlock()
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
	c.changeMu.Lock()
	defer c.changeMu.Unlock()
	if c.generator == nil {
		return errNotInitialized
	}
	for cidr := range peers {
		for _, f := range c.generator.families() {
			if cidr.Overlaps(f.podCIDR) {
				return fmt.Errorf("remote Node %s: the Pod network %v overlaps the local one, %v", nodeName, cidr, f.podCIDR)
			}
		}
	}
	flows := c.generator.nodeFlows(peers)
	if err := c.checkNotBase(flows); err != nil {
		return fmt.Errorf("remote Node %s: %w", nodeName, err)
	}
	p := c.nodes.plan(nodeName, flows)
	change := coherency.Change{
		Nodes: coherencyNodes(nodeName, peers),
		// A network that another Node had: flows to it are affected, which the change cannot express.
		All: p.takesOver,
	}
	if err := c.commit(change, nil, p); err != nil {
		return fmt.Errorf("install the flows of remote Node %s: %w", nodeName, err)
	}
	return nil
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
	c.changeMu.Lock()
	defer c.changeMu.Unlock()
	if c.generator == nil {
		return errNotInitialized
	}
	change := coherency.Change{RemovedNodes: []string{nodeName}}
	if err := c.commit(change, nil, c.nodes.plan(nodeName, nil)); err != nil {
		return fmt.Errorf("remove the flows of remote Node %s: %w", nodeName, err)
	}
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
	c.mu.Lock()
	defer c.mu.Unlock()
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
	c.mu.Lock()
	defer c.mu.Unlock()
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
