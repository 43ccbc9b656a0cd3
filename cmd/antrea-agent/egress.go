// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"slices"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress/assign"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/start"
	"github.com/antrea-oncache/antrea/pkg/config"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// hasEgress reports whether Pods may have Egresses. Answers to them must return through the tunnel, but the host's routes to peers decide.
func (o *options) hasEgress() bool {
	return o.gates.Enabled(features.Egress) && o.config.TrafficEncapMode == agentconfig.EncapModeEncap && !o.encrypts()
}

// encrypts reports whether packets to Pods of other Nodes are encrypted.
func (o *options) encrypts() bool {
	return o.config.TrafficEncryptionMode == agentconfig.EncryptionWireGuard
}

// addEgress makes the controller of Egresses. Without it, addresses of a former agent go.
func (c *controllers) addEgress(o *options, n *node, formerFlowsGone <-chan struct{}) (err error) {
	if !o.hasEgress() {
		if err := assign.RemoveDevices(); err != nil {
			klog.ErrorS(err, "Addresses of a former agent's Egresses stay on the Node")
		}
		return c.addNoEgress(o, n)
	}
	c.egressEvents = assign.NewEvents(n.clients.Kube, n.name)
	config := assign.Config{
		NodeName: n.name, Limit: o.config.Egress.MaxEgressIPsPerNode, Uplink: n.Node.Uplink.Name, Members: c.members, Objects: c.egressObjects,
		Nodes: c.nodes.Core().V1().Nodes(), Events: c.egressEvents, Problems: n.problems, Changed: func() { c.egress.FailuresChanged() },
		Separate: o.gates.Enabled(features.EgressSeparateSubnet), OwnMAC: *o.config.Egress.UniqueMACForSubInterfaces, Occupied: c.occupied, OccupiedSynced: c.accepted.HasSynced,
	}
	if c.assigner, err = assign.New(config); err != nil {
		return err
	}
	c.egress, err = egress.New(egress.Config{
		NodeName: n.name, PodNetworks: podNetworks(n.Node), Flows: n.flows, Host: n.host, Interfaces: n.store, Objects: c.egressObjects,
		Statuses: n.clients.Dynamic, Groups: egress.NewGroups(c.antrea.Client, n.name), FormerFlowsGone: formerFlowsGone, Failures: c.assigner.Failures, Problems: n.problems,
		Except: egressExcept(o), File: o.egressFile,
		Shaping: o.gates.Enabled(features.EgressTrafficShaping), Separate: o.gates.Enabled(features.EgressSeparateSubnet),
	})
	return err
}

// addNoEgress lets the statuses of Egresses say that they have no effect, if the traffic mode is the reason.
func (c *controllers) addNoEgress(o *options, n *node) (err error) {
	if !o.gates.Enabled(features.Egress) {
		return nil
	}
	mode := o.config.TrafficEncapMode
	if o.encrypts() {
		mode += " with " + o.config.TrafficEncryptionMode
	}
	c.noEgress, err = egress.NewOff(n.name, mode, c.egressObjects.Egresses, c.nodes.Core().V1().Nodes(), n.clients.Dynamic)
	return err
}

// egressParts returns what runs for Egress beside its controller, and what addresses of pools need.
func (c *controllers) egressParts() (parts []start.Part) {
	if c.egressObjects != nil {
		parts = append(parts, start.Part{Name: "Egress objects", Run: c.egressObjects.Run})
	}
	if c.noEgress != nil {
		parts = append(parts, start.Part{Name: "statuses of Egresses", Run: c.noEgress.Run})
	}
	if c.members != nil {
		parts = append(parts, start.Part{Name: "members of the cluster", Run: c.members.Run, Saves: true})
	}
	if c.egress != nil {
		parts = append(parts, start.Part{Name: "Egress addresses", Run: c.assigner.Run, Saves: true}, start.Part{Name: "Egress events", Run: c.egressEvents.Run})
	}
	if c.externalIPs != nil {
		parts = append(parts, start.Part{Name: "external addresses of Services", Run: c.externalIPs.Run})
	}
	return parts
}

// arrivals brings into force what a Pod needs before it can send or receive anything: no port of the Node leads to its addresses any more, its Egress
// and its policies.
func (c *controllers) arrivals() cniserver.PodPolicies {
	all := inTurn{c.nodePortLocal}
	if c.egress != nil {
		all = append(all, c.egress)
	}
	return append(all, c.policies)
}

type inTurn []cniserver.PodPolicies

func (p inTurn) PodArrives(i *interfacestore.InterfaceConfig) error {
	for _, part := range p {
		if err := part.PodArrives(i); err != nil {
			return err
		}
	}
	return nil
}

func (p inTurn) PodLeaves(i *interfacestore.InterfaceConfig) {
	for _, part := range slices.Backward(p) {
		part.PodLeaves(i)
	}
}

// egressExcept returns the destinations of Pods outside the Pod networks that Egress leaves alone. Addresses of Services are among them, because
// the host may have to translate them.
func egressExcept(o *options) (networks []netip.Prefix) {
	for _, list := range [][]string{o.config.Egress.ExceptCIDRs, config.SplitList(o.config.ServiceCIDR), config.SplitList(o.config.ServiceCIDRv6)} {
		for _, text := range list {
			if network, err := netip.ParsePrefix(text); err == nil { // the configuration is checked
				networks = append(networks, network)
			}
		}
	}
	return networks
}
