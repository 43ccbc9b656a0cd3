// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package services makes random worlds of Services and EndpointSlices that change, and says what the documentation promises about
// connections in them. It shares no code with the agent that it judges, and was written without looking at how that decides. The sources
// are Kubernetes' documentation and API reference (Service, EndpointSlice, Virtual IPs and Service Proxies, Topology Aware Routing), and
// docs/use/antrea-proxy.md for what Kubernetes leaves to implementations and for the limits of this one.
//
// world.go defines the objects. oracle.go judges connections, endpoints.go selects their Endpoints, addresses.go finds
// the owners of addresses, existing.go judges connections when the world changes. generate.go makes worlds, service.go
// their Services, slice.go their EndpointSlices, edit.go changes them, probes.go selects the connections to try. The
// program truthtable compares.
package services

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node is a Node of a World.
type Node struct {
	Name string
	// Zone is the label topology.kubernetes.io/zone; empty: the Node has no such label.
	Zone string
	// Addresses are the Node's own, Gateways the sources of its connections to Services, PodNetworks the networks of
	// its Pods, of each IP version.
	Addresses, Gateways []netip.Addr
	PodNetworks         []netip.Prefix
}

// Pod is a Pod with a network of its own.
type Pod struct {
	Name, Node string
	IPv4, IPv6 netip.Addr
}

// Settings are the agents' configuration, see docs/use/antrea-proxy.md.
type Settings struct {
	ProxyAll, LoadBalancerIPs bool
	// NodeHints is the feature gate PreferSameTrafficDistribution.
	NodeHints        bool
	ServiceProxyName string
	SkipServices     []string
}

// World has everything that decides about connections.
type World struct {
	Settings Settings
	Nodes    []*Node
	Pods     []*Pod
	Services []*corev1.Service
	Slices   []*discoveryv1.EndpointSlice
}

// ClientKind says where the client of a connection is.
type ClientKind uint8

// The kinds of clients. FromNode is a process of a Node, or a Pod in its network. FromOutside is a client outside the cluster whose packets
// come to a Node. Without proxyAll, only Pods' connections are the agent's.
const (
	FromPod ClientKind = iota
	FromNode
	FromOutside
)

// Client opens connections. Node is the Node at which its packets meet Services.
type Client struct {
	Kind ClientKind
	Node string
	IP   netip.Addr
}

// Probe is a connection to try.
type Probe struct {
	Client   Client
	To       netip.AddrPort
	Protocol corev1.Protocol
}

func (p *Probe) String() string {
	kind := map[ClientKind]string{FromPod: "Pod", FromNode: "process", FromOutside: "client outside, through"}[p.Client.Kind]
	return fmt.Sprintf("%s %s %s to %s/%s", kind, p.Client.Node, p.Client.IP, p.To, p.Protocol)
}

// Node returns the Node with this name.
func (w *World) Node(name string) *Node {
	for _, n := range w.Nodes {
		if n.Name == name {
			return n
		}
	}
	panic("there is no Node " + name)
}

// Object returns the Node as the Kubernetes API has it.
func (n *Node) Object() *corev1.Node {
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: map[string]string{}}}
	if n.Zone != "" {
		object.Labels[corev1.LabelTopologyZone] = n.Zone
	}
	for _, network := range n.PodNetworks {
		object.Spec.PodCIDRs = append(object.Spec.PodCIDRs, network.String())
	}
	object.Spec.PodCIDR = object.Spec.PodCIDRs[0]
	for _, address := range n.Addresses {
		object.Status.Addresses = append(object.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	return object
}
