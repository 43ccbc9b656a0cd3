// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"

	egresshandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/egress"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/memberlist"
	externaliphandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/serviceexternalip"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/serviceexternalip"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency/occupied"
	members "github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// hasExternalIPs reports whether Nodes answer for addresses of Services.
func (o *options) hasExternalIPs() bool { return o.gates.Enabled(features.ServiceExternalIP) }

// hasMembers reports whether this Node may have addresses of pools.
func (o *options) hasMembers() bool { return o.hasEgress() || o.hasExternalIPs() }

// addMembers makes what those who use addresses of pools have in common: the informers of Egresses and pools, the addresses that no Node may
// take, and the membership of this Node among those that may have addresses.
func (c *controllers) addMembers(o *options, n *node) (err error) {
	if !o.gates.Enabled(features.Egress) && !o.hasExternalIPs() {
		return nil
	}
	if c.egressObjects, err = crd.NewEgressObjects(n.clients.Dynamic); err != nil || !o.hasMembers() {
		return err
	}
	addr := n.Node.Uplink.IPv4.Addr()
	if !addr.IsValid() {
		addr = n.Node.Uplink.IPv6.Addr()
	}
	c.members, err = members.New(members.Config{
		NodeName: n.name, Addr: addr, Port: o.config.ClusterPort,
		VerifyIncoming: *o.config.Memberlist.GossipVerifyIncoming, VerifyOutgoing: *o.config.Memberlist.GossipVerifyOutgoing,
		Kube: n.clients.Kube, Nodes: c.nodes.Core().V1().Nodes(), Pools: c.egressObjects.ExternalIPPools, Problems: n.problems,
	})
	c.occupied = occupied.New()
	c.accepted.Watch(func(node string, now noderoute.Accepted) { c.occupied.SetNode(node, now.Addresses, now.Networks) })
	return err
}

// addExternalIPs makes the controller that answers for addresses of Services.
func (c *controllers) addExternalIPs(o *options, n *node) (err error) {
	if !o.hasExternalIPs() {
		return nil
	}
	if c.services == nil {
		c.services = proxy.NewFactory(n.clients.Kube)
	}
	c.externalIPs, err = serviceexternalip.New(serviceexternalip.Config{
		NodeName: n.name, Uplink: n.Node.Uplink.Name, Members: c.members, Services: c.services.Core().V1().Services(),
		Endpoints: c.services.Discovery().V1().EndpointSlices(), Pools: c.egressObjects.ExternalIPPools,
		Occupied: c.occupied, OccupiedSynced: c.accepted.HasSynced,
	})
	return err
}

// poolRoutes are the endpoints about addresses of pools.
func (c *controllers) poolRoutes() map[string]http.HandlerFunc {
	routes := map[string]http.HandlerFunc{
		"/memberlist": handlers.NotEnabled("memberlist"), "/serviceexternalip": handlers.NotEnabled("serviceexternalip"), "/egresses": handlers.NotEnabled("egress"),
	}
	switch {
	case c.egress != nil:
		routes["/egresses"] = egresshandler.HandleFunc(c.egress)
	case c.noEgress != nil:
		routes["/egresses"] = egresshandler.HandleFunc(c.noEgress)
	}
	if c.members != nil {
		routes["/memberlist"] = memberlist.HandleFunc(c.members, c.nodes.Core().V1().Nodes().Lister())
	}
	if c.externalIPs != nil {
		routes["/serviceexternalip"] = externaliphandler.HandleFunc(c.externalIPs)
	}
	return routes
}
