// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOutward(t *testing.T) {
	cut := event{kind: &kind{name: "gossip-cut", concerns: none}, length: 5 * time.Second}
	l := newLedger()
	require.Empty(t, l.addOutward(cut, "faults/client-1", cut.length+outwardBound, ""))
	require.Empty(t, l.addSources(cut, nil))
	require.Empty(t, l.complaints)

	complaints := l.addOutward(cut, "faults/client-2", cut.length+outwardBound+time.Millisecond, "")
	require.Len(t, complaints, 1)
	require.Contains(t, complaints[0], "no connection to outside from faults/client-2 has succeeded for 1m5.001s during gossip-cut on node-1")
	complaints = l.addOutward(cut, "faults/client-2", 0, "exit code 2: no such option")
	require.Len(t, complaints, 1)
	require.Contains(t, complaints[0], "have ended during gossip-cut on node-1 after 0s for 5s: exit code 2: no such option")
	complaints = l.addSources(cut, map[netip.Addr]uint64{netip.MustParseAddr("192.168.77.101"): 3})
	require.Len(t, complaints, 1)
	require.Contains(t, complaints[0], "3 packets of Egress outward had the source 192.168.77.101 instead of 192.168.77.210 during gossip-cut")
	require.Len(t, l.complaints, 3)
	require.Equal(t, "faults: events=0 packets=0 lost_established=0 forbidden_delivered=0 wrong_source=3 seed=5", l.summary(5))
	l.of(cut).events = 1
	var table strings.Builder
	l.print(&table)
	require.Regexp(t, `gossip-cut +1 +0 +0 +0 +0 +0.0 s +65.0 s +100 %`, table.String())
}

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
