// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestARPResponder: a neighbour learns the MAC address of what the responder has, also after the device was made again, and of nothing else.
func TestARPResponder(t *testing.T) {
	n := newNetwork(t)
	in(t, n.neighbor, func() {
		out, err := command("ip", "addr", "add", "192.0.2.2/24", "dev", "peer")
		require.NoError(t, err, out)
	})
	first, second := netip.MustParseAddr("192.0.2.99"), netip.MustParseAddr("192.0.2.98")
	r := NewARPResponder("eth0")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { in(t, n.node, func() { r.Run(ctx) }) })
	defer running.Wait()
	defer cancel()
	// The ping is not answered, because no device has the address.
	learns := func(addr netip.Addr) bool {
		var entry string
		in(t, n.neighbor, func() {
			_, _ = command("ip", "neigh", "flush", "dev", "peer")
			_, _ = command("ping", "-c", "1", "-W", "0.2", addr.String())
			entry, _ = command("ip", "neigh", "show", addr.String(), "dev", "peer")
		})
		return strings.Contains(entry, "lladdr")
	}
	eventually := func(addr netip.Addr) {
		t.Helper()
		require.Eventually(t, func() bool { return learns(addr) }, 30*time.Second, 10*time.Millisecond)
	}
	require.False(t, learns(first), "the kernel does not answer")
	r.Set(sets.New(first, netip.MustParseAddr("fd00:1::99")))
	eventually(first)
	require.False(t, learns(second))
	r.Set(sets.New(second))
	eventually(second)
	require.False(t, learns(first), "it is not answered any more")
	r.Set(sets.New[netip.Addr]())
	r.Set(sets.New(first))
	eventually(first)
	in(t, n.node, func() {
		out, err := command("ip", "link", "set", "eth0", "down")
		require.NoError(t, err, out)
		out, err = command("ip", "link", "set", "eth0", "up")
		require.NoError(t, err, out)
	})
	eventually(first)
}

// TestARPReply: only requests for others are answered, to who asks, also if that has no address yet.
func TestARPReply(t *testing.T) {
	mac, asker := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 9}
	target := netip.MustParseAddr("192.0.2.99")
	announcement := Frame(target, asker)
	_, asked := requested(announcement)
	require.False(t, asked, "no machine is asked")
	for _, sender := range [][]byte{{192, 0, 2, 2}, {0, 0, 0, 0}} {
		request := append([]byte(nil), announcement...)
		copy(request[28:], sender)
		got, asked := requested(append(request, make([]byte, 18)...)) // padding
		require.True(t, asked)
		require.Equal(t, target, got)
		want := append(append(append([]byte{}, asker...), mac...), 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 2)
		want = append(append(append(append(want, mac...), 192, 0, 2, 99), asker...), sender...)
		require.Equal(t, want, arpReply(request, mac))
		for length := range request {
			_, asked := requested(request[:length])
			require.False(t, asked)
		}
		for i := 12; i < 22; i++ {
			other := append([]byte(nil), request...)
			other[i] ^= 2
			_, asked := requested(other)
			require.False(t, asked, "byte %d", i)
		}
	}
}
