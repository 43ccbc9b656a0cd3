// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestOthers: a neighbour that has an address of this Node is found, in both IP versions, and neither a neighbour that asks for addresses nor the Node's own
// answers count.
func TestOthers(t *testing.T) {
	const taken4, own4, taken6, own6 = "192.0.2.9", "192.0.2.10", "fd00:1::9", "fd00:1::10"
	n := newNetwork(t, taken6, own6)
	var mac net.HardwareAddr
	in(t, n.neighbor, func() {
		for _, addr := range []string{taken4 + "/24", taken6 + "/64"} {
			out, err := command("ip", "address", "add", addr, "dev", "peer", "nodad")
			require.NoError(t, err, out)
		}
		link, err := netlink.LinkByName("peer")
		require.NoError(t, err)
		mac = link.Attrs().HardwareAddr
	})
	responder := NewResponder("eth0")
	var addrs []netip.Addr
	for _, addr := range []string{taken4, own4, taken6, own6} {
		addrs = append(addrs, netip.MustParseAddr(addr))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	responder.Set(sets.New(addrs[3]))
	running.Go(func() { in(t, n.node, func() { responder.Run(ctx) }) })
	found, err := Others(t.Context(), "eth0", addrs)
	require.NoError(t, err)
	require.Equal(t, map[netip.Addr]net.HardwareAddr{addrs[0]: mac, addrs[2]: mac}, found)
	in(t, n.neighbor, func() {
		_, err := command("ip", "address", "del", taken4+"/24", "dev", "peer")
		require.NoError(t, err)
	})
	found, err = Others(t.Context(), "eth0", addrs)
	require.NoError(t, err)
	require.Equal(t, map[netip.Addr]net.HardwareAddr{addrs[2]: mac}, found)
	_, err = Others(t.Context(), "gone0", addrs)
	require.ErrorContains(t, err, "find device gone0")
}

// TestARPSender: probes of other machines claim no address, announcements and answers do.
func TestARPSender(t *testing.T) {
	addr, mac := netip.MustParseAddr("192.0.2.9"), net.HardwareAddr{2, 0, 0, 0, 0, 9}
	sender, by, ok := arpSender(gratuitousARPFrame(addr, mac))
	require.True(t, ok)
	require.Equal(t, addr, sender)
	require.Equal(t, mac, by)
	sender, _, ok = arpSender(arpProbe(addr, mac))
	require.True(t, ok)
	require.True(t, sender.IsUnspecified())
	_, asked := requested(arpProbe(addr, mac))
	require.True(t, asked, "who has the address answers")
	_, _, ok = arpSender(gratuitousARPFrame(addr, mac)[:41])
	require.False(t, ok)
}

// TestAdvertised: an advertisement names an address and its MAC address; what is cut short, or is another message, names none.
func TestAdvertised(t *testing.T) {
	addr, mac := netip.MustParseAddr("fd00:1::9"), net.HardwareAddr{2, 0, 0, 0, 0, 9}
	message := advertisement(addr, mac, flagSolicited)
	target, by, ok := advertised(message)
	require.True(t, ok)
	require.Equal(t, addr, target)
	require.Equal(t, mac, by)
	for _, wrong := range [][]byte{message[:len(message)-1], nil, solicitation(addr, mac)} {
		_, _, ok = advertised(wrong)
		require.False(t, ok)
	}
	asked, ok := solicited(solicitation(addr, mac))
	require.True(t, ok)
	require.Equal(t, addr, asked)
}

// TestClaims: answers of this Node's own devices, and answers for addresses that were not asked for, do not count.
func TestClaims(t *testing.T) {
	addr, own, other := netip.MustParseAddr("192.0.2.9"), net.HardwareAddr{2, 0, 0, 0, 0, 9}, net.HardwareAddr{2, 0, 0, 0, 0, 10}
	c := &claims{own: []string{own.String()}, wanted: []netip.Addr{addr}, by: map[netip.Addr]net.HardwareAddr{}}
	c.add(addr, own)
	c.add(addr.Next(), other)
	require.Empty(t, c.by)
	c.add(addr, other)
	require.Equal(t, map[netip.Addr]net.HardwareAddr{addr: other}, c.by)
}
