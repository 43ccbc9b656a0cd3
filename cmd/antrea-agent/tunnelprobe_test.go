// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/tunnelprobe"
)

// Only a Node that is ready is expected to answer, at the first address of a family that this Node has.
func TestReadyPeers(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for name, ready := range map[string]corev1.ConditionStatus{"ready": corev1.ConditionTrue, "dual": corev1.ConditionTrue, "away": corev1.ConditionUnknown, "v6": corev1.ConditionTrue, "encrypted": corev1.ConditionTrue} {
		n := nodeObject(name, "192.168.0.9", "10.10.9.0/24")
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		require.NoError(t, indexer.Add(n))
	}
	require.NoError(t, indexer.Add(nodeObject("new", "192.168.0.9", "10.10.9.0/24")))
	kind := reach.Tunnel
	peer := func(name string, cidrs ...string) noderoute.Peer {
		p := noderoute.Peer{Name: name}
		for _, c := range cidrs {
			p.Networks = append(p.Networks, noderoute.Network{CIDR: netip.MustParsePrefix(c), Reach: reach.Reach{Kind: kind}})
		}
		return p
	}
	connected := []noderoute.Peer{
		peer("away", "10.10.1.0/24"), peer("dual", "fd00:10::/64", "10.10.2.0/24"), peer("gone", "10.10.3.0/24"), peer("new", "10.10.4.0/24"),
		peer("ready", "10.10.5.0/24"), peer("v6", "fd00:11::/64"),
	}
	kind = reach.Direct // such a peer has no tunnel to be silent behind
	connected = append(connected, peer("ready", "10.10.6.0/24"))
	kind = reach.WireGuard
	connected = append(connected, peer("encrypted", "10.10.7.0/24"))
	got := readyPeers(connected, corelisters.NewNodeLister(indexer), []netip.Addr{netip.MustParseAddr("10.10.0.1")})
	require.Equal(t, []tunnelprobe.Peer{{Name: "dual", Gateway: netip.MustParseAddr("10.10.2.1")}, {Name: "ready", Gateway: netip.MustParseAddr("10.10.5.1")},
		{Name: "encrypted", Gateway: netip.MustParseAddr("10.10.7.1")}}, got)
}
