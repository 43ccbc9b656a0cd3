// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func needsBothVariants(t *testing.T) {
	t.Helper()
	for _, program := range []string{"iptables-nft", "iptables-legacy", "ip6tables-nft", "ip6tables-legacy"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs program %s", program)
		}
	}
}

// TestVariantOfTheNode: the agent uses the iptables that the Node uses.
func TestVariantOfTheNode(t *testing.T) {
	needsBothVariants(t)
	for name, tc := range map[string]struct {
		node []string
		want variant
	}{
		"nothing, so what is installed":      {nil, variantNFT},
		"kubelet's hint":                     {[]string{"iptables-legacy -t mangle -N KUBE-IPTABLES-HINT", "iptables-nft -A INPUT -j DROP"}, variantLegacy},
		"kubelet's hint in the other family": {[]string{"ip6tables-legacy -t mangle -N KUBE-KUBELET-CANARY", "iptables-nft -A INPUT -j DROP"}, variantLegacy},
		"hints in both":                      {[]string{"iptables-legacy -t mangle -N KUBE-IPTABLES-HINT", "iptables-nft -t mangle -N KUBE-KUBELET-CANARY"}, variantNFT},
		"more rules":                         {[]string{"iptables-legacy -A INPUT -j ACCEPT", "iptables-legacy -A INPUT -j DROP", "iptables-nft -A INPUT -j DROP"}, variantLegacy},
		"more rules in the other family":     {[]string{"ip6tables-legacy -A INPUT -j ACCEPT"}, variantLegacy},
		"fewer rules":                        {[]string{"iptables-legacy -A INPUT -j ACCEPT", "iptables-nft -A INPUT -j ACCEPT", "iptables-nft -A INPUT -j DROP"}, variantNFT},
		"rules of ours": {[]string{"iptables-nft -N ANTREA-INPUT", "iptables-nft -A ANTREA-INPUT -j ACCEPT", "iptables-nft -A INPUT -j ANTREA-INPUT",
			"iptables-legacy -A INPUT -j ACCEPT"}, variantLegacy},
	} {
		t.Run(name, func(t *testing.T) {
			useBackend(t, "nft")
			newNetNS(t)
			for _, command := range tc.node {
				args := strings.Fields(command)
				run(t, args[0], args[1:]...)
			}
			for _, f := range []family{familyIPv4, familyIPv6} {
				require.Equal(t, tc.want, f.chooseVariant(t.Context()), f.name)
			}
		})
	}
}

// TestKernelWithoutIPv6: an agent of a network with IPv4 does not need ip6tables.
func TestKernelWithoutIPv6(t *testing.T) {
	needsBothVariants(t)
	useBackend(t, "nft")
	newNetNS(t)
	newGateway(t)
	dir := t.TempDir()
	for _, v := range []variant{variantNFT, variantLegacy} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, familyIPv6.program(v, "-save")), []byte("#!/bin/sh\nexit 3\n"), 0o755))
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	require.NoError(t, newTestClient(t, Options{}).Initialize())
}

// TestRulesFollowTheVariant: what a former agent has made with the other iptables goes.
func TestRulesFollowTheVariant(t *testing.T) {
	needsBothVariants(t)
	useBackend(t, "nft")
	newNetNS(t)
	newGateway(t)
	require.NoError(t, newTestClient(t, Options{}).Initialize())
	require.Contains(t, run(t, "iptables-nft-save"), "ANTREA-POSTROUTING")
	require.NotContains(t, run(t, "iptables-legacy-save"), "ANTREA-")

	run(t, "iptables-legacy", "-t", "mangle", "-N", "KUBE-IPTABLES-HINT")
	run(t, "iptables-nft", "-A", "INPUT", "-s", "203.0.113.1/32", "-j", "DROP")
	var marked []string
	c := newTestClient(t, Options{ForeignMarks: ForeignMarks{Bits: 1, Found: func(_ string, rules []string) { marked = rules }}})
	require.NoError(t, c.Initialize())
	require.Contains(t, run(t, "iptables-legacy-save"), "ANTREA-POSTROUTING")
	require.NotContains(t, run(t, "iptables-nft-save"), "ANTREA-")
	require.Contains(t, run(t, "iptables-nft-save"), "-A INPUT -s 203.0.113.1/32 -j DROP")
	require.Empty(t, marked)

	run(t, "iptables-nft", "-t", "mangle", "-A", "FORWARD", "-j", "MARK", "--set-xmark", "0x1/0x1")
	require.NoError(t, c.Initialize())
	require.Len(t, marked, 1, "a packet meets the rules of both")
	left, err := Leftovers(t.Context())
	require.NoError(t, err)
	for _, item := range left {
		require.NoError(t, item.Remove(), item.Name)
	}
	require.NotContains(t, run(t, "iptables-legacy-save")+run(t, "iptables-nft-save"), "ANTREA-")
}

// TestOtherVariantDrops: packets that the agent accepts pass, whichever iptables has the policy DROP.
func TestOtherVariantDropsIPv4(t *testing.T) { testOtherVariantDrops(t, injectionIPv4) }
func TestOtherVariantDropsIPv6(t *testing.T) { testOtherVariantDrops(t, injectionIPv6) }

func testOtherVariantDrops(t *testing.T, n injectionNet) {
	needsBothVariants(t)
	b := newInjectionBed(t, n, testTunnelPort)
	legacy := n.iptables + "-legacy"
	for _, chain := range []string{"FORWARD", "INPUT", "OUTPUT"} {
		run(t, legacy, "-P", chain, "DROP")
	}
	if n.podCIDR.Addr().Is6() {
		for _, chain := range []string{"INPUT", "OUTPUT"} { // neighbor discovery
			run(t, legacy, "-A", chain, "-p", "icmpv6", "-j", "ACCEPT")
		}
	}
	require.NoError(t, b.client.Initialize())
	require.Equal(t, "arrived", b.send(t, n.pod, n.host, b.port, 0), "a Pod to the outside")
	require.Equal(t, "arrived", b.send(t, n.node2, n.transport, b.port, 0), "the tunnel")
	saved := run(t, legacy+"-save")
	require.NotContains(t, saved, "*nat", "only table filter")
	require.NoError(t, b.client.Initialize())
	require.Equal(t, strings.Count(saved, "-A "), strings.Count(run(t, legacy+"-save"), "-A "), "nothing twice")

	for _, chain := range []string{"FORWARD", "INPUT", "OUTPUT"} {
		run(t, legacy, "-P", chain, "ACCEPT")
	}
	require.NoError(t, b.client.Initialize())
	require.NotContains(t, run(t, legacy+"-save"), "ANTREA-")
}

// TestOtherVariantIsWatched: a policy DROP that comes later, as when another program is restarted, and rules that others remove, are noticed.
func TestOtherVariantIsWatched(t *testing.T) {
	needsBothVariants(t)
	useBackend(t, "nft")
	newNetNS(t)
	newGateway(t)
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	look := func() {
		t.Helper()
		for _, s := range c.stacks {
			s.firewall.kept.otherSeen = s.firewall.kept.otherSeen.Add(-blindInterval)
		}
		require.NoError(t, c.look(t.Context()))
	}
	look()
	require.NotContains(t, run(t, "iptables-legacy-save"), "ANTREA-")
	for _, change := range []string{"-P FORWARD DROP", "-F FORWARD"} {
		run(t, "iptables-legacy", strings.Fields(change)...)
		look()
		require.Contains(t, run(t, "iptables-legacy-save"), "-A FORWARD -j ANTREA-FORWARD", change)
	}
	applied := c.stacks[0].firewall.kept.applied
	look()
	look()
	require.Equal(t, applied, c.stacks[0].firewall.kept.applied, "nothing has changed")
	run(t, "iptables-legacy", "-P", "FORWARD", "ACCEPT")
	look()
	require.NotContains(t, run(t, "iptables-legacy-save"), "ANTREA-")
}

// TestChainsOfUpstream: rules of another agent whose chains have names like the agent's do not make it apply its own again and again.
func TestChainsOfUpstream(t *testing.T) {
	newNetNS(t)
	newGateway(t)
	run(t, "iptables", "-t", "mangle", "-N", "ANTREA-MANGLE")
	run(t, "iptables", "-t", "mangle", "-A", "ANTREA-MANGLE", "-j", "ACCEPT")
	c := newTestClient(t, Options{})
	require.NoError(t, c.Initialize())
	applied := c.stacks[0].firewall.kept.applied
	require.False(t, applied.IsZero())
	for range 2 {
		require.NoError(t, c.look(t.Context()))
	}
	require.Equal(t, applied, c.stacks[0].firewall.kept.applied)
}
