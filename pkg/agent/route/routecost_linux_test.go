// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRoutesThatAreThere: an agent that starts finds the routes of the former one. What it does for each does not grow with their number.
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
	many := set(all[:500])
	t.Logf("500 new routes: %s, again: %s, beside %d others: %s", few, again, len(all)-500, many)
	require.Less(t, many, 4*max(few, again))
	require.NoError(t, setRoute(podRoute{cidr: all[0].cidr, gateway: peerGateway}, link))
	require.Equal(t, peerGateway.String()+" onlink", gatewayRoutes(t)[all[0].cidr.Addr().String()+"/32"])
}
