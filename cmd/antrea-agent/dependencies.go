// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/netip"
	"net/url"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/start"
	"github.com/antrea-oncache/antrea/pkg/apis"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

const (
	apiService  = "default/kubernetes"
	kubeletPort = 10250
	// sourceName is the name of dependency.Sources in the list.
	sourceName = "the Node"
)

// dependOn completes the sources of what this Node depends on, and reads them for the first time.
func (n *node) dependOn(ctx context.Context, o *options, network *config.NetworkConfig, node *config.NodeConfig) {
	s := o.sources
	s.Gateway, s.OwnAddresses = node.Gateway.Name, node.Addresses
	s.OwnPorts = ownPorts(o.config, network)
	s.Servers = []dependency.Endpoint{apiEndpoint(n.clients.Config.Host)}
	s.Read(ctx)
	// Nothing that the agent does at its start depends on this address, so no start waits until it is resolved.
	if o.config.ExportsFlows(o.gates) {
		if settings, err := o.config.FlowExporter.Exporter(); err == nil && settings.Collector.Service == "" {
			s.Servers = append(s.Servers, dependency.Endpoint{Host: settings.Collector.Host, Port: settings.Collector.Port, What: "the flow collector"})
		}
	}
}

// ownPorts are the ports of the Node that the agent and what it needs have, with their use.
func ownPorts(c *agentconfig.AgentConfig, network *config.NetworkConfig) map[uint16]string {
	own := map[uint16]string{kubeletPort: "the kubelet", uint16(c.APIPort): "this agent", apis.ControllerPort: "antrea-controller"}
	for port, what := range map[uint16]string{
		network.TunnelPort: "the tunnel between Nodes", network.WireGuardPort: "WireGuard between Nodes", network.ClusterWireGuardPort: "WireGuard between clusters", c.ServiceHealthPort(): "the health check of the Service proxy",
	} {
		if port != 0 {
			own[port] = what
		}
	}
	return own
}

// apiEndpoint reads a URL, or a host with or without port. Of another text, only connections tell the address.
func apiEndpoint(address string) dependency.Endpoint {
	e := dependency.Endpoint{What: dependency.API, Service: apiService, Port: 443}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		if u, err = url.Parse("https://" + address); err != nil {
			return e
		}
	}
	e.Host = u.Hostname()
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		e.Port = uint16(port)
	} else if u.Scheme == "http" {
		e.Port = 80
	}
	return e
}

// neededAtStart returns route.Options.Needed. It leaves out addresses that may be a Service's own, such as the address of the Kubernetes API in the
// cluster.
func neededAtStart(s *dependency.Sources) func(netip.Addr, uint16) bool {
	list := dependency.NewList()
	list.Set(sourceName, s.Addresses())
	api, _ := netip.ParseAddr(os.Getenv("KUBERNETES_SERVICE_HOST"))
	return func(addr netip.Addr, port uint16) bool {
		needed := list.Needs(addr, port)
		return needed.Kind != dependency.None && addr != api && (needed.Kind != dependency.Server || needed.Service != "")
	}
}

// neededServices returns the Services whose Endpoints this Node depends on.
func neededServices() map[types.NamespacedName]string {
	needed := map[types.NamespacedName]string{{Namespace: "default", Name: "kubernetes"}: dependency.API}
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		needed[types.NamespacedName{Namespace: namespace, Name: apis.ControllerService}] = "antrea-controller"
	}
	return needed
}

// followDependencies tells the controllers, which do not run yet, what this Node depends on, and returns the part that continues to do so.
func (c *controllers) followDependencies(s *dependency.Sources) start.Part {
	set := func(now []dependency.Address) {
		c.nodeRoutes.SetNeeded(now)
		if c.proxy != nil {
			c.proxy.SetNeeded(sourceName, now)
		}
		if c.clusters != nil {
			c.clusters.SetNeeded(now)
		}
		if c.occupied != nil {
			c.occupied.SetNeeded(now)
		}
	}
	set(s.Addresses())
	return start.Part{Name: "dependencies", Run: func(ctx context.Context) { s.Run(ctx, set) }}
}
