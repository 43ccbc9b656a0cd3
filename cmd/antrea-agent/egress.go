// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/config"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// hasEgress reports whether Pods may have Egresses. As in Antrea up to 2.7, they need the tunnel.
func (o *options) hasEgress() bool {
	return o.gates.Enabled(features.Egress) && o.config.TrafficEncapMode != agentconfig.EncapModeNoEncap
}

// addEgress makes the controller of Egresses, and the informers for it.
func (c *controllers) addEgress(o *options, n *node) (err error) {
	if !o.hasEgress() {
		return nil
	}
	if c.egressObjects, err = crd.NewEgressObjects(n.clients.Dynamic); err != nil {
		return err
	}
	c.egress, err = egress.New(egress.Config{
		NodeName: n.name, PodNetworks: podNetworks(n.Node), Flows: n.flows, Host: n.host, Interfaces: n.store, Objects: c.egressObjects,
		Statuses: n.clients.Dynamic, Groups: egress.NewGroups(c.antrea.Client, n.name), Problems: n.problems,
	})
	return err
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
