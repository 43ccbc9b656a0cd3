// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"k8s.io/apimachinery/pkg/util/sets"
)

// sent counts announcements.
type sent struct {
	mu    sync.Mutex
	count map[netip.Addr]int
}

func (s *sent) send(_ string, addr netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[addr]++
	return nil
}

func (s *sent) of(addr netip.Addr) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[addr]
}

// TestTurns: each address is announced three times, and again when all are.
func TestTurns(t *testing.T) {
	first, second := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	s := &sent{count: map[netip.Addr]int{}}
	a := New("none")
	a.send = s.send
	turns := func() (n int) {
		for n = 1; a.turn(); n++ {
		}
		return n
	}
	a.Announce(first)
	require.True(t, a.turn())
	a.Announce(second)
	require.Equal(t, count, turns())
	require.Equal(t, map[netip.Addr]int{first: count, second: count}, s.count)
	require.Equal(t, 1, turns(), "nothing is left")
	a.Forget(second)
	a.renew()
	require.Equal(t, count, turns())
	require.Equal(t, map[netip.Addr]int{first: 2 * count, second: count}, s.count)
	a.Announce(second)
	a.Retain(sets.New(second))
	a.renew()
	require.Equal(t, count, turns())
	require.Equal(t, map[netip.Addr]int{first: 2 * count, second: 2 * count}, s.count)
}

// TestWatch: when the device comes up again, or has another MAC address, its addresses are announced again.
func TestWatch(t *testing.T) {
	n := newNetwork(t)
	addr := netip.MustParseAddr("192.0.2.1")
	s := &sent{count: map[netip.Addr]int{}}
	a := New("eth0")
	a.send = s.send
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { a.Run(ctx) })
	running.Go(func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		if netns.Set(n.node) == nil {
			a.Watch(ctx)
		}
	})
	reaches := func(least int) {
		t.Helper()
		require.Eventually(t, func() bool { return s.of(addr) >= least }, 30*time.Second, time.Millisecond)
	}
	// The condition of Eventually runs on another thread, which is not in the namespace.
	node, err := netlink.NewHandleAt(n.node)
	require.NoError(t, err)
	defer node.Close()
	link, err := node.LinkByName("eth0")
	require.NoError(t, err)
	mac := link.Attrs().HardwareAddr
	a.Announce(addr)
	reaches(count)
	// The subscription may come later than a change: until it is there, the device is changed again.
	for why, change := range map[string]func() error{
		"up":          func() error { return errors.Join(node.LinkSetDown(link), node.LinkSetUp(link)) },
		"MAC address": func() error { mac[5]++; return node.LinkSetHardwareAddr(link, mac) },
	} {
		before := s.of(addr)
		require.Eventually(t, func() bool { return change() == nil && s.of(addr) > before }, 30*time.Second, 50*time.Millisecond, why)
		reaches(before + count)
	}
}
