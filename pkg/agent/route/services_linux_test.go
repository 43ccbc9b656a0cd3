// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

var (
	nodeAddress = netip.MustParseAddr("192.168.77.101")
	clusterIP   = netip.MustParseAddr("10.96.0.10")
	externalIP  = netip.MustParseAddr("203.0.113.10")
)

// servicePort is port 80 over TCP at the addresses, which are external ones except clusterIP, and the NodePort.
func servicePort(nodePort uint16, addresses ...netip.Addr) ServicePort {
	p := ServicePort{Protocol: unix.IPPROTO_TCP, Port: 80, NodePort: nodePort}
	for _, a := range addresses {
		if a == clusterIP {
			p.ClusterIPs = append(p.ClusterIPs, a)
		} else {
			p.External = append(p.External, a)
		}
	}
	return p
}

// hostState is the state of the kernel for Services.
func hostState(t *testing.T) (state []string) {
	t.Helper()
	for destination, via := range gatewayRoutes(t) {
		state = append(state, "route "+destination+" "+via)
	}
	entries, err := familyIPv4.nodePortSet().ports()
	if err == nil {
		for e := range entries {
			state = append(state, "NodePort "+e.String())
		}
	}
	if entries, err = familyIPv4.serviceSet().ports(); err == nil {
		for e := range entries {
			if e.protocol != unix.IPPROTO_ICMP {
				state = append(state, "Service "+e.String())
			}
		}
	}
	slices.Sort(state)
	return state
}

const (
	ownRoute     = "route 10.10.0.0/24 connected"
	nextHopRoute = "route 169.254.0.253/32 connected"
	nodePortDst  = "route 169.254.0.252/32 169.254.0.253 onlink"
	clusterRoute = "route 10.96.0.10/32 169.254.0.253 onlink"
	outsideEntry = "Service 203.0.113.10:80, IP protocol 6"
	nodePort80   = "NodePort 192.168.77.101:30080, IP protocol 6"
	nodePort81   = "NodePort 192.168.77.101:30081, IP protocol 6"
)

// The rules as ip(8) prints them.
const (
	ordinaryRules = "0:\tfrom all lookup local\n32766:\tfrom all lookup main\n32767:\tfrom all lookup default\n"
	serviceRules  = "0:\tfrom all fwmark 0xff/0xff lookup 170 proto 170\n" + ordinaryRules
)

// without returns the rest of all.
func without(all []string, gone ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(gone, s) })
}

func TestServicesOfTheHost(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			newNetNS(t)
			newGateway(t)
			plain := newTestClient(t, Options{})
			require.NoError(t, plain.Initialize())
			before, rulesBefore := hostState(t), savedRules(t)
			require.Equal(t, ordinaryRules, run(t, "ip", "rule"))

			c := newTestClient(t, Options{ProxyAll: true})
			require.NoError(t, c.Initialize())
			once := savedRules(t)
			require.Contains(t, strings.Join(once, "\n"), "--match-set ANTREA-NODEPORT-IP dst,dst -j DNAT --to-destination 169.254.0.252")
			require.NoError(t, c.Initialize())
			require.Empty(t, cmp.Diff(once, savedRules(t)), "two Initialize calls give the same rules as one")
			require.Equal(t, serviceRules, run(t, "ip", "rule"))
			require.NoError(t, c.SetNodePortAddresses([]netip.Addr{nodeAddress, netip.MustParseAddr("fd00:77::101")}))
			base := []string{ownRoute, nextHopRoute, nodePortDst}
			for _, step := range []struct {
				name string
				do   func() error
				want []string
			}{
				{"a port", func() error { return c.SetServicePort("a", servicePort(30080, clusterIP)) }, append(base, clusterRoute, nodePort80)},
				{"another one with the address", func() error { return c.SetServicePort("b", servicePort(30081, clusterIP, externalIP)) },
					append(base, clusterRoute, outsideEntry, nodePort80, nodePort81)},
				{"the first one changes", func() error { return c.SetServicePort("a", servicePort(0, externalIP)) }, append(base, clusterRoute, outsideEntry, nodePort81)},
				{"a sync", func() error { return c.sync(t.Context()) }, append(base, clusterRoute, outsideEntry, nodePort81)},
				{"no addresses for NodePorts", func() error { return c.SetNodePortAddresses(nil) }, append(base, clusterRoute, outsideEntry, nodePort81)},
				{"all Services are known", c.ReconcileServices, append(base, clusterRoute, outsideEntry)},
				{"addresses for NodePorts", func() error { return c.SetNodePortAddresses([]netip.Addr{nodeAddress}) }, append(base, clusterRoute, outsideEntry, nodePort81)},
				{"the second one is removed", func() error { return c.DeleteServicePort("b") }, append(base, outsideEntry)},
				{"again", func() error { return c.DeleteServicePort("b") }, append(base, outsideEntry)},
				{"the first one is removed", func() error { return c.DeleteServicePort("a") }, base},
			} {
				require.NoError(t, step.do(), step.name)
				require.ElementsMatch(t, step.want, hostState(t), step.name)
			}
			require.Empty(t, c.stacks[0].services.ports)
			require.Empty(t, c.stacks[0].services.users)

			off := newTestClient(t, Options{})
			require.NoError(t, off.Initialize())
			require.NoError(t, off.Reconcile(nil))
			require.Empty(t, cmp.Diff(rulesBefore, savedRules(t)))
			require.Equal(t, before, hostState(t))
			link, err := gatewayLink("antrea-gw0")
			require.NoError(t, err)
			neighbors, err := netlink.NeighList(link, unix.AF_INET)
			require.NoError(t, err)
			require.Empty(t, neighbors)
			for _, set := range []ipset{familyIPv4.nodePortSet(), familyIPv4.serviceSet()} {
				_, err = set.list()
				require.ErrorIs(t, err, unix.ENOENT, set.name)
			}
			require.Equal(t, ordinaryRules, run(t, "ip", "rule"))
			require.Empty(t, run(t, "ip", "route", "show", "table", "170"))
		})
	}
}

// Removed parts come back. Parts of Services that have gone stay until all are known.
func TestServicesAfterRestart(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	former := newTestClient(t, Options{ProxyAll: true})
	require.NoError(t, former.Initialize())
	require.NoError(t, former.SetNodePortAddresses([]netip.Addr{nodeAddress}))
	require.NoError(t, former.SetServicePort("gone", servicePort(30080, clusterIP)))
	require.NoError(t, former.SetServicePort("stays", servicePort(30081, externalIP)))
	all := hostState(t)

	c := newTestClient(t, Options{ProxyAll: true})
	require.NoError(t, c.Initialize())
	require.NoError(t, c.SetNodePortAddresses([]netip.Addr{nodeAddress}))
	require.NoError(t, c.Reconcile(nil))
	require.NoError(t, c.SetServicePort("stays", servicePort(30081, externalIP)))
	require.NoError(t, c.sync(t.Context()))
	require.Equal(t, all, hostState(t))
	require.NoError(t, c.ReconcileServices())
	want := without(all, clusterRoute, nodePort80)
	require.Equal(t, want, hostState(t))

	require.NoError(t, familyIPv4.serviceSet().removePort(portEntry{externalIP, unix.IPPROTO_TCP, 80}))
	run(t, "ip", "rule", "del", "pref", "0", "table", "170")
	for _, r := range []string{"169.254.0.252", "169.254.0.253"} {
		run(t, "ip", "route", "del", r, "dev", "antrea-gw0")
	}
	run(t, "ip", "neighbor", "del", "169.254.0.253", "dev", "antrea-gw0")
	require.NoError(t, familyIPv4.nodePortSet().removePort(portEntry{nodeAddress, unix.IPPROTO_TCP, 30081}))
	require.NotEqual(t, want, hostState(t))
	require.NoError(t, c.sync(t.Context()))
	require.Equal(t, want, hostState(t))
	require.Equal(t, serviceRules, run(t, "ip", "rule"))
	require.Contains(t, run(t, "ip", "neighbor", "show", "dev", "antrea-gw0"), "169.254.0.253 lladdr aa:bb:cc:dd:ee:ff PERMANENT")
}

// A port whose change fails keeps what it has, and gets the rest by repetition.
func TestServicePortFails(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	require.NoError(t, netlink.IpsetCreate("ANTREA-NODEPORT-IP", typePorts, netlink.IpsetCreateOptions{Family: unix.AF_INET, MaxElements: 1}))
	c := newTestClient(t, Options{ProxyAll: true})
	require.NoError(t, c.Initialize())
	require.NoError(t, c.SetNodePortAddresses([]netip.Addr{nodeAddress}))
	require.NoError(t, c.SetServicePort("a", servicePort(30080, clusterIP)))
	require.ErrorContains(t, c.SetServicePort("a", servicePort(30081, externalIP)),
		"Service port a to the bridge: add 192.168.77.101:30081, IP protocol 6 to ipset ANTREA-NODEPORT-IP")
	require.Subset(t, hostState(t), []string{clusterRoute, outsideEntry, nodePort80})
	require.NoError(t, c.SetServicePort("a", servicePort(0, externalIP)))
	require.NotContains(t, hostState(t), clusterRoute)
	require.NoError(t, c.SetServicePort("a", servicePort(30081, externalIP)))
	require.Equal(t, 1, c.stacks[0].services.users[hostItem{externalIP, unix.IPPROTO_TCP, 80}])
	require.Equal(t, 1, c.stacks[0].services.users[hostItem{protocol: unix.IPPROTO_TCP, port: 30081}])
	require.Zero(t, c.stacks[0].services.users[hostItem{address: clusterIP}])
	require.Contains(t, hostState(t), nodePort81)

	require.ErrorContains(t, c.SetServicePort("six", ServicePort{IPv6: true}), "needs proxyAll, and Pods of its IP version (IPv6 true)")
	require.ErrorContains(t, newTestClient(t, Options{}).SetServicePort("a", ServicePort{}), "needs proxyAll")
}

// The firewall lets health checks of Services through, at the addresses that serve NodePorts, also when an entry was removed.
func TestHealthCheckPorts(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	c := newTestClient(t, Options{ProxyAll: true})
	require.NoError(t, c.Initialize())
	require.Contains(t, strings.Join(savedRules(t), "\n"), "-A ANTREA-INPUT -p tcp -m comment --comment \"Antrea: accept health checks of Services\" -m set --match-set ANTREA-HEALTH-IP dst,dst -j ACCEPT")
	set := familyIPv4.healthPortSet()
	const at80, at81 = "192.168.77.101:30080, IP protocol 6", "192.168.77.101:30081, IP protocol 6"
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"no addresses yet", func() error { return c.OpenHealthCheckPort(30080) }, nil},
		{"addresses", func() error { return c.SetNodePortAddresses([]netip.Addr{nodeAddress}) }, []string{at80}},
		{"another one", func() error { return c.OpenHealthCheckPort(30081) }, []string{at80, at81}},
		{"again", func() error { return c.OpenHealthCheckPort(30081) }, []string{at80, at81}},
		{"an entry is missing", func() error {
			return errors.Join(set.removePort(healthEntry(nodeAddress, 30081)), c.sync(t.Context()))
		}, []string{at80, at81}},
		{"closed", func() error { return c.CloseHealthCheckPort(30080) }, []string{at81}},
		{"closed again", func() error { return c.CloseHealthCheckPort(30080) }, []string{at81}},
		{"an entry of a former agent", func() error { return set.addPort(healthEntry(nodeAddress, 30080)) }, []string{at80, at81}},
		{"a sync before all Services are known", func() error { return c.sync(t.Context()) }, []string{at80, at81}},
		{"all Services are known", c.ReconcileServices, []string{at81}},
	} {
		require.NoError(t, step.do(), step.name)
		entries, err := set.ports()
		require.NoError(t, err)
		var have []string
		for e := range entries {
			have = append(have, e.String())
		}
		require.ElementsMatch(t, step.want, have, step.name)
	}
	off := newTestClient(t, Options{})
	require.NoError(t, off.Initialize())
	_, err := set.list()
	require.ErrorIs(t, err, unix.ENOENT)
}
