// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// frame returns a frame of IPv4 with this many bytes of options.
func frame(protocol byte, source, destination netip.AddrPort, options int) []byte {
	f := make([]byte, ethernetLength, 64)
	f[12] = 8
	from, to := source.Addr().As4(), destination.Addr().As4()
	f = append(f, 0x45+byte(options/4), 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0)
	f = append(append(append(f, from[:]...), to[:]...), make([]byte, options)...)
	return append(f, byte(source.Port()>>8), byte(source.Port()), byte(destination.Port()>>8), byte(destination.Port()))
}

func TestSourceOf(t *testing.T) {
	client, other := netip.MustParseAddrPort("10.10.0.2:40000"), netip.MustParseAddrPort("203.0.113.11:5030")
	for _, options := range []int{0, 40} {
		source, ok := sourceOf(frame(6, client, outside, options), outside)
		require.True(t, ok)
		require.Equal(t, client.Addr(), source)
	}
	for name, f := range map[string][]byte{
		"UDP":           frame(17, client, outside, 0),
		"an answer":     frame(6, outside, client, 0),
		"other address": frame(6, client, other, 0),
		"other port":    frame(6, client, netip.AddrPortFrom(outside.Addr(), 80), 0),
		"ARP":           append(append(make([]byte, 12), 8, 6), frame(6, client, outside, 0)[ethernetLength:]...),
	} {
		_, ok := sourceOf(f, outside)
		require.False(t, ok, name)
	}
	whole := frame(6, client, outside, 40)
	for length := range whole {
		_, ok := sourceOf(whole[:length], outside)
		require.False(t, ok, length)
	}
}

func TestPacketOf(t *testing.T) {
	from, to := netip.MustParseAddrPort("10.10.1.2:40000"), netip.MustParseAddrPort("10.10.2.3:53")
	f := frame(17, from, to, 8)
	p, ok := packetOf(f)
	require.True(t, ok)
	require.Equal(t, packet{from.Addr(), to.Addr(), 17, 53}, p)
	f[ethernetLength+7] = 1 // the second part of a datagram has no ports
	p, ok = packetOf(f)
	require.True(t, ok)
	require.Equal(t, packet{from.Addr(), to.Addr(), 17, 0}, p)
	p, ok = packetOf(frame(1, from, to, 0))
	require.True(t, ok)
	require.Equal(t, packet{from.Addr(), to.Addr(), 1, 0}, p)
}

func TestTakeOther(t *testing.T) {
	right, wrong := netip.MustParseAddr("192.168.77.11"), netip.MustParseAddr("10.10.1.2")
	s := &sources{packets: map[netip.Addr]uint64{right: 7, egressAddress: 2, wrong: 1}}
	require.Equal(t, map[netip.Addr]uint64{wrong: 1}, s.takeOther([]netip.Addr{right, egressAddress}))
	require.Empty(t, s.takeOther(nil))
}
