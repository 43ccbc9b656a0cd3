// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/traceflow"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// addTraceflow makes the controller that takes part in traces.
func (c *controllers) addTraceflow(o *options, n *node, cache *onCache) (err error) {
	if !o.gates.Enabled(features.Traceflow) {
		return nil
	}
	gateway := n.Node.Gateway
	config := traceflow.Config{
		Node: n.name, Client: n.clients.Dynamic, Interfaces: n.store, Policies: c.policies, Flows: n.flows, Switch: n.openFlow, GatewayMAC: gateway.MAC,
		Gateway: slices.DeleteFunc([]netip.Addr{gateway.IPv4, gateway.IPv6}, func(a netip.Addr) bool { return !a.IsValid() }),
		IsPeer:  c.isPeer,
		Objects: traceflow.Objects{Pod: func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
			return n.clients.Kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		}},
	}
	if c.egress != nil {
		config.EgressOf = func(pod netip.Addr) (traceflow.Egress, bool) {
			source, ok := c.egress.Sources()[pod]
			return traceflow.Egress{Name: source.Egress, Addr: source.Addr, Node: source.Node}, ok
		}
	}
	if c.services != nil {
		config.Objects.Service = func(namespace, name string) (*corev1.Service, error) {
			return c.services.Core().V1().Services().Lister().Services(namespace).Get(name)
		}
		config.Objects.Endpoints = c.endpointsOf
	}
	if cache.manager != nil {
		config.Hold = cache.manager.Hold
		e := explainer(n, cache, c)
		e.IgnoreTraces = true
		config.Explain = e.Explain
	}
	c.traceflow, err = traceflow.New(config)
	return err
}

// isPeer reports whether an address is in the Pod network of another Node.
func (c *controllers) isPeer(addr netip.Addr) bool {
	return slices.ContainsFunc(c.nodeRoutes.Peers(), func(p noderoute.Peer) bool {
		return slices.ContainsFunc(p.Networks, func(n noderoute.Network) bool { return n.CIDR.Contains(addr) })
	})
}

// endpointsOf returns the addresses of a Service's Endpoints.
func (c *controllers) endpointsOf(namespace, name string) (addrs []netip.Addr, err error) {
	found, err := c.services.Discovery().V1().EndpointSlices().Lister().EndpointSlices(namespace).
		List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: name}))
	for _, slice := range found {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses {
				if addr, err := netip.ParseAddr(text); err == nil {
					addrs = append(addrs, addr)
				}
			}
		}
	}
	return addrs, err
}
