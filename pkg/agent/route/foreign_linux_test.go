// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A cloud's route to the gateway is neither replaced nor removed, whatever wants a route to the same address or network, or an entry for it.
func TestRoutesOfTheNodeStay(t *testing.T) {
	for _, metric := range []string{"0", "100"} {
		t.Run("metric "+metric, func(t *testing.T) {
			useBackend(t, "nft")
			newNetNS(t)
			newGateway(t)
			run(t, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "router")
			run(t, "ip", "link", "set", "router", "up")
			run(t, "ip", "addr", "add", "192.168.77.101/32", "dev", "eth0")
			run(t, "ip", "link", "set", "eth0", "up")
			gateway := netip.MustParseAddr("192.168.77.1")
			for _, foreign := range []string{"192.168.77.1/32", "10.10.1.0/24"} {
				run(t, "ip", "route", "add", foreign, "dev", "eth0", "scope", "link", "metric", metric)
			}
			run(t, "ip", "route", "add", "default", "via", "192.168.77.1", "dev", "eth0")
			c := newTestClient(t, Options{ProxyAll: true})
			require.NoError(t, c.Initialize())
			before := run(t, "ip", "route")
			err := c.SetServicePort("a", ServicePort{ClusterIPs: []netip.Addr{gateway}, Protocol: unix.IPPROTO_TCP, Port: 80})
			require.ErrorContains(t, err, "the Node has a route of its own to it, which is not replaced")
			require.NoError(t, c.SetServicePort("b", ServicePort{External: []netip.Addr{gateway}, Protocol: unix.IPPROTO_TCP, Port: 80}))
			require.ErrorContains(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway), "the Node has a route of its own to it")
			require.Equal(t, before, run(t, "ip", "route"))
			require.NoError(t, c.DeleteServicePort("a"))
			require.NoError(t, c.DeleteServicePort("b"))
			require.NoError(t, c.DeleteRoutes(peerCIDR))
			require.NoError(t, c.ReconcileServices())
			require.NoError(t, c.Reconcile(nil))
			require.Equal(t, before, run(t, "ip", "route"))
		})
	}
}

// A permanent neighbor with another MAC address is not the agent's.
func TestNeighborsOfTheNodeStay(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	run(t, "ip", "neighbor", "add", "fd00:10:10:1::1", "lladdr", "02:00:00:00:00:01", "dev", "antrea-gw0")
	run(t, "ip", "neighbor", "add", "fd00:10:10:2::1", "lladdr", "02:00:00:00:00:01", "dev", "antrea-gw0", "nud", "stale")
	c := newTestClient6(t, true)
	require.NoError(t, c.Initialize())
	add := func(cidr, gateway string) error {
		return c.AddRoutes(netip.MustParsePrefix(cidr), "node2", byTunnel, netip.MustParseAddr(gateway))
	}
	require.ErrorContains(t, add("fd00:10:10:1::/64", "fd00:10:10:1::1"), "a permanent neighbor with MAC address 02:00:00:00:00:01, which the agent has not made")
	require.Contains(t, run(t, "ip", "-6", "neighbor"), "fd00:10:10:1::1 dev antrea-gw0 lladdr 02:00:00:00:00:01 PERMANENT")
	require.NoError(t, add("fd00:10:10:2::/64", "fd00:10:10:2::1"), "the kernel has learned it")
	require.NoError(t, add("fd00:10:10:2::/64", "fd00:10:10:2::1"))
}

// No Service gets the pipeline's own addresses, and none removes their routes.
func TestRoutesOfThePipelineStay(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	c := newLeadClient(t)
	before := run(t, "ip", "route") + run(t, "ip", "-6", "route")
	for _, f := range []family{familyIPv4, familyIPv6} {
		for _, a := range []netip.Addr{f.virtualService, f.virtualNodePort} {
			for _, port := range []ServicePort{{ClusterIPs: []netip.Addr{a}}, {External: []netip.Addr{a}}} {
				port.IPv6, port.Protocol, port.Port = a.Is6(), unix.IPPROTO_TCP, 80
				require.ErrorContains(t, c.SetServicePort("a", port), a.String()+" is an address of the pipeline")
				require.NoError(t, c.DeleteServicePort("a"))
			}
		}
	}
	require.Equal(t, before, run(t, "ip", "route")+run(t, "ip", "-6", "route"))
}

// An agent that starts gives back at once, before it knows any Service, what a former one has led away of what the Node needs: agents of earlier
// versions have made routes to external addresses. Other parts of Services stay.
func TestNeededAddressesAreGivenBackAtOnce(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	server, other := netip.MustParseAddr("192.168.77.250"), netip.MustParseAddr("192.168.77.251")
	former := newTestClient(t, Options{ProxyAll: true})
	require.NoError(t, former.Initialize())
	for _, a := range []netip.Addr{server, other} {
		run(t, "ip", "route", "add", a.String(), "via", "169.254.0.253", "dev", "antrea-gw0", "onlink")
		for _, port := range []uint16{80, 6443} {
			require.NoError(t, familyIPv4.serviceSet().addPort(portEntry{a, unix.IPPROTO_TCP, port}))
		}
	}
	require.NoError(t, former.SetServicePort("a", servicePort(0, clusterIP)))

	c := newTestClient(t, Options{ProxyAll: true, Needed: func(addr netip.Addr, port uint16) bool {
		return addr == server && (port == 0 || port == 6443)
	}})
	require.NoError(t, c.Initialize())
	entry := func(a netip.Addr, port uint16) string {
		return "Service " + portEntry{a, unix.IPPROTO_TCP, port}.String()
	}
	require.ElementsMatch(t, []string{ownRoute, nextHopRoute, nodePortDst, clusterRoute, "route 192.168.77.251/32 169.254.0.253 onlink",
		entry(server, 80), entry(other, 80), entry(other, 6443)}, hostState(t))
	require.NoError(t, c.SetServicePort("a", servicePort(0, clusterIP)))
	require.NoError(t, c.ReconcileServices())
	require.ElementsMatch(t, []string{ownRoute, nextHopRoute, nodePortDst, clusterRoute}, hostState(t))
}
