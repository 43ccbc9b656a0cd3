// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

var (
	plain   = netip.MustParseAddr("192.0.2.9")
	behind  = config.EgressSubnet{Gateway: netip.MustParsePrefix("172.21.0.1/16")}
	inVLAN  = config.EgressSubnet{Gateway: netip.MustParsePrefix("172.20.10.1/24"), VLAN: 10}
	inVLAN6 = config.EgressSubnet{Gateway: netip.MustParsePrefix("fd00:20::1/64"), VLAN: 10}
)

// newUplink moves the thread, which ends with the test, to a network namespace with a transport interface.
func newUplink(t *testing.T) netlink.Link {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread()
	ns, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ns.Close()) })
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "switch"}))
	link, err := netlink.LinkByName("eth0")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(link))
	return link
}

func settingOf(t *testing.T, device, key string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + device + "/" + key)
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// TestDevice: addresses come to one device, which stays down, and each goes alone, also the first one of a subnet.
func TestDevice(t *testing.T) {
	newUplink(t)
	d := devices{uplink: "eth0", ownMAC: true}
	first, second := netip.MustParseAddr("172.21.0.2"), netip.MustParseAddr("172.21.0.3")
	if err := d.Add(plain, config.EgressSubnet{}); errors.Is(err, syscall.EOPNOTSUPP) {
		t.Skipf("this machine has no devices of kind dummy: %v", err)
	} else {
		require.NoError(t, err)
	}
	require.NoError(t, d.Add(first, behind))
	require.NoError(t, d.Add(second, behind))
	require.NoError(t, d.Add(second, behind), "it is there")
	want := map[netip.Addr]place{plain: {config.EgressDevice, 32}, first: {config.EgressDevice, 16}, second: {config.EgressDevice, 16}}
	has := func() map[netip.Addr]place {
		found, err := d.List()
		require.NoError(t, err)
		return found
	}
	require.Equal(t, want, has())
	require.NoError(t, d.Remove(first))
	require.NoError(t, d.Remove(first), "it has gone")
	delete(want, first)
	require.Equal(t, want, has())
	items, err := Leftovers(t.Context())
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.Contains(t, items[0].Name, config.EgressDevice)
}

// TestVLANDevice: a VLAN has a device as long as it has addresses, with a MAC of its own if that is asked for; devices of others stay.
func TestVLANDevice(t *testing.T) {
	uplink := newUplink(t)
	foreign := netlink.NewLinkAttrs()
	foreign.Name, foreign.ParentIndex = "eth0.20", uplink.Attrs().Index
	if err := netlink.LinkAdd(&netlink.Vlan{LinkAttrs: foreign, VlanId: 20}); err != nil {
		t.Skipf("this machine has no VLANs: %v", err)
	}
	addr, addr6 := netip.MustParseAddr("172.20.10.2"), netip.MustParseAddr("fd00:20::2")
	for _, ownMAC := range []bool{true, false} {
		d := devices{uplink: "eth0", ownMAC: ownMAC}
		require.NoError(t, d.Add(addr, inVLAN))
		require.NoError(t, d.Add(addr6, inVLAN6))
		found, err := d.List()
		require.NoError(t, err)
		require.Equal(t, map[netip.Addr]place{addr: {"antrea-ext.10", 24}, addr6: {"antrea-ext.10", 64}}, found)
		link, err := netlink.LinkByName("antrea-ext.10")
		require.NoError(t, err)
		require.Equal(t, 10, link.(*netlink.Vlan).VlanId)
		require.Equal(t, ownMAC, link.Attrs().HardwareAddr.String() != uplink.Attrs().HardwareAddr.String())
		require.Equal(t, "2", settingOf(t, "antrea-ext.10", "rp_filter"))
		require.Equal(t, "1", settingOf(t, "antrea-ext.10", "promote_secondaries"))

		// Others change it.
		require.NoError(t, netlink.LinkSetDown(link))
		require.NoError(t, d.Add(addr6, inVLAN6), "the kernel has removed it")
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/conf/antrea-ext.10/rp_filter", []byte("1"), 0))
		require.NoError(t, d.Keep())
		require.Equal(t, "2", settingOf(t, "antrea-ext.10", "rp_filter"))
		link, err = netlink.LinkByName("antrea-ext.10")
		require.NoError(t, err)
		require.NotZero(t, link.Attrs().RawFlags&1, "it is up")

		require.NoError(t, d.Remove(addr))
		require.NoError(t, d.Keep())
		_, err = netlink.LinkByName("antrea-ext.10")
		require.NoError(t, err, "it has another address")
		require.NoError(t, d.Remove(addr6))
		require.NoError(t, d.Keep())
		_, err = netlink.LinkByName("antrea-ext.10")
		require.Error(t, err)
	}
	d := devices{uplink: "eth0"}
	require.NoError(t, d.Add(addr, inVLAN))
	require.NoError(t, d.Add(plain, config.EgressSubnet{}))
	require.NoError(t, RemoveDevices())
	links, err := d.managed()
	require.NoError(t, err)
	require.Empty(t, links)
	_, err = netlink.LinkByName("eth0.20")
	require.NoError(t, err)
	require.NoError(t, d.Add(addr, inVLAN))
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth1"}, PeerName: "switch1"}))
	another, err := netlink.LinkByName("eth1")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(another))
	d.uplink = "eth1"
	found, err := d.List()
	require.NoError(t, err)
	require.Empty(t, found, "the assigner has to add it again")
	require.NoError(t, d.Add(addr, inVLAN), "another transport interface")
	link, err := netlink.LinkByName("antrea-ext.10")
	require.NoError(t, err)
	require.True(t, d.below(link))
	require.NoError(t, RemoveDevices())

	foreign = netlink.NewLinkAttrs()
	foreign.Name, foreign.ParentIndex = "antrea-ext.10", uplink.Attrs().Index
	require.NoError(t, netlink.LinkAdd(&netlink.Vlan{LinkAttrs: foreign, VlanId: 30}))
	require.ErrorContains(t, d.Add(addr, inVLAN), "another device has the name")
	require.NoError(t, RemoveDevices())
	_, err = netlink.LinkByName("antrea-ext.10")
	require.NoError(t, err, "it has another VLAN: it is not the agent's")
	require.NoError(t, netlink.LinkDel(&netlink.Device{LinkAttrs: foreign}))
	d.uplink = "gone0"
	require.ErrorContains(t, d.Add(addr, inVLAN), "find the transport interface gone0")
}

// TestSubnetOf: a subnet is read as the webhook accepts it, and whatever it has not seen is refused.
func TestSubnetOf(t *testing.T) {
	for _, tc := range []struct {
		info    *v1beta1.SubnetInfo
		want    config.EgressSubnet
		refusal string
	}{
		{nil, config.EgressSubnet{}, ""},
		{&v1beta1.SubnetInfo{Gateway: "172.20.10.1", PrefixLength: 24, VLAN: 10}, inVLAN, ""},
		{&v1beta1.SubnetInfo{Gateway: "172.21.0.1", PrefixLength: 16}, behind, ""},
		{&v1beta1.SubnetInfo{Gateway: "x", PrefixLength: 16}, behind, `subnetInfo.gateway "x" is not an address`},
		{&v1beta1.SubnetInfo{Gateway: "172.21.0.1", PrefixLength: 32}, behind, "subnetInfo.prefixLength 32 must be 1 to 31"},
		{&v1beta1.SubnetInfo{Gateway: "172.21.0.1", PrefixLength: 24, VLAN: 4095}, behind, "subnetInfo.vlan 4095 must be 0 to 4094"},
	} {
		pool := &v1beta1.ExternalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1beta1.ExternalIPPoolSpec{SubnetInfo: tc.info}}
		subnet, err := SubnetOf(pool, true)
		if tc.refusal != "" {
			require.ErrorContains(t, err, tc.refusal)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, subnet)
	}
}

// TestAnotherSubnet: an address whose pool has another subnet than before changes its place, and no Node has it without the feature gate.
func TestAnotherSubnet(t *testing.T) {
	addr := netip.MustParseAddr("172.20.10.2")
	pool := &v1beta1.ExternalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	in := input{
		node: "node-1", members: membersOf("node-1"), limit: func(string) int { return 1 }, refuse: func(netip.Addr) error { return nil }, separate: true,
		places: map[netip.Addr]place{addr: {config.EgressDevice, 32}}, pools: map[string]*v1beta1.ExternalIPPool{"p": pool},
		egresses: []*v1beta1.Egress{{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Spec: v1beta1.EgressSpec{EgressIP: addr.String(), ExternalIPPool: "p"}, Status: v1beta1.EgressStatus{EgressNode: "node-1", EgressIP: addr.String()}}},
	}
	d := decide(in)
	require.Empty(t, d.add)
	require.Empty(t, d.remove)
	pool.Spec.SubnetInfo = &v1beta1.SubnetInfo{Gateway: "172.20.10.1", PrefixLength: 24, VLAN: 10}
	d = decide(in)
	require.Equal(t, []netip.Addr{addr}, d.remove)
	require.Equal(t, []netip.Addr{addr}, d.add)
	require.Equal(t, inVLAN, d.subnets[addr])
	places := map[netip.Addr]place{addr: placeOf(addr, inVLAN), plain: placeOf(plain, config.EgressSubnet{})}
	require.Equal(t, sets.New(plain), onUplink(places), "for others the kernel answers")
	require.Equal(t, []string{"antrea-ext.10", "eth0"}, []string{places[addr].outside("eth0"), places[plain].outside("eth0")})
	in.separate = false
	d = decide(in)
	require.Equal(t, []netip.Addr{addr}, d.remove)
	require.Empty(t, d.add)
	require.ErrorContains(t, d.failures["e"], "feature gate EgressSeparateSubnet is off")
}
