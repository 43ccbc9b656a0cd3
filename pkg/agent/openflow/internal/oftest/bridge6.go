// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oftest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// NewBridge6 has two Pods, the remote Node and marks as InstallAll makes them, with IPv6 addresses; the remote Node is reached by
// its IPv6 transport address.
func NewBridge6(t *testing.T, node *config.NodeConfig) *Bridge {
	t.Helper()
	b := newBridgeOf(t, ONCacheFeatures, node)
	ips := func(v4, v6 netip.Addr) []netip.Addr {
		if node.PodIPv4CIDR.IsValid() {
			return []netip.Addr{v4, v6}
		}
		return []netip.Addr{v6}
	}
	require.NoError(t, b.C.InstallPodFlows(context.Background(), "pod-a", ips(PodAIP, PodA6IP), PodAMAC, PodAPort))
	require.NoError(t, b.C.InstallPodFlows(context.Background(), "pod-b", ips(PodBIP, PodB6IP), PodBMAC, PodBPort))
	peers := map[netip.Prefix]openflow.Peer{RemoteCIDR6: PeerAt(RemoteGW6, RemotePeer6)}
	if node.PodIPv4CIDR.IsValid() {
		peers[RemoteCIDR] = PeerAt(RemoteGW, RemotePeer)
	}
	require.NoError(t, b.C.InstallNodeFlows("node-b", peers))
	require.NoError(t, b.C.InstallMarkFlows([]coherency.Mark{MarkOf("pod-a", PodAPort, 7), MarkOf("pod-b", PodBPort, 8)}))
	return b
}

func Packet6(port uint32, dlSrc, dlDst net.HardwareAddr, src, dst netip.Addr, hopLimit int) string {
	return fmt.Sprintf("tcp6,in_port=%d,dl_src=%v,dl_dst=%v,ipv6_src=%v,ipv6_dst=%v,nw_ttl=%d", port, dlSrc, dlDst, src, dst, hopLimit)
}

var (
	RemoteGWMAC   = MustMAC("0a:00:00:00:01:01")
	World6        = netip.MustParseAddr("2001:db8::9")
	PodAToRemote6 = Packet6(PodAPort, PodAMAC, GWMAC, PodA6IP, RemotePod6, 64)
	RemoteToPodA6 = Packet6(TunnelPort, RemoteGWMAC, config.GlobalVirtualMAC, RemotePod6, PodA6IP, 63)
	PodAToPodB6   = Packet6(PodAPort, PodAMAC, PodBMAC, PodA6IP, PodB6IP, 64)
	GWToPodA6     = Packet6(GWPort, GWMAC, PodAMAC, GW6IP, PodA6IP, 64)
	GWToRemote6   = Packet6(GWPort, GWMAC, config.GlobalVirtualMAC, GW6IP, RemotePod6, 64)
)
