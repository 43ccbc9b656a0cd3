// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

func TestClearText(t *testing.T) {
	node1, node2 := netip.MustParseAddrPort("192.168.77.11:40000"), netip.MustParseAddrPort("192.168.77.12:51820")
	pod1, pod2 := netip.MustParseAddrPort("10.10.1.2:40000"), netip.MustParseAddrPort("10.10.2.3:5002")
	tunnel := netip.AddrPortFrom(node2.Addr(), genevePort)
	seen := &clearText{packets: map[ends]uint64{}}
	see := func(kind afpacket.PacketType, protocol byte, from, to netip.AddrPort) {
		seen.see(afpacket.Frame{Type: kind, Data: frame(protocol, from, to, 0)})
	}
	for range 3 {
		see(afpacket.OtherHost, 17, node1, node2)
	}
	see(afpacket.Outgoing, 17, node1, node2)                                  // was counted where it came from
	see(afpacket.OtherHost, 6, node1, netip.AddrPortFrom(node2.Addr(), 6081)) // TCP
	see(afpacket.OtherHost, 6, node1, outside)
	see(afpacket.Outgoing, 6, pod1, pod2)
	seen.see(afpacket.Frame{Type: afpacket.OtherHost, Data: make([]byte, ethernetLength+ipv4Length)})
	require.Empty(t, seen.take())
	require.EqualValues(t, 3, seen.encrypted)

	third := netip.MustParseAddrPort("10.10.201.7:80")
	for _, in := range []struct {
		protocol byte
		from, to netip.AddrPort
	}{{6, pod1, pod2}, {1, pod1, pod2}, {17, pod1, outside}, {17, node1, pod2}, {17, node1, third}, {17, node1, tunnel}, {17, pod1, node2}} {
		see(afpacket.OtherHost, in.protocol, in.from, in.to)
		taken := seen.take()
		require.Len(t, taken, 1, in)
		require.Contains(t, taken, ends{in.from.Addr(), in.to.Addr()})
	}
	require.Empty(t, seen.take())
	require.EqualValues(t, 3, seen.encrypted)
	require.Empty(t, (*clearText)(nil).take())
}

func TestClearTextIsAllowedNever(t *testing.T) {
	l, e := newLedger(), event{kind: &kind{name: "wireguard-deleted", concerns: between}}
	require.Empty(t, l.addClearText(e, nil))
	pod, node := netip.MustParseAddr("10.10.2.3"), netip.MustParseAddr("192.168.77.11")
	require.Equal(t, []string{
		"2 packets from 10.10.2.3 to 192.168.77.11 were not encrypted during wireguard-deleted on node-1 after 0s",
		"5 packets from 192.168.77.11 to 10.10.2.3 were not encrypted during wireguard-deleted on node-1 after 0s",
	}, l.addClearText(e, map[ends]uint64{{node, pod}: 5, {pod, node}: 2}))
	require.Len(t, l.complaints, 2)
	require.Equal(t, "faults: events=0 packets=0 lost_established=0 forbidden_delivered=0 wrong_source=0 clear_text=7 seed=5", l.summary(5))
}

// TestNothingEncrypted: a run that has watched the wrong device fails.
func TestNothingEncrypted(t *testing.T) {
	require.ErrorContains(t, (&clearText{}).end(), "no Node has sent a packet to UDP port 51820")
	require.NoError(t, (&clearText{encrypted: 1}).end())
}

// TestPodNetworks: the oracle knows all networks that Pods may have.
func TestPodNetworks(t *testing.T) {
	for _, network := range thirdPodNetworks {
		require.True(t, podNetworks.Contains(netip.MustParsePrefix(network).Addr()))
	}
	require.False(t, podNetworks.Contains(cluster.FabricGateway))
}
