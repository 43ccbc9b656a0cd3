// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func geneveParams() ruleParams {
	return ruleParams{
		gateway: "antrea-gw0", podCIDR: netip.MustParsePrefix("10.10.0.0/24"), podSet: "ANTREA-POD-IP", nodeSet: "ANTREA-NODE-IP", transport: netip.MustParseAddr("192.168.77.101"),
		tunnelProtocol: "udp", tunnelPort: 6081,
	}
}

// everyParams are the parameters of the golden files, by name.
func everyParams() map[string]ruleParams {
	allPorts := geneveParams()
	allPorts.ports = Ports{AgentAPI: 10350, Cluster: 10351, ControllerAPI: 10349, ProxyHealth: 10256}
	vxlanRandom := geneveParams()
	vxlanRandom.tunnelPort = 4789
	vxlanRandom.randomFully = true
	proxyAll := geneveParams()
	proxyAll.healthPortSet = "ANTREA-HEALTH-IP"
	proxyAll.serviceSet, proxyAll.icmp = "ANTREA-SERVICE-IP", "icmp"
	proxyAll.nodePortSet, proxyAll.virtualService, proxyAll.virtualNodePort = "ANTREA-NODEPORT-IP", config.VirtualServiceIPv4, config.VirtualNodePortIPv4
	rewrite := geneveParams()
	rewrite.rewritePort = 585
	wireGuard, wireGuardProxyAll := geneveParams(), proxyAll
	wireGuard.wireGuardPort, wireGuardProxyAll.wireGuardPort = 51820, 51820
	clusters, clustersProxyAll := geneveParams(), proxyAll
	clusters.clusterPort, clusters.clusterSet, clustersProxyAll.clusterPort, clustersProxyAll.clusterSet = 51821, "ANTREA-CLUSTER-IP", 51821, "ANTREA-CLUSTER-IP"
	gre := geneveParams()
	gre.tunnelProtocol, gre.tunnelPort = protocolGRE, 0
	tunnelOnly := geneveParams()
	tunnelOnly.podCIDR = netip.Prefix{}

	return map[string]ruleParams{
		"geneve": geneveParams(), "geneve-all-ports": allPorts, "vxlan-random-fully": vxlanRandom, "geneve-rewrite": rewrite, "gre": gre, "geneve-proxy-all": proxyAll, "geneve-tunnel-only": tunnelOnly,
		"wireguard": wireGuard, "wireguard-proxy-all": wireGuardProxyAll,
		"clusters": clusters, "clusters-proxy-all": clustersProxyAll,
	}
}

func TestRestoreText(t *testing.T) {
	for name, params := range everyParams() {
		t.Run(name, func(t *testing.T) {
			got := restoreText(desiredTables(params))
			require.Equal(t, got, restoreText(desiredTables(params)), "not deterministic")
			file := filepath.Join("testdata", name+".rules")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), got))
		})
	}
}

// TestPortOfRewrittenPacketsIsTheHosts: programs take rewritten packets before they come to a chain of the filter table. A process of the host on this
// port is behind the host's firewall, as without ONCache.
func TestPortOfRewrittenPacketsIsTheHosts(t *testing.T) {
	p := everyParams()["geneve-rewrite"]
	p.formerPorts = []uint16{587}
	seen := 0
	for _, r := range filterTable(p).rules {
		line := r.String()
		if strings.Contains(line, "--dport 585") || strings.Contains(line, "--dport 587") {
			seen++
			require.NotContains(t, line, "ACCEPT")
			require.Contains(t, line, "--ctstate DNAT -j DROP")
		}
	}
	require.Equal(t, 4, seen, "TCP and UDP of two ports")
}

func TestTunnelProtocol(t *testing.T) {
	for tunnel, want := range map[config.TunnelType]string{
		config.TunnelTypeGeneve: "udp", config.TunnelTypeVXLAN: "udp", config.TunnelTypeSTT: "tcp", config.TunnelTypeGRE: "47",
	} {
		got, err := tunnelProtocol(tunnel)
		require.NoError(t, err)
		require.Equal(t, want, got, tunnel)
	}
	_, err := tunnelProtocol("ipip")
	require.ErrorContains(t, err, `"ipip"`)
}

func TestRuleQuoting(t *testing.T) {
	r := rule{chain: "X", args: []string{"-m", "comment", "--comment", `a "b" \c`, "-j", "ACCEPT"}}
	require.Equal(t, `-A X -m comment --comment "a \"b\" \\c" -j ACCEPT`, r.String())
	require.Equal(t, append([]string{"-A", "X"}, r.args...), splitArgs(r.String()), "splitArgs undoes String")
}

func TestJumpChanges(t *testing.T) {
	tunnel, tcp := []string{"-p", "udp", "-m", "udp", "--dport", "6081"}, []string{"-p", "tcp", "-m", "tcp", "--dport", "10256:10350"}
	j := jump{table: tableFilter, chain: "INPUT", matches: [][]string{tunnel, tcp}}
	toOwn := []string{"-j", "ANTREA-INPUT"}
	wantTunnel, wantTCP := slices.Concat(tunnel, toOwn), slices.Concat(tcp, toOwn)
	ownTunnel := "-A INPUT -p udp -m udp --dport 6081 -j ANTREA-INPUT"
	ownTCP := "-A INPUT -p tcp -m tcp --dport 10256:10350 -j ANTREA-INPUT"
	for name, tc := range map[string]struct {
		listing             []string
		wantAdd, wantRemove [][]string
	}{
		"empty chain":       {listing: []string{"-P INPUT ACCEPT"}, wantAdd: [][]string{wantTunnel, wantTCP}},
		"present":           {listing: []string{"-P INPUT ACCEPT", ownTCP, ownTunnel}, wantAdd: [][]string{}},
		"one present":       {listing: []string{ownTCP}, wantAdd: [][]string{wantTunnel}},
		"other order":       {listing: []string{ownTCP, "-A INPUT -m udp -p udp --dport 6081 -j ANTREA-INPUT"}, wantAdd: [][]string{}},
		"foreign rules":     {listing: []string{"-A INPUT -j KUBE-FIREWALL", "-A INPUT -j ANTREA-INPUT-OTHER", "-A INPUT -s 10.0.0.1/32 -j DROP"}, wantAdd: [][]string{wantTunnel, wantTCP}},
		"duplicate":         {listing: []string{ownTunnel, "-A INPUT -j KUBE-FIREWALL", ownTunnel, ownTCP, ownTunnel}, wantAdd: [][]string{}, wantRemove: [][]string{wantTunnel, wantTunnel}},
		"other port":        {listing: []string{ownTCP, "-A INPUT -p udp -m udp --dport 4789 -j ANTREA-INPUT"}, wantAdd: [][]string{wantTunnel}, wantRemove: [][]string{{"-p", "udp", "-m", "udp", "--dport", "4789", "-j", "ANTREA-INPUT"}}},
		"older agent":       {listing: []string{`-A INPUT -m comment --comment "Antrea: jump to own rules" -j ANTREA-INPUT`}, wantAdd: [][]string{wantTunnel, wantTCP}, wantRemove: [][]string{{"-m", "comment", "--comment", "Antrea: jump to own rules", "-j", "ANTREA-INPUT"}}},
		"jump at end of ln": {listing: []string{"-A INPUT -j"}, wantAdd: [][]string{wantTunnel, wantTCP}},
	} {
		t.Run(name, func(t *testing.T) {
			add, remove := jumpChanges(j, tc.listing)
			require.Empty(t, cmp.Diff(tc.wantAdd, add))
			require.Empty(t, cmp.Diff(tc.wantRemove, remove))
		})
	}
	present := []string{"-A FORWARD -o antrea-gw0 -j ANTREA-FORWARD"}
	add, remove := jumpChanges(jump{table: tableFilter, chain: "FORWARD", matches: everyPacket}, present)
	require.Equal(t, [][]string{{"-j", "ANTREA-FORWARD"}}, add)
	require.Equal(t, [][]string{{"-o", "antrea-gw0", "-j", "ANTREA-FORWARD"}}, remove)
	add, remove = jumpChanges(jump{table: tableFilter, chain: "FORWARD"}, present)
	require.Empty(t, add, "the chain is empty")
	require.Equal(t, [][]string{{"-o", "antrea-gw0", "-j", "ANTREA-FORWARD"}}, remove)
}

// Every rule of a custom chain is behind a jump that each packet takes which the rule matches.
func TestJumpsLeadToEveryRule(t *testing.T) {
	for name, params := range everyParams() {
		t.Run(name, func(t *testing.T) {
			jumps := desiredJumps(params)
			for _, table := range desiredTables(params) {
				for _, r := range table.rules {
					i := slices.IndexFunc(jumps, func(j jump) bool { return j.table == table.name && j.target() == r.chain })
					require.GreaterOrEqual(t, i, 0, "no jump to %s of %s", r.chain, table.name)
					matches := jumps[i].matches
					require.True(t, slices.ContainsFunc(matches, func(m []string) bool { return implied(t, m, r.args) }),
						"%s: no jump of %v for all packets of %q", table.name, matches, r)
				}
				for _, chain := range table.chains {
					empty := !slices.ContainsFunc(table.rules, func(r rule) bool { return r.chain == chain })
					leads := slices.ContainsFunc(jumps, func(j jump) bool { return j.table == table.name && j.target() == chain && len(j.matches) > 0 })
					require.NotEqual(t, empty, leads, "%s, %s", table.name, chain)
				}
			}
		})
	}
}

// implied reports whether every packet that the rule matches is one of match.
func implied(t *testing.T, match, rule []string) bool {
	for i := 0; i+1 < len(match); i += 2 {
		negated := match[i] == "!"
		if negated {
			i++
		}
		option, value := match[i], match[i+1]
		at := slices.Index(rule, option)
		if option == "-m" {
			continue // selects the module of a protocol, which -p compares
		}
		if at < 0 || negated != (at > 0 && rule[at-1] == "!") {
			return false
		}
		low, high, isRange := strings.Cut(value, ":")
		if !isRange {
			if rule[at+1] != value {
				return false
			}
			continue
		}
		var ports [3]int
		for i, text := range []string{low, rule[at+1], high} {
			var err error
			ports[i], err = strconv.Atoi(text)
			require.NoError(t, err)
		}
		if !slices.IsSorted(ports[:]) {
			return false
		}
	}
	return true
}

func TestRulesByTable(t *testing.T) {
	require.Equal(t, map[string][]string{
		"nat":    {"-A POSTROUTING -j ANTREA-POSTROUTING"},
		"filter": {"-A INPUT -j ANTREA-INPUT", `-A INPUT -m comment --comment "*raw" -j DROP`},
	}, rulesByTable(`# Generated by iptables-save v1.8.9 (nf_tables)
*nat
:PREROUTING ACCEPT [0:0]
-A POSTROUTING -j ANTREA-POSTROUTING
COMMIT
*filter
:INPUT ACCEPT [12:345]
-A INPUT -j ANTREA-INPUT
-A INPUT -m comment --comment "*raw" -j DROP
COMMIT
*raw
:OUTPUT ACCEPT [0:0]
COMMIT
`))
}
