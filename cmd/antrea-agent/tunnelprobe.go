// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/tunnelprobe"
)

// provedKey is the key of the bridge's external_ids with the gateway of a Node that has answered through the tunnel.
const provedKey = "antrea-peer-answered"

func newTunnelProbe(n *node, c *controllers) *tunnelprobe.Probe {
	gateways := slices.DeleteFunc([]netip.Addr{n.Node.Gateway.IPv4, n.Node.Gateway.IPv6}, func(a netip.Addr) bool { return !a.IsValid() })
	nodes := c.nodes.Core().V1().Nodes().Lister()
	return tunnelprobe.New(tunnelprobe.Config{
		NodeName: n.name, Gateways: gateways, Problems: n.problems,
		Peers: func() []tunnelprobe.Peer { return readyPeers(c.nodeRoutes.Peers(), nodes, gateways) },
		Proof: func() netip.Addr {
			// A value that cannot be read or parsed proves nothing.
			ids, _ := n.bridge.GetExternalIDs()
			gateway, _ := netip.ParseAddr(ids[provedKey])
			return gateway
		},
		SetProof: func(gateway netip.Addr) {
			if err := n.bridge.SetExternalID(provedKey, gateway.String()); err != nil {
				klog.ErrorS(err, "The next agent will not know that another Node has answered")
			}
		},
	})
}

// isSilent reports whether the Node, or every other Node, does not answer through the tunnel.
func (n *node) isSilent(name string) bool {
	all, _ := n.problems.List()
	return slices.ContainsFunc(all, func(p problem.Problem) bool {
		return p.Reason == tunnelprobe.ReasonUnreachable && (p.Subject.Name == name || p.Subject.Name == n.name)
	})
}

// readyPeers returns the Nodes behind the tunnel, or WireGuard in its place, that are ready; the others are expected to be silent.
func readyPeers(connected []noderoute.Peer, nodes corelisters.NodeLister, gateways []netip.Addr) []tunnelprobe.Peer {
	var peers []tunnelprobe.Peer
	for _, p := range connected {
		object, err := nodes.Get(p.Name)
		if err != nil || !isReady(object) {
			continue
		}
		for _, network := range p.Networks {
			gateway := network.CIDR.Masked().Addr().Next()
			tunneled := network.Reach.Kind == reach.Tunnel || network.Reach.Kind == reach.WireGuard
			if tunneled && slices.ContainsFunc(gateways, func(own netip.Addr) bool { return own.Is6() == gateway.Is6() }) {
				peers = append(peers, tunnelprobe.Peer{Name: p.Name, Gateway: gateway})
				break
			}
		}
	}
	return peers
}

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
