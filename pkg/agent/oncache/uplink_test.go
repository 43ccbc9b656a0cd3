// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

// watchedUplink returns a keeper of a real uplink with one Node on the link (slot 0) and one behind a route (slot 1). Its
// lease does not end, so everything it does is triggered by a message of the kernel. Edits are made before it begins.
func watchedUplink(t *testing.T, edits ...func(*uplinkKeeper)) *uplinkKeeper {
	t.Helper()
	k := newUplink(t, edits...)
	startWatching(t, k)
	require.Eventually(t, func() bool { return k.dp.Mode() == datapath.ModeEnforce }, waitLimit, 10*time.Millisecond, "the uplink is usable")
	return k
}

// startWatching runs the keeper's watcher until stop, or the end of the test.
func startWatching(t *testing.T, k *uplinkKeeper) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		k.watch(done)
	}()
	stop = sync.OnceFunc(func() {
		close(done)
		<-stopped
	})
	t.Cleanup(stop)
	return stop
}

// newUplink returns the keeper of watchedUplink before anything watches.
func newUplink(t *testing.T, edits ...func(*uplinkKeeper)) *uplinkKeeper {
	t.Helper()
	sandbox.RequireRoot(t)
	ip(t, "link add up0 type veth peer name up0p")
	t.Cleanup(func() {
		ip(t, "link del up0")
		ip(t, "xfrm policy flush")
	})
	ip(t, "link set up0p up")
	ip(t, "link set up0 up")
	ip(t, "address add 192.168.77.11/24 dev up0")
	ip(t, "nexthop add id 7 via 192.168.77.12 dev up0")
	ip(t, "route add 10.99.0.0/16 nhid 7")

	pins := filepath.Join(sandbox.BPFFS, t.Name(), "oncache")
	k := newUplinkKeeper(&Config{
		PinPath: pins, Lease: time.Hour, Uplink: "up0", UplinkIPv4: netip.MustParseAddr("192.168.77.11"), TunnelType: "geneve", TunnelPort: 6081,
		VirtualMAC: net.HardwareAddr{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
	})
	for _, edit := range edits {
		edit(k)
	}
	dp, err := datapath.Load(datapath.Options{PinPath: pins, MaxFlows: 1024})
	require.NoError(t, err)
	k.dp = dp
	t.Cleanup(func() {
		require.NoError(t, datapath.RemoveAll(pins))
		require.NoError(t, k.dp.Close())
	})
	k.dp.SetNode(0, netip.MustParseAddr("192.168.77.12"))
	k.dp.SetNode(1, netip.MustParseAddr("10.99.0.1"))
	uplink, err := readUplink(k.config)
	require.NoError(t, err)
	require.NoError(t, k.begin(k.dp, uplink))
	k.mode.wanted = datapath.ModeEnforce // the programs are told once the watcher has checked the uplink
	return k
}

// waitLimit is longer than the watcher ever needs.
const waitLimit = 30 * time.Second

func suspendedFor(k *uplinkKeeper) string {
	if _, reason := k.mode.state(); reason != nil {
		return reason.Error()
	}
	return ""
}

// TestIPsecSuspends: while an IPsec policy covers tunnel packets nothing takes the fast path.
func TestIPsecSuspends(t *testing.T) {
	k := watchedUplink(t)
	const covers = "src 192.168.77.11 dst 192.168.77.12 proto udp dport 6081 dir out"
	const templates = " tmpl src 192.168.77.11 dst 192.168.77.12 proto esp reqid 1 mode transport"
	ip(t, "xfrm policy add src 192.168.77.11 dst 192.168.77.12 proto tcp dir out"+templates)
	ip(t, "xfrm policy add src 192.168.77.11 dst 172.16.0.0/12 dir out"+templates)
	uplink, err := readUplink(k.config)
	require.NoError(t, err)
	require.NoError(t, k.bypassed(uplink.IfIndex), "policies that cannot match")

	ip(t, "xfrm policy add "+covers+templates)
	require.Eventually(t, func() bool { return k.dp.Mode() == datapath.ModeOff }, waitLimit, 10*time.Millisecond)
	require.Contains(t, suspendedFor(k), "IPsec policy src 192.168.77.11/32 dst 192.168.77.12/32 dir out")
	ip(t, "xfrm policy del "+covers)
	require.Eventually(t, func() bool { return k.dp.Mode() == datapath.ModeEnforce }, waitLimit, 10*time.Millisecond)
	require.Empty(t, suspendedFor(k))

	// A Node that is added later is covered by the existing policy.
	k.dp.SetNode(2, netip.MustParseAddr("172.16.0.2"))
	k.nodesChanged <- struct{}{}
	require.Eventually(t, func() bool { return k.dp.Mode() == datapath.ModeOff }, waitLimit, 10*time.Millisecond)
	require.Contains(t, suspendedFor(k), "172.16.0.0/12")
	ip(t, "xfrm policy flush")
	require.Eventually(t, func() bool { return k.dp.Mode() == datapath.ModeEnforce }, waitLimit, 10*time.Millisecond)
}

// TestUplinkMTU: the packet size limit follows the uplink's MTU at once, and nothing is evicted.
func TestUplinkMTU(t *testing.T) {
	k := watchedUplink(t)
	before := k.evictions.Load()
	ip(t, "link set up0 mtu 1400")
	require.Eventually(t, func() bool { return k.dp.Nodes()[0].MTU == 1400 }, waitLimit, 10*time.Millisecond)
	require.Equal(t, before, k.evictions.Load())
}

// TestNexthopObjects: routes through nexthop objects change without a message about the route. IPv4 routes even disappear
// without one.
func TestNexthopObjects(t *testing.T) {
	// With the compatibility mode a replaced object would be reported with the routes that use it.
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/nexthop_compat_mode", []byte("0"), 0))
	defer os.WriteFile("/proc/sys/net/ipv4/nexthop_compat_mode", []byte("1"), 0)
	k := watchedUplink(t)
	evicts := func(words string) {
		t.Helper()
		before := k.evictions.Load()
		ip(t, words)
		require.Eventually(t, func() bool { return k.evictions.Load() > before }, waitLimit, 10*time.Millisecond, words)
	}
	evicts("nexthop replace id 7 via 192.168.77.13 dev up0")
	before := k.evictions.Load()
	ip(t, "nexthop add id 8 via 192.168.77.14 dev up0")
	ip(t, "link set up0 mtu 1400") // once the watcher knows of this, it has handled the message before
	require.Eventually(t, func() bool { return k.dp.Nodes()[0].MTU == 1400 }, waitLimit, 10*time.Millisecond)
	require.Equal(t, before, k.evictions.Load(), "a new object")
	evicts("nexthop del id 7")
}

// TestOwnRoutesAside: the agent's routes for marked packets come and go with the bridge, and evict nothing, though they are for all addresses.
func TestOwnRoutesAside(t *testing.T) {
	k := watchedUplink(t)
	ip(t, "link add name gw9 type veth peer name peer9")
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/gw9/disable_ipv6", []byte("0"), 0))
	ip(t, "link set peer9 up")
	ip(t, "link set gw9 up")
	ip(t, "addr add 192.0.2.1/24 dev gw9")
	before := k.evictions.Load()
	for _, route := range []string{"route %s default dev gw9 table 170 proto 170", "-6 route %s default dev gw9 table 170 proto 170", "route %s unreachable default table 102 proto 170"} {
		ip(t, fmt.Sprintf(route, "add"))
		ip(t, fmt.Sprintf(route, "del"))
	}
	// Once the watcher knows of this, it has handled all that came before.
	ip(t, "link set up0 mtu 1400")
	require.Eventually(t, func() bool { return k.dp.Nodes()[0].MTU == 1400 }, waitLimit, 10*time.Millisecond)
	require.Equal(t, before, k.evictions.Load())
	for _, other := range []string{"default dev gw9 table 170", "default dev up0 table 171 proto 170"} {
		before := k.evictions.Load()
		ip(t, "route add "+other)
		require.Eventually(t, func() bool { return k.evictions.Load() > before }, waitLimit, 10*time.Millisecond, other)
	}
}
