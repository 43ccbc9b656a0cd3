// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package interfacestore

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func pod(name, namespace, containerID, ip string, ofPort uint32) *InterfaceConfig {
	return &InterfaceConfig{
		Type:          ContainerInterface,
		InterfaceName: name + "-" + containerID,
		IPs:           []netip.Addr{netip.MustParseAddr(ip)},
		MAC:           net.HardwareAddr{2, 0, 0, 0, 0, byte(ofPort)},
		OVSPortConfig: &OVSPortConfig{PortUUID: "uuid-" + containerID, OFPort: ofPort},
		ContainerInterfaceConfig: &ContainerInterfaceConfig{
			ContainerID: containerID, PodName: name, PodNamespace: namespace, IFDev: "eth0",
		},
	}
}

func gateway() *InterfaceConfig {
	return &InterfaceConfig{
		Type: GatewayInterface, InterfaceName: "antrea-gw0",
		IPs:           []netip.Addr{netip.MustParseAddr("10.10.0.1")},
		OVSPortConfig: &OVSPortConfig{OFPort: 32769},
	}
}

func TestEveryIndexFindsTheInterface(t *testing.T) {
	s := NewInterfaceStore()
	web, db, gw := pod("web", "default", "c1", "10.10.0.2", 5), pod("db", "prod", "c2", "10.10.0.3", 6), gateway()
	for _, c := range []*InterfaceConfig{web, db, gw} {
		s.AddInterface(c)
	}
	one := func(c *InterfaceConfig, ok bool) *InterfaceConfig {
		require.True(t, ok)
		return c
	}
	require.Same(t, web, one(s.GetInterfaceByName("web-c1")))
	require.Same(t, web, one(s.GetContainerInterface("c1")))
	require.Same(t, db, one(s.GetInterfaceByIP(netip.MustParseAddr("10.10.0.3"))))
	require.Same(t, db, one(s.GetInterfaceByIP(netip.MustParseAddr("::ffff:10.10.0.3"))))
	require.Same(t, gw, one(s.GetInterfaceByOFPort(32769)))
	require.Equal(t, []*InterfaceConfig{db}, s.GetContainerInterfacesByPod("db", "prod"))
	require.Empty(t, s.GetContainerInterfacesByPod("db", "default"))
	require.Equal(t, []*InterfaceConfig{db, web}, s.GetInterfacesByType(ContainerInterface))
	require.Equal(t, []*InterfaceConfig{gw, db, web}, s.ListInterfaces())
	require.Equal(t, 2, s.GetContainerInterfaceNum())

	s.DeleteInterface(&InterfaceConfig{InterfaceName: "web-c1"})
	_, ok := s.GetInterfaceByIP(netip.MustParseAddr("10.10.0.2"))
	require.False(t, ok)
	_, ok = s.GetContainerInterface("c1")
	require.False(t, ok)
	_, ok = s.GetInterfaceByOFPort(5)
	require.False(t, ok)
	require.Equal(t, 1, s.GetContainerInterfaceNum())
}

func TestUnassignedOFPortIsNotIndexed(t *testing.T) {
	s := NewInterfaceStore()
	s.AddInterface(pod("web", "default", "c1", "10.10.0.2", 0))
	_, ok := s.GetInterfaceByOFPort(0)
	require.False(t, ok)
}

func TestSecondaryInterfaceIsFoundByPodButNotByContainerID(t *testing.T) {
	s := NewInterfaceStore()
	primary, secondary := pod("web", "default", "c1", "10.10.0.2", 5), pod("web", "default", "c1", "10.20.0.2", 6)
	secondary.InterfaceName, secondary.IFDev = "web-net1", "net1"
	s.AddInterface(primary)
	s.AddInterface(secondary)
	found, ok := s.GetContainerInterface("c1")
	require.True(t, ok)
	require.Same(t, primary, found)
	require.Len(t, s.GetContainerInterfacesByPod("web", "default"), 2)
}

func TestReusedIPFollowsTheLatestInterface(t *testing.T) {
	s := NewInterfaceStore()
	old, recent := pod("old", "default", "c1", "10.10.0.2", 5), pod("new", "default", "c2", "10.10.0.2", 6)
	s.AddInterface(old)
	s.AddInterface(recent)
	ip := netip.MustParseAddr("10.10.0.2")
	found, _ := s.GetInterfaceByIP(ip)
	require.Same(t, recent, found)
	s.DeleteInterface(old)
	found, _ = s.GetInterfaceByIP(ip)
	require.Same(t, recent, found, "deleting the old owner must not hide the new one")
}

func TestEventsOfAReplacementComeInOrderAndMayReadTheStore(t *testing.T) {
	s := NewInterfaceStore()
	first, second := pod("web", "default", "c1", "10.10.0.2", 5), pod("web", "default", "c1", "10.10.0.9", 7)
	var events []Event
	s.Subscribe(func(e Event) {
		_, _ = s.GetInterfaceByName("web-c1")
		events = append(events, e)
	})
	s.Initialize([]*InterfaceConfig{gateway()})
	require.Empty(t, events, "Initialize is silent")
	s.AddInterface(first)
	s.AddInterface(second)
	s.DeleteInterface(second)
	s.DeleteInterface(second)
	require.Equal(t, []Event{{Added: first}, {Deleted: first}, {Added: second}, {Deleted: second}}, events)
	require.Len(t, s.ListInterfaces(), 1)
}

func TestPanicOfASubscriberLeavesNobodyInTheDark(t *testing.T) {
	s := NewInterfaceStore()
	var events []Event
	panics := false
	s.Subscribe(func(Event) {
		if panics {
			panic("boom")
		}
	})
	s.Subscribe(func(e Event) { events = append(events, e) })
	old, current := pod("web", "default", "c1", "10.10.0.2", 5), pod("web", "default", "c1", "10.10.0.3", 6)
	s.AddInterface(old)
	panics = true
	require.Panics(t, func() { s.AddInterface(current) })
	require.Panics(t, func() { s.DeleteInterface(current) })
	require.Equal(t, []Event{{Added: old}, {Deleted: old}, {Added: current}, {Deleted: current}}, events)
	panics = false
	s.AddInterface(old) // no lock is held
}

func TestInitializeReplacesTheContentAndKeepsTheLastOfEachName(t *testing.T) {
	s := NewInterfaceStore()
	s.AddInterface(pod("web", "default", "c1", "10.10.0.2", 5))
	first, second := pod("db", "prod", "c2", "10.10.0.3", 6), pod("db", "prod", "c2", "10.10.0.4", 6)
	s.Initialize([]*InterfaceConfig{first, second})
	require.Equal(t, []*InterfaceConfig{second}, s.ListInterfaces())
	_, ok := s.GetInterfaceByIP(netip.MustParseAddr("10.10.0.3"))
	require.False(t, ok)
}

func TestConcurrentUseKeepsEventsBalanced(t *testing.T) {
	s := NewInterfaceStore()
	present := map[string]bool{}
	s.Subscribe(func(e Event) {
		if e.Added != nil {
			require.False(t, present[e.Added.InterfaceName])
			present[e.Added.InterfaceName] = true
			return
		}
		require.True(t, present[e.Deleted.InterfaceName])
		delete(present, e.Deleted.InterfaceName)
	})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 200 {
				c := pod("p", "ns", fmt.Sprint(i%10), fmt.Sprintf("10.10.0.%d", i%10+2), uint32(i%10+1))
				if (i+worker)%3 == 0 {
					s.DeleteInterface(c)
				} else {
					s.AddInterface(c)
				}
				s.ListInterfaces()
				s.GetContainerInterface(c.ContainerID)
			}
		})
	}
	wg.Wait()
	require.Len(t, s.ListInterfaces(), len(present))
	require.Equal(t, len(present), s.GetContainerInterfaceNum())
}

func TestTypeNames(t *testing.T) {
	for kind, name := range map[InterfaceType]string{
		ContainerInterface: "container", GatewayInterface: "gateway", TunnelInterface: "tunnel",
	} {
		require.Equal(t, name, kind.String())
		parsed, ok := ParseInterfaceType(name)
		require.True(t, ok)
		require.Equal(t, kind, parsed)
	}
	_, ok := ParseInterfaceType("uplink")
	require.False(t, ok)
}
