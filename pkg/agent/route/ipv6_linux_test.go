// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

var (
	localCIDR6   = netip.MustParsePrefix("fd00:10:10::/64")
	peerCIDR6    = netip.MustParsePrefix("fd00:10:10:1::/64")
	peerGateway6 = netip.MustParseAddr("fd00:10:10:1::1")
	otherCIDR6   = netip.MustParsePrefix("fd00:10:10:2::/64")
	otherGW6     = netip.MustParseAddr("fd00:10:10:2::1")
)

// newGateway6 is newGateway with the first address of the local IPv6 Pod CIDR, as the agent adds it.
func newGateway6(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ip6tables"); err != nil {
		t.Skip("needs program ip6tables")
	}
	newGateway(t)
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/antrea-gw0/disable_ipv6", []byte("0"), 0))
	gateway, err := netlink.LinkByName("antrea-gw0")
	require.NoError(t, err)
	addr, err := netlink.ParseAddr("fd00:10:10::1/64")
	require.NoError(t, err)
	addr.Flags = unix.IFA_F_NODAD
	require.NoError(t, netlink.AddrAdd(gateway, addr))
}

func newTestClient6(t *testing.T, ipv4 bool) *Client {
	t.Helper()
	network, node := testConfigs()
	network.IPv6Enabled, node.PodIPv6CIDR = true, localCIDR6
	if !ipv4 {
		network.IPv4Enabled, node.PodIPv4CIDR = false, netip.Prefix{}
	}
	c, err := NewClient(network, node, Options{Sysctls: newRecord(t)})
	require.NoError(t, err)
	return c
}

// podRoutes6 are the destinations of routes to peers, with their gateways, and the permanent neighbors.
func podRoutes6(t *testing.T) (routes map[string]string, neighbors []string) {
	t.Helper()
	link, err := gatewayLink("antrea-gw0")
	require.NoError(t, err)
	found, err := listGatewayRoutes(familyIPv6, link)
	require.NoError(t, err)
	routes = map[string]string{}
	for _, r := range found {
		if r.gateway.IsValid() {
			require.True(t, r.onlink, "%s", r.cidr)
			routes[r.cidr.String()] = r.gateway.String()
		}
	}
	list, err := netlink.NeighList(link, unix.AF_INET6)
	require.NoError(t, err)
	for _, n := range list {
		if n.State == netlink.NUD_PERMANENT {
			neighbors = append(neighbors, n.IP.String()+" "+n.HardwareAddr.String())
		}
	}
	return routes, neighbors
}

func TestIPv6RoutesAndNeighbors(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	c := newTestClient6(t, true)
	require.NoError(t, c.Initialize())
	for key, want := range map[string]string{"all/forwarding": "1", "antrea-gw0/forwarding": "1", "antrea-gw0/accept_ra": "0"} {
		got, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + key)
		require.NoError(t, err)
		require.Equal(t, want, strings.TrimSpace(string(got)), key)
	}
	rules := run(t, "ip6tables-save")
	require.Contains(t, rules, `-A ANTREA-POSTROUTING -s fd00:10:10::/64 ! -o antrea-gw0`)
	require.Contains(t, rules, `! --match-set ANTREA-POD-IP6 dst -j MASQUERADE`)
	require.Contains(t, rules, `-A ANTREA-INPUT -p udp -m comment --comment "Antrea: accept tunnel packets" -m udp --dport 6081 -m conntrack ! --ctstate DNAT -j ACCEPT`)

	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
	require.NoError(t, c.AddRoutes(peerCIDR6, "node2", byTunnel, peerGateway6))
	require.NoError(t, c.AddRoutes(otherCIDR6, "node3", byTunnel, otherGW6))
	routes, neighbors := podRoutes6(t)
	require.Equal(t, map[string]string{peerCIDR6.String(): "fd00:10:10:1::1", otherCIDR6.String(): "fd00:10:10:2::1"}, routes)
	require.ElementsMatch(t, []string{"fd00:10:10:1::1 aa:bb:cc:dd:ee:ff", "fd00:10:10:2::1 aa:bb:cc:dd:ee:ff"}, neighbors)
	require.Equal(t, "10.10.1.1 onlink", gatewayRoutes(t)["10.10.1.0/24"])
	require.Contains(t, run(t, "ip", "-6", "route", "get", "fd00:10:10:1::5"), "src fd00:10:10::1")

	// Another program removes both; the sync puts them back.
	run(t, "ip", "-6", "route", "del", peerCIDR6.String())
	run(t, "ip", "-6", "neigh", "del", "fd00:10:10:2::1", "dev", "antrea-gw0")
	require.NoError(t, c.sync(t.Context()))
	again, neighborsAgain := podRoutes6(t)
	require.Equal(t, routes, again)
	require.ElementsMatch(t, neighbors, neighborsAgain)

	// The agent starts again; meanwhile one Node has been deleted.
	after := newTestClient6(t, true)
	require.NoError(t, after.Initialize())
	require.NoError(t, after.AddRoutes(peerCIDR6, "node2", byTunnel, peerGateway6))
	require.NoError(t, after.Reconcile([]netip.Prefix{peerCIDR, peerCIDR6}))
	routes, neighbors = podRoutes6(t)
	require.Equal(t, map[string]string{peerCIDR6.String(): "fd00:10:10:1::1"}, routes)
	require.Equal(t, []string{"fd00:10:10:1::1 aa:bb:cc:dd:ee:ff"}, neighbors)
	require.Equal(t, "10.10.1.1 onlink", gatewayRoutes(t)["10.10.1.0/24"], "the other family is left alone")

	require.NoError(t, after.DeleteRoutes(peerCIDR6))
	require.NoError(t, after.DeleteRoutes(peerCIDR6), "idempotent")
	routes, neighbors = podRoutes6(t)
	require.Empty(t, routes)
	require.Empty(t, neighbors)
	entries, err := familyIPv6.podSet().entries()
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{localCIDR6}, entries)
}

// IPv6 Pods over IPv4: iptables has only the rules for tunnel packets.
func TestTunnelOfAnotherFamily(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	network, node := testConfigs()
	network.IPv4Enabled, network.IPv6Enabled = false, true
	node.PodIPv4CIDR, node.PodIPv6CIDR = netip.Prefix{}, localCIDR6
	node.Uplink = config.Uplink{IPv4: netip.MustParsePrefix("192.168.77.101/24")}
	c, err := NewClient(network, node, Options{Sysctls: newRecord(t)})
	require.NoError(t, err)
	require.NoError(t, c.Initialize())
	require.NoError(t, c.Initialize(), "again")
	rules := run(t, "iptables-save")
	require.Contains(t, rules, "-A ANTREA-INPUT -p udp")
	require.Contains(t, rules, "-A ANTREA-PREROUTING -d 192.168.77.101/32 -p udp")
	require.NotContains(t, rules, "MASQUERADE")
	require.NotContains(t, rules, "antrea-gw0")
	require.Contains(t, run(t, "ip6tables-save"), "MASQUERADE")
	require.NoError(t, c.AddRoutes(peerCIDR6, "node2", byTunnel, peerGateway6))
	require.ErrorContains(t, c.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway), "want [IPv6]")
	require.NoError(t, c.Reconcile(nil))
	require.NoError(t, c.sync(t.Context()))
}
