// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// newBridge6 has two Pods, the remote Node and marks as installAll makes them, with IPv6 addresses; the remote Node is reached by
// its IPv6 transport address.
func newBridge6(t *testing.T, node *config.NodeConfig) *bridge {
	t.Helper()
	b := newBridgeOf(t, oncacheFeatures, node)
	ips := func(v4, v6 netip.Addr) []netip.Addr {
		if node.PodIPv4CIDR.IsValid() {
			return []netip.Addr{v4, v6}
		}
		return []netip.Addr{v6}
	}
	require.NoError(t, b.c.InstallPodFlows(context.Background(), "pod-a", ips(podAIP, podA6IP), podAMAC, podAPort))
	require.NoError(t, b.c.InstallPodFlows(context.Background(), "pod-b", ips(podBIP, podB6IP), podBMAC, podBPort))
	peers := map[netip.Prefix]Peer{remoteCIDR6: peerAt(remoteGW6, remotePeer6)}
	if node.PodIPv4CIDR.IsValid() {
		peers[remoteCIDR] = peerAt(remoteGW, remotePeer)
	}
	require.NoError(t, b.c.InstallNodeFlows("node-b", peers))
	require.NoError(t, b.c.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 7), markOf("pod-b", podBPort, 8)}))
	return b
}

func packet6(port uint32, dlSrc, dlDst net.HardwareAddr, src, dst netip.Addr, hopLimit int) string {
	return fmt.Sprintf("tcp6,in_port=%d,dl_src=%v,dl_dst=%v,ipv6_src=%v,ipv6_dst=%v,nw_ttl=%d", port, dlSrc, dlDst, src, dst, hopLimit)
}

var (
	remoteGWMAC   = mustMAC("0a:00:00:00:01:01")
	world6        = netip.MustParseAddr("2001:db8::9")
	podAToRemote6 = packet6(podAPort, podAMAC, gwMAC, podA6IP, remotePod6, 64)
	remoteToPodA6 = packet6(tunnelPort, remoteGWMAC, config.GlobalVirtualMAC, remotePod6, podA6IP, 63)
	podAToPodB6   = packet6(podAPort, podAMAC, podBMAC, podA6IP, podB6IP, 64)
	gwToPodA6     = packet6(gwPort, gwMAC, podAMAC, gw6IP, podA6IP, 64)
	gwToRemote6   = packet6(gwPort, gwMAC, config.GlobalVirtualMAC, gw6IP, remotePod6, 64)
)
