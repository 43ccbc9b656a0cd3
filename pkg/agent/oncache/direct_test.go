// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// TestDirectMarks: packets that pass through the gateway's interface are marked while the gateway is an endpoint, and only if the cache knows
// Nodes that are reached directly. When it ceases to be one, the flows of Pods end at once.
func TestDirectMarks(t *testing.T) {
	gateway := Pod{InterfaceName: "antrea-gw0", Gateway: true, IPs: []netip.Addr{netip.MustParseAddr("10.10.1.1")}, OFPort: 2}
	add := func(e *env) {
		require.NoError(t, e.addEndpoint(gateway, "openvswitch", datapath.Endpoint{IfIndex: 99, IPv4: gateway.IPs[0], Gateway: true}))
	}
	marked := func(e *env) map[string]bool {
		all := map[string]bool{}
		for _, m := range e.writeMarks() {
			all[m.InterfaceName] = m.Direct
		}
		return all
	}
	e := newEnv(t)
	e.direct = true
	e.add(t, "a", "10.10.1.2")
	require.Equal(t, map[string]bool{"a": false}, marked(e))
	add(e)
	require.Equal(t, map[string]bool{"a": true, "antrea-gw0": false}, marked(e))
	e.add(t, "b", "10.10.1.3")
	require.Equal(t, map[string]bool{"b": true}, marked(e))
	e.slots.take()
	e.removeEndpoint("antrea-gw0")
	require.Subset(t, e.slots.take(), []string{"publish 0 generation=4 epoch=0", "publish 2 generation=3 epoch=0"})
	require.Equal(t, map[string]bool{"a": false, "b": false}, marked(e))
	add(e)
	require.Equal(t, map[string]bool{"a": true, "b": true, "antrea-gw0": false}, marked(e))

	e = newEnv(t)
	e.add(t, "a", "10.10.1.2")
	add(e)
	require.Equal(t, map[string]bool{"a": false, "antrea-gw0": false}, marked(e))
}

// hasDirect makes a keeper know the Pod network 10.10.2.0/24 of the Node at 192.168.77.12, which is reached directly.
func hasDirect(k *uplinkKeeper) {
	k.direct.present.Store(&[]directNetwork{{netip.MustParsePrefix("10.10.2.0/24"), netip.MustParseAddr("192.168.77.12")}})
}

func TestPoliciesThatCoverDirectPackets(t *testing.T) {
	k := &uplinkKeeper{}
	hasDirect(k)
	policy := func(direction netlink.Dir, src, dst string, change ...func(*ipsecPolicy)) ipsecPolicy {
		p := ipsecPolicy{direction: direction, src: netip.MustParsePrefix(src), dst: netip.MustParsePrefix(dst), priority: 100}
		for _, f := range change {
			f(&p)
		}
		return p
	}
	passes := func(p *ipsecPolicy) { p.passes, p.priority = true, 50 }
	partial := func(p *ipsecPolicy) { p.partial = true }
	const out, fwd, in = netlink.XFRM_DIR_OUT, netlink.XFRM_DIR_FWD, netlink.XFRM_DIR_IN
	every := policy(out, "0.0.0.0/0", "0.0.0.0/0")
	for _, tc := range []struct {
		name     string
		policies []ipsecPolicy
		covered  string
	}{
		{"none", nil, ""},
		{"between the hosts", []ipsecPolicy{policyOut()}, ""},
		{"from Pods to the Node's Pods", []ipsecPolicy{policy(out, "10.10.1.0/24", "10.10.2.0/24")}, "dir out"},
		{"from one Pod to one of the Node's", []ipsecPolicy{policy(out, "10.10.1.7/32", "10.10.2.9/32")}, "dir out"},
		{"forwarded from the Node's Pods", []ipsecPolicy{policy(fwd, "10.10.0.0/16", "0.0.0.0/0")}, "dir fwd"},
		{"forwarded to the Node's Pods", []ipsecPolicy{policy(fwd, "0.0.0.0/0", "10.10.2.0/25")}, "dir fwd"},
		{"received by this Node", []ipsecPolicy{policy(in, "0.0.0.0/0", "0.0.0.0/0")}, ""},
		{"another Node's Pods", []ipsecPolicy{policy(out, "10.10.1.0/24", "10.10.3.0/24")}, ""},
		{"IPv6", []ipsecPolicy{policy(out, "::/0", "::/0")}, ""},
		{"of an xfrm interface", []ipsecPolicy{policy(out, "0.0.0.0/0", "10.10.2.0/24", func(p *ipsecPolicy) { p.interfaceID = 7 })}, ""},
		{"lets packets to the Node's Pods pass first, and not answers", []ipsecPolicy{every, policy(out, "0.0.0.0/0", "10.10.0.0/16", passes)}, "priority 100"},
		{"lets packets to them and answers pass first", []ipsecPolicy{every, policy(out, "0.0.0.0/0", "10.10.0.0/16", passes), policy(out, "10.10.0.0/16", "0.0.0.0/0", passes)}, ""},
		{"lets all pass first, both ways", []ipsecPolicy{every, policy(out, "0.0.0.0/0", "0.0.0.0/0", passes)}, ""},
		{"lets some pass first", []ipsecPolicy{every, policy(out, "0.0.0.0/0", "0.0.0.0/0", passes, partial)}, "dir out"},
		{"lets packets to some of the Pods pass first", []ipsecPolicy{every, policy(out, "0.0.0.0/0", "10.10.2.0/25", passes)}, "dir out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := k.direct.directCoveredBy(tc.policies)
			if tc.covered == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.covered)
		})
	}
}

// TestRoutesToDirectPods: a route that concerns Pods of a Node that is reached directly evicts its flows, and gives it the MTU of the present one,
// or of the gateway's device. Others do not.
func TestRoutesToDirectPods(t *testing.T) {
	k := watchedUplink(t, hasDirect, func(k *uplinkKeeper) {
		ip(t, "link add gw0 type veth peer name gw0p")
		t.Cleanup(func() { ip(t, "link del gw0") })
		k.config.Gateway.Name = "gw0"
	})
	evicts := func(words string) {
		t.Helper()
		before := k.evictedNodes.Load()
		ip(t, words)
		require.Eventually(t, func() bool { return k.evictedNodes.Load() > before }, waitLimit, 10*time.Millisecond, words)
	}
	evicts("route add 10.10.2.0/24 via 192.168.77.12 dev up0")
	evicts("route change 10.10.2.0/24 via 192.168.77.12 dev up0 mtu 1300")
	require.Eventually(t, func() bool { return k.dp.Nodes()[0].MTU == 1300 }, waitLimit, 10*time.Millisecond)
	for _, mtu := range []int{1280, 1290} {
		ip(t, fmt.Sprintf("link set gw0 mtu %d", mtu))
		require.Eventually(t, func() bool { return k.dp.Nodes()[0].MTU == mtu }, waitLimit, 10*time.Millisecond)
	}
	evicts("route add 10.10.2.128/25 via 192.168.77.13 dev up0")
	evicts("route add 10.10.0.0/16 via 192.168.77.13 dev up0")
	// Once the watcher knows of this, it has handled all that came before.
	ip(t, "link set gw0 mtu 1280")
	require.Eventually(t, func() bool { return k.dp.Nodes()[0].MTU == 1280 }, waitLimit, 10*time.Millisecond)
	before := k.evictedNodes.Load()
	ip(t, "route add 10.11.0.0/16 via 192.168.77.13 dev up0")
	evicts("route del 10.10.2.128/25")
	require.LessOrEqual(t, k.evictedNodes.Load(), before+2, "one for the route, one for the path")
}

// TestRoutesThatComeTogether: routes to the Pods of many Nodes may change at once. All flows end, and then the kernel is asked about the Nodes once.
func TestRoutesThatComeTogether(t *testing.T) {
	const count = 64
	var networks []directNetwork
	routes := make(chan netlink.RouteUpdate, count)
	for i := range count {
		n := directNetwork{netip.MustParsePrefix(fmt.Sprintf("10.11.%d.0/24", i)), netip.AddrFrom4([4]byte{192, 168, 77, byte(200 - i)})}
		networks = append(networks, n)
		routes <- netlink.RouteUpdate{Route: netlink.Route{Dst: &net.IPNet{IP: n.prefix.Addr().AsSlice(), Mask: net.CIDRMask(24, 32)}}}
	}
	k := newUplink(t, func(k *uplinkKeeper) { k.config.Gateway.Name = "up0" })
	e := newEnv(t)
	e.direct = true
	for i, n := range networks {
		k.dp.SetNode(i, n.address)
		_, end := e.Begin(coherency.Change{Nodes: []coherency.Node{{Name: n.address.String(), Reach: reach.Reach{Kind: reach.Direct, Address: n.address}, PodCIDRs: []netip.Prefix{n.prefix}}}})
		end(nil)
	}
	k.direct.present.Store(e.directNetworks.present.Load())
	for _, n := range networks {
		require.Equal(t, []directNetwork{n}, k.direct.of(n.address))
	}
	require.Empty(t, k.direct.of(netip.MustParseAddr("192.168.77.201")))
	ip(t, "route add 10.11.0.0/16 via 192.168.77.12 dev up0 mtu 1400")
	w := &uplinkWatch{keeper: k, usable: true, events: &uplinkEvents{routes: routes}, retry: time.NewTicker(time.Hour), tick: time.NewTicker(time.Hour)}
	why, _, err := w.next(nil)
	require.NoError(t, err)
	require.Empty(t, why)
	require.Empty(t, routes)
	require.EqualValues(t, count, k.evictedNodes.Load())
	for _, n := range k.dp.Nodes() {
		require.Equal(t, 1400, n.MTU, n.IP)
	}
}

// TestIPsecOnDirectPacketsSuspends: while an IPsec policy covers packets that the host routes to Pods, nothing takes the fast path.
func TestIPsecOnDirectPacketsSuspends(t *testing.T) {
	k := watchedUplink(t, hasDirect)
	const templates = " tmpl src 192.168.77.12 dst 192.168.77.11 proto esp reqid 1 mode tunnel"
	ip(t, "xfrm policy add src 10.10.2.0/24 dst 10.10.1.0/24 dir fwd"+templates)
	require.Eventually(t, func() bool { return suspendedFor(k) != "" }, waitLimit, 10*time.Millisecond)
	require.Contains(t, suspendedFor(k), "dir fwd")
	ip(t, "xfrm policy flush")
	require.Eventually(t, func() bool { return suspendedFor(k) == "" }, waitLimit, 10*time.Millisecond)
}
