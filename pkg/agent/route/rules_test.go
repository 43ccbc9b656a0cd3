// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func geneveParams() ruleParams {
	return ruleParams{
		gateway: "antrea-gw0", podCIDR: netip.MustParsePrefix("10.10.0.0/24"), podSet: "ANTREA-POD-IP",
		tunnelProtocol: "udp", tunnelPort: 6081,
	}
}

func TestRestoreText(t *testing.T) {
	allPorts := geneveParams()
	allPorts.ports = Ports{AgentAPI: 10350, Cluster: 10351, ControllerAPI: 10349, ProxyHealth: 10256}
	vxlanRandom := geneveParams()
	vxlanRandom.tunnelPort = 4789
	vxlanRandom.randomFully = true
	gre := geneveParams()
	gre.tunnelProtocol, gre.tunnelPort = protocolGRE, 0

	for name, params := range map[string]ruleParams{
		"geneve": geneveParams(), "geneve-all-ports": allPorts, "vxlan-random-fully": vxlanRandom, "gre": gre,
	} {
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
	j := jump{table: tableFilter, chain: "INPUT"}
	own := `-A INPUT -m comment --comment "Antrea: jump to own rules" -j ANTREA-INPUT`
	older := `-A INPUT -m comment --comment "some older text" -j ANTREA-INPUT`
	for name, tc := range map[string]struct {
		listing    []string
		wantAdd    bool
		wantRemove [][]string
	}{
		"empty chain":       {listing: []string{"-P INPUT ACCEPT"}, wantAdd: true},
		"present":           {listing: []string{"-P INPUT ACCEPT", own}},
		"foreign rules":     {listing: []string{"-A INPUT -j KUBE-FIREWALL", "-A INPUT -j ANTREA-INPUT-OTHER", "-A INPUT -s 10.0.0.1/32 -j DROP"}, wantAdd: true},
		"duplicate":         {listing: []string{own, "-A INPUT -j KUBE-FIREWALL", own, own}, wantRemove: [][]string{j.args(), j.args()}},
		"other comment":     {listing: []string{older}, wantAdd: true, wantRemove: [][]string{{"-m", "comment", "--comment", "some older text", "-j", "ANTREA-INPUT"}}},
		"without comment":   {listing: []string{"-A INPUT -j ANTREA-INPUT", own}, wantRemove: [][]string{{"-j", "ANTREA-INPUT"}}},
		"jump at end of ln": {listing: []string{"-A INPUT -j"}, wantAdd: true},
	} {
		t.Run(name, func(t *testing.T) {
			add, remove := jumpChanges(j, tc.listing)
			require.Equal(t, tc.wantAdd, add)
			require.Empty(t, cmp.Diff(tc.wantRemove, remove))
		})
	}
}
