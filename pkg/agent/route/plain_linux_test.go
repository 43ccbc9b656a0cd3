// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

const protoOwn = " proto 170"

func directTo(address string) reach.Reach {
	return reach.Reach{Kind: reach.Direct, Address: netip.MustParseAddr(address)}
}

func routedTo(address string) reach.Reach {
	return reach.Reach{Kind: reach.Routed, Address: netip.MustParseAddr(address)}
}

// newUplink makes the transport device.
func newUplink(t *testing.T) {
	t.Helper()
	run(t, "ip", "link", "add", "up0", "type", "veth", "peer", "name", "wire0")
	run(t, "ip", "link", "set", "wire0", "up")
	run(t, "ip", "link", "set", "up0", "up")
	run(t, "ip", "addr", "add", "192.168.77.11/24", "dev", "up0")
	run(t, "ip", "addr", "add", "fd00:77::11/64", "dev", "up0", "nodad")
}

// routeTo returns the routes of the main table to exactly this network.
func routesTo(t *testing.T, cidr netip.Prefix) string {
	t.Helper()
	version := "-4"
	if cidr.Addr().Is6() {
		version = "-6"
	}
	return strings.TrimSpace(run(t, "ip", version, "route", "show", "exact", cidr.String()))
}

// TestPlainRoutes: a peer's route follows the way by which it is reached, in both IP versions, whatever was there before; other programs' routes stay, and
// what is removed returns.
func TestPlainRoutes(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	newUplink(t)
	c := newTestClient6(t, true)
	require.NoError(t, c.Initialize())
	for _, f := range []struct {
		cidr          netip.Prefix
		gateway       netip.Addr
		near, another string
	}{{peerCIDR, peerGateway, "192.168.77.12", "192.168.77.13"}, {peerCIDR6, peerGateway6, "fd00:77::12", "fd00:77::13"}} {
		tunnel := func(route string) {
			require.Contains(t, route, "via "+f.gateway.String()+" dev antrea-gw0"+protoOwn)
			require.NotContains(t, route, "up0")
		}
		direct := func(address string) func(string) {
			return func(route string) {
				require.Contains(t, route, "via "+address+" dev up0"+protoOwn)
				require.NotContains(t, route, "antrea-gw0")
			}
		}
		none := func(route string) { require.Empty(t, route) }
		for i, step := range []struct {
			by   reach.Reach
			want func(string)
		}{
			{directTo(f.near), direct(f.near)}, {directTo(f.near), direct(f.near)}, {byTunnel, tunnel}, {directTo(f.near), direct(f.near)}, {directTo(f.another), direct(f.another)},
			{routedTo(f.near), none}, {byTunnel, tunnel}, {routedTo(f.near), none}, {directTo(f.near), direct(f.near)},
		} {
			require.NoError(t, c.AddRoutes(f.cidr, "node2", step.by, f.gateway), "step %d", i)
			step.want(routesTo(t, f.cidr))
			require.NoError(t, c.sync(t.Context()))
			step.want(routesTo(t, f.cidr))
		}
		run(t, "ip", "route", "del", f.cidr.String())
		require.NoError(t, c.sync(t.Context()))
		direct(f.near)(routesTo(t, f.cidr))
		require.NoError(t, c.DeleteRoutes(f.cidr))
		require.NoError(t, c.DeleteRoutes(f.cidr), "idempotent")
		none(routesTo(t, f.cidr))
		require.NoError(t, c.sync(t.Context()))
		none(routesTo(t, f.cidr))
	}
	_, neighbors := podRoutes6(t)
	require.Empty(t, neighbors)
	require.Equal(t, []string{"10.10.0.0/24"}, setEntries(t))

	run(t, "ip", "route", "add", peerCIDR.String(), "via", "192.168.77.99")
	require.ErrorContains(t, c.AddRoutes(peerCIDR, "node2", directTo("192.168.77.12"), peerGateway), "route of its own")
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", routedTo("192.168.77.12"), peerGateway), "the network's route is the way")
	require.NoError(t, c.DeleteRoutes(peerCIDR))
	require.Contains(t, routesTo(t, peerCIDR), "via 192.168.77.99")
	require.ErrorContains(t, c.AddRoutes(otherCIDR6, "node2", directTo("192.168.77.12"), otherGW6), "is not an IPv6 address")
}

// TestPlainRoutesOfAFormerAgent: while no agent ran, one Node was deleted, one moved behind the tunnel, one is reached by the network now, and one near.
func TestPlainRoutesOfAFormerAgent(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	newUplink(t)
	former := newTestClient6(t, true)
	require.NoError(t, former.Initialize())
	cidrs, gateways := map[string]netip.Prefix{}, map[string]netip.Addr{}
	for name, cidr := range map[string]string{"gone": "10.10.1.0/24", "far": "10.10.2.0/24", "routed": "10.10.3.0/24", "near": "10.10.4.0/24", "stays": "10.10.5.0/24", "gone6": "fd00:10:10:1::/64"} {
		cidrs[name] = netip.MustParsePrefix(cidr)
		gateways[name] = cidrs[name].Addr().Next()
		by := directTo("192.168.77.12")
		if name == "near" {
			by = byTunnel
		}
		if name == "gone6" {
			by = directTo("fd00:77::12")
		}
		require.NoError(t, former.AddRoutes(cidrs[name], name, by, gateways[name]))
	}
	run(t, "ip", "route", "add", "10.10.77.0/24", "via", "192.168.77.99")

	c := newTestClient6(t, true)
	require.NoError(t, c.Initialize())
	for name, by := range map[string]reach.Reach{"far": byTunnel, "routed": routedTo("192.168.77.12"), "near": directTo("192.168.77.12"), "stays": directTo("192.168.77.12")} {
		require.NoError(t, c.AddRoutes(cidrs[name], name, by, gateways[name]))
	}
	require.NoError(t, c.Reconcile([]netip.Prefix{cidrs["far"], cidrs["routed"], cidrs["near"], cidrs["stays"]}))
	for name, want := range map[string]string{"gone": "", "gone6": "", "far": "via 10.10.2.1 dev antrea-gw0", "routed": "", "near": "via 192.168.77.12 dev up0", "stays": "via 192.168.77.12 dev up0"} {
		if got := routesTo(t, cidrs[name]); want == "" {
			require.Empty(t, got, name)
		} else {
			require.Contains(t, got, want, name)
		}
	}
	require.Contains(t, routesTo(t, netip.MustParsePrefix("10.10.77.0/24")), "via 192.168.77.99", "another program's")
}

func TestNoSNAT(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	for _, noSNAT := range []bool{false, true, false} {
		network, node := testConfigs()
		network.TrafficEncapMode, network.NoSNAT = config.TrafficEncapModeNoEncap, noSNAT
		c, err := NewClient(network, node, Options{Sysctls: newRecord(t)})
		require.NoError(t, err)
		require.NoError(t, c.Initialize())
		require.Equal(t, !noSNAT, strings.Contains(strings.Join(savedRules(t), "\n"), "masquerade Pod to external packets"))
	}
}
