// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/test/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

// watchedUplink is a Manager that watches a real uplink, and has a Node on it (slot 0) and one behind a route (slot 1). Its
// lease does not end: whatever it does, a message of the kernel has told it to.
func watchedUplink(t *testing.T) *Manager {
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
	m := New(Config{
		PinPath: pins, Lease: time.Hour, Uplink: "up0", UplinkIPv4: netip.MustParseAddr("192.168.77.11"), TunnelType: "geneve", TunnelPort: 6081,
		VirtualMAC: net.HardwareAddr{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
	}, nil, nil, nil)
	var err error
	m.dp, err = datapath.Load(datapath.Options{PinPath: pins, MaxFlows: 1024})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, datapath.RemoveAll(pins))
		require.NoError(t, m.dp.Close())
	})
	m.dp.SetNode(0, netip.MustParseAddr("192.168.77.12"))
	m.dp.SetNode(1, netip.MustParseAddr("10.99.0.1"))
	m.mode = datapath.ModeEnforce
	m.uplink, err = readUplink(m.config)
	require.NoError(t, err)

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		m.watchUplink(stop)
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
	require.Eventually(t, func() bool { return m.dp.Mode() == datapath.ModeEnforce }, patience, 10*time.Millisecond, "the uplink is usable")
	return m
}

// patience is more than the watcher takes.
const patience = 5 * time.Second

func (m *Manager) suspendedFor() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.suspended == nil {
		return ""
	}
	return m.suspended.Error()
}

// TestIPsecSuspends: while an IPsec policy covers tunnel packets nothing takes the fast path.
func TestIPsecSuspends(t *testing.T) {
	m := watchedUplink(t)
	const covers = "src 192.168.77.11 dst 192.168.77.12 proto udp dport 6081 dir out"
	const templates = " tmpl src 192.168.77.11 dst 192.168.77.12 proto esp reqid 1 mode transport"
	ip(t, "xfrm policy add src 192.168.77.11 dst 192.168.77.12 proto tcp dir out"+templates)
	ip(t, "xfrm policy add src 192.168.77.11 dst 172.16.0.0/12 dir out"+templates)
	uplink, err := readUplink(m.config)
	require.NoError(t, err)
	require.NoError(t, m.uplinkPassedBy(uplink.IfIndex), "policies that cannot match")

	ip(t, "xfrm policy add "+covers+templates)
	require.Eventually(t, func() bool { return m.dp.Mode() == datapath.ModeOff }, patience, 10*time.Millisecond)
	require.Contains(t, m.suspendedFor(), "IPsec policy src 192.168.77.11/32 dst 192.168.77.12/32 dir out")
	ip(t, "xfrm policy del "+covers)
	require.Eventually(t, func() bool { return m.dp.Mode() == datapath.ModeEnforce }, patience, 10*time.Millisecond)
	require.Empty(t, m.suspendedFor())

	// A Node that comes later is covered by a policy that was there before it.
	m.dp.SetNode(2, netip.MustParseAddr("172.16.0.2"))
	m.nodesChanged <- struct{}{}
	require.Eventually(t, func() bool { return m.dp.Mode() == datapath.ModeOff }, patience, 10*time.Millisecond)
	require.Contains(t, m.suspendedFor(), "172.16.0.0/12")
	ip(t, "xfrm policy flush")
	require.Eventually(t, func() bool { return m.dp.Mode() == datapath.ModeEnforce }, patience, 10*time.Millisecond)
}

// TestUplinkMTU: what may be sent follows the uplink's MTU at once, and nothing is evicted.
func TestUplinkMTU(t *testing.T) {
	m := watchedUplink(t)
	before := m.uplinkEvictions.Load()
	ip(t, "link set up0 mtu 1400")
	require.Eventually(t, func() bool { return m.dp.Nodes()[0].MTU == 1400 }, patience, 10*time.Millisecond)
	require.Equal(t, before, m.uplinkEvictions.Load())
}

// TestNexthopObjects: routes by nexthop objects change, and for IPv4 go, without a message about the route.
func TestNexthopObjects(t *testing.T) {
	// Otherwise a replaced object is reported with the routes that use it.
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/nexthop_compat_mode", []byte("0"), 0))
	defer os.WriteFile("/proc/sys/net/ipv4/nexthop_compat_mode", []byte("1"), 0)
	m := watchedUplink(t)
	evicts := func(words string) {
		t.Helper()
		before := m.uplinkEvictions.Load()
		ip(t, words)
		require.Eventually(t, func() bool { return m.uplinkEvictions.Load() > before }, patience, 10*time.Millisecond, words)
	}
	evicts("nexthop replace id 7 via 192.168.77.13 dev up0")
	before := m.uplinkEvictions.Load()
	ip(t, "nexthop add id 8 via 192.168.77.14 dev up0")
	ip(t, "link set up0 mtu 1400") // the watcher has had time for the message before when it knows of this
	require.Eventually(t, func() bool { return m.dp.Nodes()[0].MTU == 1400 }, patience, 10*time.Millisecond)
	require.Equal(t, before, m.uplinkEvictions.Load(), "a new object")
	evicts("nexthop del id 7")
}
