// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// TestUnreachedSubnet: an address whose subnet the Node does not reach is refused, and others are not.
func TestUnreachedSubnet(t *testing.T) {
	n := newFakeNode(t)
	r := newRealizer(n, n, time.Now, n.endNone)
	w := newTestWorld()
	plain, separate := netip.MustParseAddr("192.168.1.1"), netip.MustParseAddr("172.20.10.2")
	w.local.Insert(plain, separate)
	subnet := config.EgressSubnet{Gateway: netip.MustParsePrefix("172.20.10.1/24"), VLAN: 10}
	w.subnets = map[string]poolSubnet{"vlan": {EgressSubnet: subnet}}
	w.egresses["plain"], w.egresses["separate"] = makeEgress("plain", 0, plain.String()), makeEgress("separate", 1, separate.String())
	w.egresses["separate"].Spec.ExternalIPPool = "vlan"
	realize := func() (*plan, error) {
		p, _, err := r.realize(t.Context(), w, testNetworks)
		return p, err
	}
	n.noVLAN = true
	p, err := realize()
	require.ErrorIs(t, err, errFake)
	require.ErrorIs(t, p.refused[separate], errFake)
	require.NotZero(t, p.marks[plain])
	n.noVLAN = false
	p, err = realize()
	require.NoError(t, err)
	require.Empty(t, p.refused)
	require.Equal(t, config.EgressMark{Addr: separate, Subnet: subnet}, n.rules[p.marks[separate]])
	// The same address with another subnet.
	subnet.VLAN = 11
	w.subnets = map[string]poolSubnet{"vlan": {EgressSubnet: subnet}}
	p, err = realize()
	require.NoError(t, err)
	require.Equal(t, subnet, n.rules[p.marks[separate]].Subnet)
}

// TestSubnetOnAnotherDevice: routes go with the device of a subnet. When an address has come back on another device, they are made again, although no plan was
// without the address.
func TestSubnetOnAnotherDevice(t *testing.T) {
	n := newFakeNode(t)
	r := newRealizer(n, n, time.Now, n.endNone)
	w := newTestWorld()
	addr := netip.MustParseAddr("172.20.10.2")
	w.local.Insert(addr)
	w.subnets = map[string]poolSubnet{"vlan": {EgressSubnet: config.EgressSubnet{Gateway: netip.MustParsePrefix("172.20.10.1/24"), VLAN: 10}}}
	w.egresses["e"] = makeEgress("e", 0, addr.String())
	w.egresses["e"].Spec.ExternalIPPool = "vlan"
	for device, made := range map[int]int{40: 1, 41: 1} {
		w.links = map[netip.Addr]int{addr: device}
		for range 2 {
			_, _, err := r.realize(t.Context(), w, testNetworks)
			require.NoError(t, err)
		}
		require.Equal(t, made, n.made, "device %d", device)
		n.made = 0
	}
	n.noVLAN, w.links = true, map[netip.Addr]int{addr: 42}
	p, _, _ := r.realize(t.Context(), w, testNetworks)
	require.ErrorIs(t, p.refused[addr], errFake, "packets wait for the routes")
}

// TestPoolWithoutSubnet: packets do not get an address whose pool has a subnet that cannot be used.
func TestPoolWithoutSubnet(t *testing.T) {
	n := newFakeNode(t)
	r := newRealizer(n, n, time.Now, n.endNone)
	w := newTestWorld()
	addr := netip.MustParseAddr("172.20.10.2")
	w.local.Insert(addr)
	w.subnets = map[string]poolSubnet{"vlan": {err: errFake}}
	w.egresses["static"], w.egresses["e"] = makeEgress("static", 0, addr.String()), makeEgress("e", 1, addr.String())
	w.egresses["e"].Spec.ExternalIPPool = "vlan"
	p, _, err := r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.ErrorIs(t, p.refused[addr], errFake)
	require.Empty(t, n.tunnel)

	w.groups["e"] = sets.New(podNamed("p"))
	s := storage{file: filepath.Join(t.TempDir(), "egresses")}
	require.NoError(t, s.save(w))
	_, _, subnets := (&storage{file: s.file}).load()
	require.ErrorContains(t, subnets["vlan"].err, errFake.Error(), "the next agent does not use it either")
	delete(w.subnets, "vlan")
	p, _, err = r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.ErrorContains(t, p.refused[addr], "ExternalIPPool vlan does not exist")
}

// TestSeparateConnectionsEnd: TCP connections whose source leaves by another subnet than the Nodes' end, and soon, when their Pod has another Egress, no
// Egress, or one whose subnet the Node does not reach: they would leave by the Nodes' own subnet. Others stay, and nothing is looked at for ever.
func TestSeparateConnectionsEnd(t *testing.T) {
	const pod, addr = "10.10.0.5", "172.20.10.2"
	for name, change := range map[string]func(*world, *fakeTable){
		"unselected": func(w *world, _ *fakeTable) { w.groups["e"] = nil },
		"another":    func(w *world, _ *fakeTable) { w.egresses["e"] = makeEgress("e", 0, "192.168.1.9") },
		"unreached": func(w *world, f *fakeTable) {
			f.noVLAN = true
			w.subnets = map[string]poolSubnet{"vlan": {EgressSubnet: config.EgressSubnet{Gateway: netip.MustParsePrefix("172.20.10.1/24"), VLAN: 11}}}
		},
		"no pool": func(w *world, _ *fakeTable) { w.subnets = nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeTable{fakeNode: *newFakeNode(t), connections: map[string]*conntrack.Connection{}}
			f.now = time.Unix(1000, 0)
			r := newRealizer(f, f, func() time.Time { return f.now }, f.end)
			w := newTestWorld()
			w.interfaces["i"] = podInterface{pod: podNamed("p"), ofPort: 1, addrs: []netip.Addr{netip.MustParseAddr(pod)}}
			w.local.Insert(netip.MustParseAddr(addr), netip.MustParseAddr("192.168.1.9"))
			w.subnets = map[string]poolSubnet{"vlan": {EgressSubnet: config.EgressSubnet{Gateway: netip.MustParsePrefix("172.20.10.1/24"), VLAN: 10}}}
			w.egresses["e"], w.groups["e"] = makeEgress("e", 0, addr), sets.New(podNamed("p"))
			w.egresses["e"].Spec.ExternalIPPool = "vlan"
			realize := func() (again time.Duration) {
				_, _, _ = r.realize(t.Context(), w, testNetworks)
				again, err := r.endConnections(w)
				require.NoError(t, err)
				return again
			}
			realize() // it has looked just before the change
			f.open("tcp", unix.IPPROTO_TCP, pod, addr)
			f.open("masqueraded tcp", unix.IPPROTO_TCP, pod, "192.168.1.1")
			change(w, f)
			wait := realize()
			require.LessOrEqual(t, wait, urgentInterval)
			again := time.Duration(1)
			for range 10 {
				f.now = f.now.Add(max(wait, again))
				again = realize()
				require.Equal(t, []string{"masqueraded tcp"}, sets.List(sets.KeySet(f.connections)))
				wait = 0
			}
			require.Zero(t, again, "nothing is left to be looked at")
		})
	}
}

// TestRestartEndsSeparateConnections: a Pod got another Egress, or none, while no agent ran. Connections with the former source end, because the packets would
// leave by the Nodes' subnet; connections of Pods with the same Egress as before stay.
func TestRestartEndsSeparateConnections(t *testing.T) {
	const addr, next = "172.20.10.2", "192.168.1.9"
	f := &fakeTable{fakeNode: *newFakeNode(t), connections: map[string]*conntrack.Connection{}}
	f.now = time.Unix(1000, 0)
	r := newRealizer(f, f, func() time.Time { return f.now }, f.end)
	w := newTestWorld()
	w.local.Insert(netip.MustParseAddr(addr), netip.MustParseAddr(next))
	w.subnets = map[string]poolSubnet{"vlan": {EgressSubnet: config.EgressSubnet{Gateway: netip.MustParsePrefix("172.20.10.1/24"), VLAN: 10}}}
	w.egresses["e"], w.egresses["next"], w.groups["e"] = makeEgress("e", 0, addr), makeEgress("next", 1, next), sets.New[types.NamespacedName]()
	w.egresses["e"].Spec.ExternalIPPool = "vlan"
	for i, name := range []string{"same", "another", "none"} {
		pod := fmt.Sprint("10.10.0.", i+1)
		w.interfaces[name] = podInterface{pod: podNamed(name), ofPort: uint32(i + 1), addrs: []netip.Addr{netip.MustParseAddr(pod)}}
		w.groups["e"].Insert(podNamed(name))
		f.open(name, unix.IPPROTO_TCP, pod, addr)
	}
	_, _, err := r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	clear(f.tunnel)
	clear(f.pods)
	r = newRealizer(f, f, func() time.Time { return f.now }, f.end)
	r.remember(w, testNetworks)
	w.groups["e"], w.groups["next"] = sets.New(podNamed("same")), sets.New(podNamed("another"))
	_, _, err = r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	_, err = r.endConnections(w)
	require.NoError(t, err)
	require.Equal(t, []string{"same"}, sets.List(sets.KeySet(f.connections)))
	require.Empty(t, r.former)
}
