// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// ip runs iproute2.
func ip(t *testing.T, words string) {
	t.Helper()
	out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput()
	require.NoError(t, err, "ip %s: %s", words, out)
}

// tunnel returns Geneve packets between this Node (192.168.77.11, fd00::11) and two others.
func tunnel() *tunnelPackets {
	return &tunnelPackets{
		protocol: unix.IPPROTO_UDP,
		local:    []netip.Addr{netip.MustParseAddr("192.168.77.11"), netip.MustParseAddr("fd00::11")},
		remote:   []netip.Addr{netip.MustParseAddr("192.168.77.12"), netip.MustParseAddr("fd00::12"), netip.MustParseAddr("192.168.77.13")},
		port:     6081, ifIndexes: []int{4, 9},
	}
}

// policyOut returns an IPsec policy for all packets that this Node sends to another.
func policyOut(change ...func(*ipsecPolicy)) ipsecPolicy {
	p := ipsecPolicy{direction: netlink.XFRM_DIR_OUT, src: netip.MustParsePrefix("192.168.77.11/32"), dst: netip.MustParsePrefix("192.168.77.12/32"), priority: 100}
	for _, f := range change {
		f(&p)
	}
	return p
}

func TestPoliciesThatCoverTheTunnel(t *testing.T) {
	prefixes := func(src, dst string) func(*ipsecPolicy) {
		return func(p *ipsecPolicy) { p.src, p.dst = netip.MustParsePrefix(src), netip.MustParsePrefix(dst) }
	}
	in := func(p *ipsecPolicy) { p.direction = netlink.XFRM_DIR_IN }
	protocol := func(n uint8) func(*ipsecPolicy) { return func(p *ipsecPolicy) { p.protocol = n } }
	port := func(n, mask uint16) func(*ipsecPolicy) {
		return func(p *ipsecPolicy) { p.protocol, p.dstPort, p.dstMask = unix.IPPROTO_UDP, n, mask }
	}
	passes := func(p *ipsecPolicy) { p.passes = true }
	partial := func(p *ipsecPolicy) { p.partial = true }
	priority := func(n uint32) func(*ipsecPolicy) { return func(p *ipsecPolicy) { p.priority = n } }
	for _, tc := range []struct {
		name     string
		policies []ipsecPolicy
		covered  string // part of the message; "" when not covered
	}{
		{"none", nil, ""},
		{"between the hosts", []ipsecPolicy{policyOut()}, "src 192.168.77.11/32 dst 192.168.77.12/32 dir out"},
		{"received", []ipsecPolicy{policyOut(in, prefixes("192.168.77.12/32", "192.168.77.11/32"))}, "dir in"},
		{"received, but as if sent", []ipsecPolicy{policyOut(in)}, ""},
		{"forwarded", []ipsecPolicy{policyOut(func(p *ipsecPolicy) { p.direction = netlink.XFRM_DIR_FWD })}, ""},
		{"of a socket", []ipsecPolicy{policyOut(func(p *ipsecPolicy) { p.direction = netlink.XFRM_SOCKET_OUT })}, ""},
		{"everything", []ipsecPolicy{policyOut(prefixes("0.0.0.0/0", "0.0.0.0/0"))}, "0.0.0.0/0"},
		{"the hosts' network", []ipsecPolicy{policyOut(prefixes("192.168.77.0/24", "192.168.0.0/16"))}, "192.168.77.0/24"},
		{"IPv6", []ipsecPolicy{policyOut(prefixes("fd00::/64", "fd00::12/128"))}, "fd00::/64"},
		{"everything of IPv6", []ipsecPolicy{policyOut(prefixes("::/0", "::/0"))}, "::/0"},
		{"the tunnel port", []ipsecPolicy{policyOut(port(6081, 0xffff))}, "dir out"},
		{"some ports, this one among them", []ipsecPolicy{policyOut(port(6080, 0xfff0))}, "dir out"},
		{"some ports, this one not among them", []ipsecPolicy{policyOut(port(6096, 0xfff0))}, ""},
		{"another port", []ipsecPolicy{policyOut(port(4789, 0xffff))}, ""},
		{"UDP", []ipsecPolicy{policyOut(protocol(unix.IPPROTO_UDP))}, "dir out"},
		{"TCP", []ipsecPolicy{policyOut(protocol(unix.IPPROTO_TCP))}, ""},
		{"another host's address", []ipsecPolicy{policyOut(prefixes("192.168.77.99/32", "192.168.77.12/32"))}, ""},
		{"no Node", []ipsecPolicy{policyOut(prefixes("192.168.77.11/32", "10.0.0.0/8"))}, ""},
		{"the Pods' networks", []ipsecPolicy{policyOut(prefixes("10.10.1.0/24", "10.10.2.0/24"))}, ""},
		{"some of the packets", []ipsecPolicy{policyOut(partial)}, "dir out"},
		{"bound to the uplink", []ipsecPolicy{policyOut(partial, func(p *ipsecPolicy) { p.ifIndex = 4 })}, "dir out"},
		{"bound to the uplink's master", []ipsecPolicy{policyOut(partial, func(p *ipsecPolicy) { p.ifIndex = 9 })}, "dir out"},
		{"bound to another device", []ipsecPolicy{policyOut(partial, func(p *ipsecPolicy) { p.ifIndex = 5 })}, ""},
		{"of an xfrm interface", []ipsecPolicy{policyOut(func(p *ipsecPolicy) { p.interfaceID = 7 })}, ""},
		{"lets packets pass", []ipsecPolicy{policyOut(passes)}, ""},
		{"lets tunnel packets pass before all others are encrypted", []ipsecPolicy{
			policyOut(prefixes("0.0.0.0/0", "0.0.0.0/0"), priority(200)), policyOut(passes, prefixes("0.0.0.0/0", "0.0.0.0/0"), port(6081, 0xffff))}, ""},
		{"lets only packets to one Node pass", []ipsecPolicy{
			policyOut(prefixes("0.0.0.0/0", "0.0.0.0/0"), priority(200)), policyOut(passes)}, "to 192.168.77.13"},
		{"lets some of them pass only", []ipsecPolicy{policyOut(priority(200)), policyOut(passes, partial)}, "priority 200"},
		{"would let them pass too late", []ipsecPolicy{policyOut(passes, priority(200)), policyOut()}, "priority 100"},
		{"lets them pass at the same priority", []ipsecPolicy{policyOut(passes), policyOut()}, "dir out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tunnel().coveredBy(tc.policies)
			if tc.covered == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.covered)
		})
	}
}

// TestPoliciesOfThisKernel reads policies made by iproute2.
func TestPoliciesOfThisKernel(t *testing.T) {
	sandbox.RequireRoot(t)
	const template = " tmpl src 192.168.77.11 dst 192.168.77.12 proto esp reqid 1 mode tunnel"
	prefix := netip.MustParsePrefix
	for _, tc := range []struct {
		words string
		want  ipsecPolicy
	}{
		{"src 192.168.77.11 dst 192.168.77.0/24 proto udp dport 6081 dir out priority 5" + template, ipsecPolicy{
			direction: netlink.XFRM_DIR_OUT, src: prefix("192.168.77.11/32"), dst: prefix("192.168.77.0/24"), protocol: unix.IPPROTO_UDP,
			dstPort: 6081, dstMask: 0xffff, priority: 5}},
		// netlink.XfrmPolicyList takes this for an IPv4 network.
		{"src fd00::/16 dst ::/0 dir in action block", ipsecPolicy{direction: netlink.XFRM_DIR_IN, src: prefix("fd00::/16"), dst: prefix("::/0")}},
		{"src 0.0.0.0/0 dst 0.0.0.0/0 dir fwd action block", ipsecPolicy{direction: netlink.XFRM_DIR_FWD, src: prefix("0.0.0.0/0"), dst: prefix("0.0.0.0/0")}},
		{"src 0.0.0.0/0 dst 0.0.0.0/0 dir out action allow", ipsecPolicy{direction: netlink.XFRM_DIR_OUT, src: prefix("0.0.0.0/0"), dst: prefix("0.0.0.0/0"), passes: true}},
		{"src 0.0.0.0/0 dst 0.0.0.0/0 proto udp sport 500 dev lo dir out", ipsecPolicy{direction: netlink.XFRM_DIR_OUT, src: prefix("0.0.0.0/0"), dst: prefix("0.0.0.0/0"),
			protocol: unix.IPPROTO_UDP, ifIndex: 1, partial: true, passes: true}},
		{"src 0.0.0.0/0 dst 0.0.0.0/0 dir out mark 1 mask 0xff if_id 7" + template, ipsecPolicy{direction: netlink.XFRM_DIR_OUT, src: prefix("0.0.0.0/0"), dst: prefix("0.0.0.0/0"),
			partial: true, interfaceID: 7}},
	} {
		t.Run(tc.words, func(t *testing.T) {
			ip(t, "xfrm policy add "+tc.words)
			defer ip(t, "xfrm policy flush")
			policies, err := readIPsecPolicies()
			require.NoError(t, err)
			require.Equal(t, []ipsecPolicy{tc.want}, policies)
		})
	}
	t.Run("a socket's", func(t *testing.T) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		info := make([]byte, 168) // struct xfrm_userpolicy_info
		info[40] = unix.AF_INET   // of the selector
		info[160] = byte(netlink.XFRM_DIR_OUT)
		require.NoError(t, unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_XFRM_POLICY, string(info)))
		policies, err := readIPsecPolicies()
		require.NoError(t, err)
		require.Empty(t, policies)
	})
	t.Run("default", func(t *testing.T) {
		ip(t, "xfrm policy setdefault in block out accept")
		defer ip(t, "xfrm policy setdefault in accept out accept")
		policies, err := readIPsecPolicies()
		require.NoError(t, err)
		require.Len(t, policies, 2)
		require.ErrorContains(t, tunnel().coveredBy(policies), "dir in")
	})
}
