// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
)

// TestLeftovers: what Initialize has made is found and removed, and what others have made stays.
func TestLeftovers(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			newNetNS(t)
			newGateway(t)
			run(t, "iptables", "-A", "INPUT", "-s", "203.0.113.1/32", "-j", "DROP")
			run(t, "iptables", "-N", "KUBE-FORWARD")
			run(t, "iptables", "-A", "FORWARD", "-j", "KUBE-FORWARD")
			require.NoError(t, netlink.IpsetCreate("KUBE-LOOP", "hash:ip", netlink.IpsetCreateOptions{}))
			before := rulesAndChains(t)
			none, err := Leftovers(t.Context())
			require.NoError(t, err)
			require.Empty(t, none)

			require.NoError(t, newTestClient(t, Options{Ports: Ports{AgentAPI: 10350}}).Initialize())
			// One more by a hand, and another version's chain.
			run(t, "iptables", "-A", "FORWARD", "-m", "comment", "--comment", "a \"quoted\" one", "-j", "ANTREA-FORWARD")
			run(t, "iptables", "-t", "nat", "-N", "ANTREA-OLD")
			run(t, "iptables", "-t", "nat", "-A", "ANTREA-POSTROUTING", "-j", "ANTREA-OLD")
			found, err := Leftovers(t.Context())
			require.NoError(t, err)
			var names []string
			for _, item := range found {
				names = append(names, item.Name)
			}
			require.Len(t, names, 6, strings.Join(names, "\n"))
			require.Contains(t, names, "iptables-"+backend+" chains ANTREA-FORWARD, ANTREA-OUTPUT of table mangle, and 9 rules in them or leading to them")
			require.Equal(t, []string{"ipset ANTREA-NODE-IP", "ipset ANTREA-POD-IP"}, slices.Sorted(slices.Values(names[4:])))
			for _, item := range found {
				require.NoError(t, item.Remove(), item.Name)
			}

			require.Equal(t, before, rulesAndChains(t))
			require.Equal(t, "KUBE-LOOP\n", run(t, "ipset", "list", "-n"))
			for _, item := range found[4:] {
				require.NoError(t, item.Remove(), "%s is gone", item.Name)
			}
			none, err = Leftovers(t.Context())
			require.NoError(t, err)
			require.Empty(t, none)
		})
	}
}

// rulesAndChains are the rules and chains of all tables without the built-in chains, which iptables makes when they are read.
func rulesAndChains(t *testing.T) (out []string) {
	t.Helper()
	for table, rules := range rulesByTable(run(t, "iptables-save")) {
		for _, rule := range rules {
			out = append(out, fmt.Sprintf("%s %s", table, rule))
		}
	}
	for _, line := range savedRules(t) {
		if strings.HasPrefix(line, ":") && strings.HasSuffix(line, " -") {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// TestLeftoversWithComments: other programs' comments are not taken for jumps.
func TestLeftoversWithComments(t *testing.T) {
	found := leftoverTables("*filter\n:INPUT ACCEPT [0:0]\n:ANTREA-INPUT - [0:0]\n" +
		"-A INPUT -m comment --comment \"-j\" -j ANTREA-INPUT\n-A INPUT -p tcp -m comment --comment \"-j\"\nCOMMIT\n")
	require.Len(t, found, 1)
	require.Equal(t, 1, found[0].rules)
	require.Equal(t, "*filter\n:ANTREA-INPUT - [0:0]\n-D INPUT -m comment --comment \"-j\" -j ANTREA-INPUT\n-X ANTREA-INPUT\nCOMMIT\n", found[0].removal)
}
