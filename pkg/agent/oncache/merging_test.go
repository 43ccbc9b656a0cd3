// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestMergesTooMuch: the settings count for the IP versions of the tunnel, from the first size that is too large.
func TestMergesTooMuch(t *testing.T) {
	ip4, ip6 := netip.MustParseAddr("192.168.77.11"), netip.MustParseAddr("fd00::11")
	for name, tc := range map[string]struct {
		config     Config
		ipv4, ipv6 uint32
		want       string
	}{
		"as usual":       {Config{UplinkIPv4: ip4, UplinkIPv6: ip6}, 65536, 65536, ""},
		"an old kernel":  {Config{UplinkIPv4: ip4, UplinkIPv6: ip6}, 0, 0, ""},
		"IPv4":           {Config{UplinkIPv4: ip4}, 65537, 65536, "gro_ipv4_max_size of interface eth0 is 65537"},
		"IPv6":           {Config{UplinkIPv6: ip6}, 65536, 65537, "gro_max_size of interface eth0 is 65537"},
		"IPv4, not used": {Config{UplinkIPv6: ip6}, 185000, 65536, ""},
		"IPv6, not used": {Config{UplinkIPv4: ip4}, 65536, 185000, ""},
		"one of two":     {Config{UplinkIPv4: ip4, UplinkIPv6: ip6}, 65536, 185000, "gro_max_size of interface eth0 is 185000"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.config.mergesTooMuch(&netlink.LinkAttrs{Name: "eth0", GROIPv4MaxSize: tc.ipv4, GROMaxSize: tc.ipv6})
			if tc.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.want)
			}
		})
	}
}

// TestReceivers: GRO works on the devices that receive, not on those above them.
func TestReceivers(t *testing.T) {
	at := func(name string, index, parent, master int) netlink.LinkAttrs {
		return netlink.LinkAttrs{Name: name, Index: index, ParentIndex: parent, MasterIndex: master, NetNsID: -1}
	}
	elsewhere := at("away", 9, 1, 0)
	elsewhere.NetNsID = 0
	all := []netlink.Link{
		&netlink.Device{LinkAttrs: at("nic1", 1, 0, 3)}, &netlink.Device{LinkAttrs: at("nic2", 2, 0, 3)}, &netlink.Bond{LinkAttrs: at("bond0", 3, 0, 0)},
		&netlink.Vlan{LinkAttrs: at("bond0.7", 4, 3, 5)}, &netlink.Bridge{LinkAttrs: at("br0", 5, 0, 0)}, &netlink.Macvlan{LinkAttrs: at("macv", 6, 8, 0)},
		&netlink.Veth{LinkAttrs: at("veth1", 7, 8, 5)}, &netlink.Veth{LinkAttrs: at("veth2", 8, 7, 0)}, &netlink.Macvlan{LinkAttrs: elsewhere},
		&netlink.IPVlan{LinkAttrs: at("ipv", 10, 3, 0)},
	}
	for index, want := range map[int][]string{
		1: {"nic1"}, 3: {"bond0", "nic1", "nic2"}, 4: {"bond0.7", "bond0", "nic1", "nic2"}, 5: {"br0", "bond0.7", "bond0", "nic1", "nic2", "veth1"},
		6: {"macv", "veth2"}, 8: {"veth2"}, 9: {"away"}, 10: {"ipv", "bond0", "nic1", "nic2"},
	} {
		devices, err := receivers(all[index-1], func() ([]netlink.Link, error) { return all, nil })
		require.NoError(t, err)
		var got []string
		for _, d := range devices {
			got = append(got, d.Attrs().Name)
		}
		require.Equal(t, want, got)
	}
	_, err := receivers(all[2], func() ([]netlink.Link, error) { return nil, errors.New("no netlink") })
	require.ErrorContains(t, err, "no netlink")
}

// refusals is an Observer that notes what it is told about rewriting.
type refusals struct {
	noObserver
	mu   sync.Mutex
	told []string
}

func (r *refusals) NotRewriting(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, fmt.Sprint(reason))
}

// last returns the last report, and the number of reports.
func (r *refusals) last() (last string, count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) == 0 {
		return "", 0
	}
	return r.told[len(r.told)-1], len(r.told)
}

// TestMergingStopsRewriting: while GRO of the transport interface may make packets without a length, no Node is told keys, and
// observers learn the reason. The fast path continues.
func TestMergingStopsRewriting(t *testing.T) {
	seen := &refusals{}
	k := watchedUplink(t, func(k *uplinkKeeper) { k.config.Rewrite, k.mode.observer = true, seen })
	refused := &harness.Look(t, k.config.PinPath).Control().KeysRefused
	tells := func(want bool) {
		t.Helper()
		require.Eventually(t, func() bool { return (atomic.LoadUint32(refused) == 0) == want }, waitLimit, time.Millisecond)
	}
	tells(true)
	atomic.StoreUint32(refused, 1) // as an agent has left it that was killed
	k.nodesChanged <- struct{}{}
	tells(true)
	_, count := seen.last()
	require.Zero(t, count)

	device, err := netlink.LinkByName("up0")
	require.NoError(t, err)
	becomes := func(size int) {
		t.Helper()
		require.NoError(t, netlink.LinkSetGROIPv4MaxSize(device, size))
		k.nodesChanged <- struct{}{} // the kernel sends no message
	}
	becomes(185000)
	tells(false)
	require.Eventually(t, func() bool { _, count := seen.last(); return count == 1 }, waitLimit, time.Millisecond)
	last, _ := seen.last()
	require.Contains(t, last, "gro_ipv4_max_size of interface up0 is 185000")
	require.Equal(t, last, k.refusal.now().Error())
	require.Equal(t, datapath.ModeEnforce, k.dp.Mode())

	becomes(100000)
	require.Eventually(t, func() bool { _, count := seen.last(); return count == 2 }, waitLimit, time.Millisecond, "the reason is another one")
	becomes(65536)
	tells(true)
	require.Eventually(t, func() bool { last, count := seen.last(); return last == "<nil>" && count == 3 }, waitLimit, time.Millisecond)
}
