// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestBasePipelineGolden(t *testing.T) {
	for _, test := range []struct {
		file     string
		features Features
		node     *config.NodeConfig
	}{
		{"base_default.txt", defaultFeatures, testNode},
		{"base_oncache.txt", oncacheFeatures, testNode},
		{"base_minimal.txt", minimalFeatures, testNode},
		{"base_dualstack.txt", oncacheFeatures, dualStackNode},
		{"base_ipv6.txt", oncacheFeatures, ipv6Node},
		{"base_all.txt", Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, TrafficControl: true, ONCache: true, CutConnections: true}, testNode},
		{"base_proxyall.txt", proxyAllFeatures, dualStackNode},
	} {
		t.Run(test.file, func(t *testing.T) {
			c, fake := newTestClientOf(t, test.features, test.node)
			var b strings.Builder
			names := tableNames(c)
			for id := range uint8(len(names)) {
				fmt.Fprintf(&b, "%d %s\n", id, names[id])
			}
			b.WriteString("\n" + render(tableNames(c), fake.Flows()))
			requireGolden(t, test.file, b.String())
		})
	}
}

func TestObjectFlowsGolden(t *testing.T) {
	installMark := func(c Client) error {
		return c.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 7)})
	}
	for _, test := range []struct {
		file    string
		node    *config.NodeConfig
		install func(Client) error
	}{
		{"pod.txt", testNode, installPodA},
		{"node.txt", testNode, installRemoteNode},
		{"mark.txt", testNode, installMark},
		{"pod_dualstack.txt", dualStackNode, func(c Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{podAIP, podA6IP}, podAMAC, podAPort)
		}},
		{"pod_ipv6.txt", ipv6Node, func(c Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{podA6IP}, podAMAC, podAPort)
		}},
		{"node_dualstack.txt", dualStackNode, func(c Client) error {
			return c.InstallNodeFlows("node-b", map[netip.Prefix]Peer{remoteCIDR: peerAt(remoteGW, remotePeer), remoteCIDR6: peerAt(remoteGW6, remotePeer6)})
		}},
		{"mark_dualstack.txt", dualStackNode, installMark},
		{"mark_gateway.txt", dualStackNode, func(c Client) error {
			return c.InstallMarkFlows([]coherency.Mark{markOf("antrea-gw0", gwPort, 7)})
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			c, fake := newTestClientOf(t, oncacheFeatures, test.node)
			base := fake.Flows()
			require.NoError(t, test.install(c))
			requireGolden(t, test.file, render(tableNames(c), newFlows(base, fake.Flows())))
		})
	}
}

// ONCache learns from the mark, so an established packet must get from the first policy table to the mark in one
// translation: a ct() in between is only for new connections, and continues behind the mark. SNATMark and SNAT are different: what
// they recirculate has the mark of SNAT in the connection's zone before, and in SNAT's zone behind, which the mark flows exclude
// (TestMarksExcludeSNAT).
func TestNoRecirculationBetweenPolicyAndMark(t *testing.T) {
	for name, features := range map[string]Features{"": oncacheFeatures, "proxyAll": proxyAllFeatures} {
		t.Run(name, func(t *testing.T) {
			c, fake := newTestClient(t, features)
			require.NoError(t, installPodA(c))
			require.NoError(t, installRemoteNode(c))
			require.NoError(t, c.InstallService(clusterPort(localEndpoint, elsewhereEndpoint)))
			requireNoRecirculation(t, c, fake)
		})
	}
}

func requireNoRecirculation(t *testing.T, c Client, fake *of.Fake) {
	t.Helper()
	first, mark := generatorOf(c).firstOf(stageEgressSecurity), generatorOf(c).id(tableONCacheLocalMark)
	for _, flow := range fake.Flows() {
		if flow.Table < first || flow.Table > mark {
			continue
		}
		for _, action := range flow.Actions {
			ct, isCT := action.(of.CT)
			if !isCT {
				continue
			}
			isNew := strings.Contains(flow.Key(), "ct_state=+new+trk")
			switch flow.Table {
			case generatorOf(c).id(tableSNATMark):
				require.True(t, isNew, "established packets are recirculated: %s", flow.String())
				require.Contains(t, ct.Exec, snatCT.load(), "the connection could be learned: %s", flow.String())
			case generatorOf(c).id(tableSNAT):
				require.Regexp(t, "ct_mark=0x[24]0/", flow.Key(), "any connection: %s", flow.String())
				// The mark flows exclude what is related, and it is no new connection.
				related := strings.Contains(flow.Key(), "ct_state=-new+rel")
				require.True(t, !ct.Commit || related || slices.Contains(ct.Exec, snatCT.load()), "the connection could be learned: %s", flow.String())
			default:
				require.Greater(t, ct.Table, mark, "recirculation into the mark: %s", flow.String())
				require.True(t, isNew, "established packets are recirculated: %s", flow.String())
			}
		}
	}
}

// AllConntrackZones has the zones of all flows.
func TestZonesOfFlows(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	found := map[uint16]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`\bzone=(\d+)`).FindAllStringSubmatch(string(text), -1) {
			zone, err := strconv.ParseUint(match[1], 10, 16)
			require.NoError(t, err)
			found[uint16(zone)] = true
		}
	}
	require.ElementsMatch(t, AllConntrackZones, slices.Collect(maps.Keys(found)))
}
