// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
)

// TestRoutesThatAreThere: an agent that starts finds the routes of the former one. The work for each does not grow with their number.
func TestRoutesThatAreThere(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	link, err := gatewayLink("antrea-gw0")
	require.NoError(t, err)
	require.NoError(t, setRoute(podRoute{cidr: netip.PrefixFrom(familyIPv4.virtualService, 32)}, link))
	routes := func(first byte) (all []podRoute) {
		for i := range 4000 {
			addr := netip.AddrFrom4([4]byte{10, first, byte(i >> 8), byte(i)})
			all = append(all, podRoute{cidr: netip.PrefixFrom(addr, 32), gateway: familyIPv4.virtualService})
		}
		return all
	}
	set := func(all []podRoute) time.Duration {
		t.Helper()
		began := time.Now()
		for _, r := range all {
			require.NoError(t, setRoute(r, link))
		}
		return time.Since(began)
	}
	all := routes(96)
	few := set(all[:500])
	again := set(all[:500])
	set(all)
	many := min(set(all[:500]), set(all[:500]), set(all[:500])) // other programs make some longer
	t.Logf("500 new routes: %s, again: %s, beside %d others: %s", few, again, len(all)-500, many)
	require.Less(t, many, 20*few)
	require.NoError(t, setRoute(podRoute{cidr: all[0].cidr, gateway: peerGateway}, link))
	require.Equal(t, peerGateway.String()+" onlink", gatewayRoutes(t)[all[0].cidr.Addr().String()+"/32"])
}

// TestNeighborsThatAreThere does the same with the neighbors of IPv6 gateways.
func TestNeighborsThatAreThere(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	link, err := gatewayLink("antrea-gw0")
	require.NoError(t, err)
	s := &stack{family: familyIPv6}
	set := func(number int) time.Duration {
		t.Helper()
		began := time.Now()
		for i := range number {
			addr := netip.AddrFrom16([16]byte{0xfd, 0x10, 4: byte(i >> 8), 5: byte(i), 15: 1})
			require.NoError(t, s.addNeighbor(addr, link))
		}
		return time.Since(began)
	}
	few := set(500)
	again := set(500)
	set(4000)
	many := min(set(500), set(500), set(500))
	t.Logf("500 new neighbors: %s, again: %s, beside 3500 others: %s", few, again, many)
	require.Less(t, many, 50*few)
	mine := s.neighbor(netip.AddrFrom16([16]byte{0xfd, 0x10, 15: 1}), link)
	for _, find := range []func(*netlink.Neigh) (netlink.Neigh, error){findNeighbor, findNeighborAmongAll} {
		found, err := find(mine)
		require.NoError(t, err)
		require.Equal(t, mine.HardwareAddr, found.HardwareAddr)
		found, err = find(s.neighbor(netip.IPv6LinkLocalAllNodes(), link))
		require.NoError(t, err)
		require.Empty(t, found.HardwareAddr)
	}
}
