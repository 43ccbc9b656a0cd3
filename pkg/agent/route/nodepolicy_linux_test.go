// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

func tcpPorts(ports ...uint16) (services []NodePolicyService) {
	for _, port := range ports {
		services = append(services, NodePolicyService{Protocol: unix.IPPROTO_TCP, Ports: &PortRange{port, port}})
	}
	return services
}

// everyNodePolicyRule uses each field, and every kind of match.
func everyNodePolicyRule() []NodePolicyRule {
	prefixes := func(texts ...string) (all []netip.Prefix) {
		for _, text := range texts {
			all = append(all, netip.MustParsePrefix(text))
		}
		return all
	}
	kind, code := uint8(8), uint8(0)
	icmp := []NodePolicyService{{Protocol: unix.IPPROTO_ICMP, ICMPType: &kind, ICMPCode: &code}, {Protocol: unix.IPPROTO_ICMP, ICMPType: &kind}, {Protocol: unix.IPPROTO_ICMP}}
	sctp := []NodePolicyService{{Protocol: unix.IPPROTO_SCTP, Ports: &PortRange{80, 90}, SourcePorts: &PortRange{1, 65535}}, {Protocol: unix.IPPROTO_SCTP}}
	source := []NodePolicyService{{Protocol: unix.IPPROTO_TCP, SourcePorts: &PortRange{1000, 2000}}, {Protocol: unix.IPPROTO_UDP, Ports: &PortRange{53, 53}}}
	return []NodePolicyRule{
		{ID: "0123456789ABCDEF", Comment: "for rule " + strings.Repeat("long ", 100), Direction: policy.Ingress, Action: policy.Drop, Peers: prefixes("10.0.0.1/32", "10.1.0.0/16", "2001:db8::/64", "2001:db8:1::1/128"), Services: tcpPorts(80, 81), LogPrefix: "Antrea:I:Drop:a label that is too long"},
		{ID: "1", Comment: "one address", Direction: policy.Ingress, Action: policy.Allow, Peers: prefixes("10.0.0.1/32", "2001:db8::1/128")},
		{ID: "2", Comment: "all", Direction: policy.Egress, Action: policy.Reject, Peers: prefixes("0.0.0.0/0", "10.0.0.0/8", "::/0"), Services: icmp},
		{ID: "3", Comment: "passes", Direction: policy.Egress, Action: policy.Pass, Peers: prefixes("0.0.0.0/0", "::/0"), Services: sctp},
		{ID: "4", Comment: "only IPv6", Direction: policy.Ingress, Action: policy.Drop, Baseline: true, Peers: prefixes("2001:db8::1/128")},
		{ID: "5", Comment: "quoted \"name\" \\ in\n-A two\x00lines\r", Direction: policy.Egress, Action: policy.Drop, Baseline: true, Peers: prefixes("0.0.0.0/0", "::/0"), Services: source},
		{ID: "6", Comment: "no peers", Direction: policy.Ingress, Action: policy.Drop},
	}
}

func newNodePolicyClient(t *testing.T) *Client { return newTestClient(t, Options{NodePolicies: true}) }

// TestNodePolicyRules: the kernel accepts every kind of rule, setting them again changes nothing, damage is repaired, a new agent keeps them until
// it knows better, superfluous ones go, and an agent without Node policies removes all.
func TestNodePolicyRules(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			newNetNS(t)
			newGateway(t)
			require.NoError(t, newTestClient(t, Options{}).Initialize())
			without := savedRules(t)

			c := newNodePolicyClient(t)
			require.NoError(t, c.Initialize())
			require.NoError(t, c.SetNodePolicyRules(t.Context(), everyNodePolicyRule()))
			once := savedRules(t)
			text := strings.Join(once, "\n")
			for _, want := range []string{
				"-m set --match-set ANTREA-POL-0123456789ABCDEF-4 src -j ANTREA-POL-0123456789ABCDEF", `--log-prefix "Antrea:I:Drop:a label that is"`,
				"-A ANTREA-POL-0123456789ABCDEF -p tcp", "-A ANTREA-POL-INGRESS-RULES -s 10.0.0.1/32", "-j RETURN", "--icmp-type 8/0", "-p sctp",
			} {
				require.Contains(t, text, want)
			}
			require.NotContains(t, text, "only IPv6")
			require.NotContains(t, text, "no peers")
			require.NoError(t, c.SetNodePolicyRules(t.Context(), everyNodePolicyRule()))
			require.Empty(t, cmp.Diff(once, savedRules(t)), "again")

			run(t, "iptables", "-F", "ANTREA-POL-INGRESS-RULES")
			require.NoError(t, c.sync(t.Context()))
			require.Empty(t, cmp.Diff(once, savedRules(t)), "damage")

			next := newNodePolicyClient(t)
			require.NoError(t, next.Initialize())
			require.NoError(t, next.sync(t.Context()))
			require.Empty(t, cmp.Diff(once, savedRules(t)), "a new agent that does not know the policies yet")
			require.NoError(t, next.SetNodePolicyRules(t.Context(), everyNodePolicyRule()[1:]))
			require.NotContains(t, strings.Join(savedRules(t), "\n"), "0123456789ABCDEF")
			sets, err := familyIPv4.policySets()
			require.NoError(t, err)
			require.Empty(t, sets)

			require.NoError(t, newTestClient(t, Options{}).Initialize())
			require.Empty(t, cmp.Diff(without, savedRules(t)), "gate off")
		})
	}
}

// TestNodePolicyIPv6: ip6tables accepts the rules of IPv6.
func TestNodePolicyIPv6(t *testing.T) {
	newNetNS(t)
	p, err := newNodePolicy(familyIPv6, everyNodePolicyRule())
	require.NoError(t, err)
	params := geneveParams()
	params.nodePolicies, params.nodePolicy, params.podCIDR, params.transport, params.icmp = true, p, netip.Prefix{}, netip.Addr{}, familyIPv6.icmpName
	for name, entries := range p.sets {
		require.NoError(t, ipset{familyIPv6, name, typeNetworks}.sync(entries))
	}
	w, err := newFirewall(familyIPv6, params)
	require.NoError(t, err)
	w.tables = slices.DeleteFunc(w.tables, func(t table) bool { return t.name != tableFilter })
	require.NoError(t, w.restoreChains(t.Context()))
}

// TestInvalidNodePolicyRules: a rule that cannot be rendered changes nothing.
func TestInvalidNodePolicyRules(t *testing.T) {
	all := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	good := NodePolicyRule{ID: "1", Direction: policy.Ingress, Action: policy.Drop, Peers: all}
	for name, change := range map[string]func(*NodePolicyRule){
		"id":        func(r *NodePolicyRule) { r.ID = "0123456789ABCDEF0" },
		"no id":     func(r *NodePolicyRule) { r.ID = "" },
		"action":    func(r *NodePolicyRule) { r.Action = 0 },
		"direction": func(r *NodePolicyRule) { r.Direction = 0 },
		"protocol":  func(r *NodePolicyRule) { r.Services = []NodePolicyService{{Protocol: unix.IPPROTO_IGMP}} },
	} {
		bad := good
		change(&bad)
		_, err := newNodePolicy(familyIPv4, []NodePolicyRule{good, bad})
		require.ErrorContains(t, err, strings.TrimPrefix(name, "no "), name)
	}
}

// TestRefusedNodePolicyRules: a rule that IPv6 refuses changes nothing in IPv4 either, and a trial of any rules leaves no trace.
func TestRefusedNodePolicyRules(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			newNetNS(t)
			newGateway6(t)
			network, node := testConfigs()
			network.IPv6Enabled, node.PodIPv6CIDR = true, localCIDR6
			c, err := NewClient(network, node, Options{Sysctls: newRecord(t), NodePolicies: true})
			require.NoError(t, err)
			require.NoError(t, c.Initialize())
			good := everyNodePolicyRule()
			require.NoError(t, c.SetNodePolicyRules(t.Context(), good))
			state := func() string { return strings.Join(savedRules(t), "\n") + run(t, "ip6tables-save", "-t", "filter") }
			once := savedRules(t)
			require.NoError(t, c.TryNodePolicyRules(t.Context(), good))
			require.NoError(t, c.TryNodePolicyRules(t.Context(), nil))
			require.Empty(t, cmp.Diff(once, savedRules(t)), "trial")
			require.NotContains(t, state(), chainTrial)

			bad := slices.Clone(good[1:])
			bad[3].Services = []NodePolicyService{{Protocol: unix.IPPROTO_TCP, Ports: &PortRange{90, 80}}}
			require.ErrorContains(t, c.TryNodePolicyRules(t.Context(), bad), "ip6tables-restore", "only IPv6")
			require.ErrorContains(t, c.SetNodePolicyRules(t.Context(), bad), "ip6tables-restore")
			require.Empty(t, cmp.Diff(once, savedRules(t)), "refused")
			require.NotContains(t, state(), chainTrial)
			require.Contains(t, state(), "only IPv6")
		})
	}
}

// dialHost connects from the peer to a port of the host, and returns "connected", "refused" or "timeout". The first two have time on a busy machine if
// one of them is wanted.
func dialHost(t *testing.T, home, peer netns.NsHandle, port, want string) string {
	t.Helper()
	limit := 20 * time.Second
	if want == "timeout" {
		limit = 300 * time.Millisecond
	}
	require.NoError(t, netns.Set(peer))
	defer func() { require.NoError(t, netns.Set(home)) }()
	c, err := net.DialTimeout("tcp4", "10.10.0.1:"+port, limit)
	if err == nil {
		require.NoError(t, c.Close())
		return "connected"
	}
	if errors.Is(err, unix.ECONNREFUSED) {
		return "refused"
	}
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), err)
	return "timeout"
}

// TestNodePolicyPackets: connections to the host's programs get the verdict of the first rule, and open ones stay.
func TestNodePolicyPackets(t *testing.T) {
	home := newNetNS(t)
	device := newGateway(t)
	peer, err := newPeerNetNS(device, home)
	require.NoError(t, err)
	require.NoError(t, netlink.RouteAdd(&netlink.Route{LinkIndex: device.Attrs().Index, Dst: toIPNet(localCIDR)}))
	require.NoError(t, netns.Set(home))
	gateway, err := netlink.LinkByName("antrea-gw0")
	require.NoError(t, err)
	require.NoError(t, netlink.RouteAdd(&netlink.Route{LinkIndex: gateway.Attrs().Index, Dst: toIPNet(peerCIDR)}))
	c := newNodePolicyClient(t)
	require.NoError(t, c.Initialize())
	listener, err := net.Listen("tcp4", "10.10.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	accepted := make(chan net.Conn, 100)
	inNetNS(home, func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.Equal(t, "connected", dialHost(t, home, peer, port, "connected"))
	require.NoError(t, netns.Set(peer))
	open, err := net.Dial("tcp4", listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, netns.Set(home))
	<-accepted
	served := <-accepted

	number := uint16(listener.Addr().(*net.TCPAddr).Port)
	rule := func(id string, action policy.Action, baseline bool, peers ...netip.Prefix) NodePolicyRule {
		return NodePolicyRule{ID: id, Comment: id, Direction: policy.Ingress, Action: action, Baseline: baseline, Peers: peers, Services: tcpPorts(number, 1)}
	}
	other := netip.MustParsePrefix("10.99.0.0/16")
	for _, tc := range []struct {
		name  string
		rules []NodePolicyRule
		want  string
	}{
		{"drop", []NodePolicyRule{rule("A", policy.Drop, false, peerCIDR, other)}, "timeout"},
		{"reject", []NodePolicyRule{rule("A", policy.Reject, false, peerCIDR)}, "refused"},
		{"first one decides", []NodePolicyRule{rule("A", policy.Allow, false, peerCIDR), rule("B", policy.Drop, false, peerCIDR)}, "connected"},
		{"another source", []NodePolicyRule{rule("A", policy.Drop, false, other)}, "connected"},
		{"baseline is last", []NodePolicyRule{rule("A", policy.Drop, true, peerCIDR), rule("B", policy.Allow, false, peerCIDR)}, "connected"},
		{"passes to the baseline", []NodePolicyRule{rule("A", policy.Pass, false, peerCIDR), rule("B", policy.Allow, false, peerCIDR), rule("C", policy.Drop, true, peerCIDR)}, "timeout"},
		{"passes", []NodePolicyRule{rule("A", policy.Pass, false, peerCIDR), rule("B", policy.Drop, false, peerCIDR)}, "connected"},
	} {
		require.NoError(t, c.SetNodePolicyRules(t.Context(), tc.rules), tc.name)
		require.Equal(t, tc.want, dialHost(t, home, peer, port, tc.want), "%s:\n%s", tc.name, strings.Join(savedRules(t), "\n"))
		_, err := open.Write([]byte{1})
		require.NoError(t, err)
		require.NoError(t, served.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err = served.Read(make([]byte, 1))
		require.NoError(t, err, "%s: an open connection", tc.name)
	}
}
