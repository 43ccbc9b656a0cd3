// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// newNetNS moves the calling test into a new network namespace, until its thread ends with it.
func newNetNS(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread()
	ns, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ns.Close()) })
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "waited 20 s: %s", what)
	}
}

// Each kind of change is an event of its kind, within the second that is promised for repairs by event.
func TestEventsOfTheKernel(t *testing.T) {
	newNetNS(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen atomic.Uint64
	watched := make(chan error, 1)
	ns, err := netns.Get()
	require.NoError(t, err)
	defer ns.Close()
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(ns); err != nil {
			watched <- err
			return
		}
		watch(ctx, func(e Events) { seen.Or(uint64(e)) })
		watched <- nil
	}()
	happens := func(kind Events, change func()) {
		t.Helper()
		eventually(t, "an event", func() bool {
			change()
			return Events(seen.Load())&kind != 0
		})
		seen.Store(0)
	}
	up := func(on bool) {
		lo, err := netlink.LinkByName("lo")
		require.NoError(t, err)
		if on {
			require.NoError(t, netlink.LinkSetUp(lo))
		} else {
			require.NoError(t, netlink.LinkSetDown(lo))
		}
	}
	happens(Links, func() { up(true); up(false); up(true) })
	lo, err := netlink.LinkByName("lo")
	require.NoError(t, err)
	addr, err := netlink.ParseAddr("192.0.2.1/32")
	require.NoError(t, err)
	happens(Addresses, func() {
		require.NoError(t, netlink.AddrReplace(lo, addr))
		require.NoError(t, netlink.AddrDel(lo, addr))
	})
	route := &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: addr.IPNet, Scope: netlink.SCOPE_LINK}
	happens(Routes, func() {
		require.NoError(t, netlink.RouteReplace(route))
		require.NoError(t, netlink.RouteDel(route))
	})
	happens(Settings, func() {
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0))
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0))
	})
	cancel()
	require.NoError(t, <-watched)
}

// A part that cannot be repaired becomes a problem at its second failure, and keeps no other part waiting.
func TestPartThatCannotBeRepairedIsAProblem(t *testing.T) {
	problems := problem.NewRecorder()
	k := New(problems)
	var broken atomic.Bool
	var others atomic.Int64
	broken.Store(true)
	k.Add(Part{Name: "tunnel", Every: time.Millisecond, Repair: func(context.Context) error {
		if broken.Load() {
			return errors.New("no device")
		}
		return nil
	}}, Part{Name: "stuck", Every: time.Millisecond, Repair: func(ctx context.Context) error { <-ctx.Done(); return nil }},
		Part{Name: "gateway", Every: time.Millisecond, Repair: func(context.Context) error { others.Add(1); return nil }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { k.Run(ctx); close(done) }()
	list := func() []problem.Problem { all, _ := problems.List(); return all }
	eventually(t, "the problem", func() bool { return len(list()) == 1 })
	require.Equal(t, problem.Subject{Kind: KindNodePart, Name: "tunnel"}, list()[0].Subject)
	require.Equal(t, "the tunnel is not as it should be, and the agent cannot repair it: no device", list()[0].Message)
	eventually(t, "repairs of another part", func() bool { return others.Load() > 0 })
	broken.Store(false)
	eventually(t, "the end of the problem", func() bool { return len(list()) == 0 })
	cancel()
	<-done
}
