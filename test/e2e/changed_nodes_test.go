// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// createNode makes a Node that consists of its object only. remove, which may be called again, deletes it; at the latest the end of the test does.
func (s *suite) createNode(t *testing.T, name string, address netip.Addr, cidrs ...string) (remove func()) {
	t.Helper()
	nodes, ctx := s.Client.CoreV1().Nodes(), context.WithoutCancel(t.Context())
	node, err := nodes.Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: cidrs[0], PodCIDRs: cidrs},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	remove = once(func() { require.NoError(t, nodes.Delete(ctx, name, metav1.DeleteOptions{})) })
	t.Cleanup(remove)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.String()}}
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	require.NoError(t, err)
	return remove
}

// testVanishedNode: the routes to a Node whose object goes while an agent is down go as soon as the agent is there again. With hybrid, one such Node is
// in the subnet, and another one is reached through the tunnel at the same time.
func testVanishedNode(t *testing.T, s *suite) {
	near := netip.MustParseAddr("192.168.77.13")
	vanishing := map[netip.Prefix]string{netip.MustParsePrefix("10.10.3.0/24"): "via " + near.String()}
	removals := []func(){s.createNode(t, "e2e-near", near, "10.10.3.0/24")}
	switch s.mode {
	case "hybrid":
		vanishing[netip.MustParsePrefix("10.10.4.0/24")] = "dev " + hostGateway
		removals = append(removals, s.createNode(t, "e2e-far", netip.MustParseAddr("192.168.78.13"), "10.10.4.0/24"))
	case wireGuardMode:
		vanishing[netip.MustParsePrefix("10.10.3.0/24")] = "dev antrea-wg0"
	}
	stays := succeeds(t, s.node1.Space, "ip", "route", "show", "exact", s.node2.PodCIDR.String())
	requireRoutes := func(route func(netip.Prefix) string) {
		t.Helper()
		for to := range vanishing {
			for _, n := range s.Nodes[:2] {
				requireOwnRoutes(t, n, to, route(to))
			}
		}
	}
	requireRoutes(func(to netip.Prefix) string { return vanishing[to] })
	require.NoError(t, s.node1.StopAgent())
	for _, remove := range removals {
		remove()
	}
	s.startAgent(t, s.node1)
	s.waitRoundsComplete(t)
	requireRoutes(func(netip.Prefix) string { return noRoute })
	require.Equal(t, stays, succeeds(t, s.node1.Space, "ip", "route", "show", "exact", s.node2.PodCIDR.String()))
	s.requireConnectivity(t, s.client.Space, s.far.Space, s.far.IP)
}

// testDeletedNode: connections of Pods outlive the object of the Node at their other end, as when an operator deletes it to repair it. While there is no
// route, nothing of them leaves in clear; they continue when the object is back.
func testDeletedNode(t *testing.T, s *suite) {
	r := s.startStream(t)
	nodes, ctx := s.Client.CoreV1().Nodes(), context.WithoutCancel(t.Context())
	object, err := nodes.Get(ctx, s.node2.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, s.node2.StopAgent())
	restore := once(func() {
		object.ResourceVersion, object.UID = "", ""
		created, err := nodes.Create(ctx, object, metav1.CreateOptions{})
		require.NoError(t, err)
		created.Status = object.Status
		_, err = nodes.UpdateStatus(ctx, created, metav1.UpdateOptions{})
		require.NoError(t, err)
		s.startAgent(t, s.node2)
	})
	t.Cleanup(restore)
	s.requireNothingInClear(t, func() {
		require.NoError(t, nodes.Delete(ctx, s.node2.Name, metav1.DeleteOptions{}))
		requireOwnRoutes(t, s.node1, s.node2.PodCIDR, noRoute)
		before := notEncrypted(t, s.node1)
		eventuallyWithin(t, 2*patience, "a connection to send something", func() error {
			if notEncrypted(t, s.node1) == before {
				return notYet("nothing was dropped")
			}
			return nil
		})
		fails(t, s.client.Space, "ping", "-c3", "-i0.2", "-W1", s.far.IP.String())
	})
	restore()
	s.waitPing(t)
	r.requireFlowing(t)
	r.end(t, 1<<30)
}

// notEncrypted is the number of packets that a Node has dropped because they would have left in clear.
func notEncrypted(t *testing.T, n *cluster.Node) string {
	t.Helper()
	for line := range strings.Lines(succeeds(t, n.Space, "iptables", "-w", "-t", "mangle", "-nvxL", "ANTREA-POSTROUTING")) {
		if strings.Contains(line, "that are not encrypted") {
			return strings.Fields(line)[0]
		}
	}
	require.Fail(t, "the Node has no rule that drops them")
	return ""
}

// Prefix lengths of the Nodes' addresses: all in one subnet, and each in one without the others.
const together, apart = 24, 31

// testSubnetChanges changes the prefixes of the Nodes' addresses under traffic, while agents run, so that a router is between the Nodes, and back.
// Then packets are in the tunnel with hybrid. With noEncap the agents have no routes, and the router forwards packets of Pods.
func testSubnetChanges(t *testing.T, s *suite) {
	r := s.startStream(t)
	pings := func() {
		pingICMP(t, s.client.Space, s.far.IP)
		pingICMP(t, s.far.Space, s.client.IP, "-s2000")
	}
	lengths := map[*cluster.Node]int{s.node1: together, s.node2: together}
	set := func(n *cluster.Node, length int) {
		t.Helper()
		if lengths[n] != length {
			setPrefixLength(t, n, lengths[n], length)
			lengths[n] = length
		}
	}
	defer func() {
		for n := range lengths { // a failure must not separate them for the areas that follow
			set(n, together)
		}
	}()
	byRouter := s.mode == "noEncap"
	if byRouter {
		for _, n := range s.Nodes[:2] {
			route := []string{n.PodCIDR.String(), "via", n.IPv4.String()}
			succeeds(t, s.Fabric, append([]string{"ip", "route", "add"}, route...)...)
			defer succeeds(t, s.Fabric, append([]string{"ip", "route", "del"}, route...)...)
		}
	}
	requireRoutes := func(toNode2, toNode1 string) {
		t.Helper()
		requireOwnRoutes(t, s.node1, s.node2.PodCIDR, toNode2)
		requireOwnRoutes(t, s.node2, s.node1.PodCIDR, toNode1)
	}
	for range 2 {
		for _, n := range s.Nodes[:2] {
			set(n, apart)
			r.requireFlowing(t) // also while only one of them is separated
		}
		if byRouter {
			requireRoutes(noRoute, noRoute)
			r.requireFlowing(t)
			s.requireWayOver(t, true, 1, pings)
		} else {
			requireRoutes("dev "+hostGateway, "dev "+hostGateway)
			r.requireFlowing(t)
			r.waitFastIfGate(t)
			s.requireWay(t, false, pings)
		}
		for _, n := range s.Nodes[:2] {
			set(n, together)
			r.requireFlowing(t)
		}
		requireRoutes("via "+s.node2.IPv4.String(), "via "+s.node1.IPv4.String())
		r.waitFastIfGate(t)
		s.requireWay(t, true, pings)
	}
	r.end(t, 1<<30) // packets of changed ways may be lost; TCP has lost nothing
}

// setPrefixLength gives a Node's IPv4 address another prefix. The router stays its next hop.
func setPrefixLength(t *testing.T, n *cluster.Node, from, to int) {
	t.Helper()
	address := func(verb string, length int) {
		succeeds(t, n.Space, "ip", "address", verb, netip.PrefixFrom(n.IPv4, length).String(), "dev", cluster.Uplink)
	}
	address("add", to)
	succeeds(t, n.Space, "ip", "route", "replace", "default", "via", cluster.FabricGateway.String(), "dev", cluster.Uplink, "onlink")
	address("del", from)
}
