// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

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
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestBasePipelineGolden(t *testing.T) {
	for _, test := range []struct {
		file     string
		features openflow.Features
		node     *config.NodeConfig
	}{
		{"base_default.txt", oftest.DefaultFeatures, oftest.TestNode},
		{"base_oncache.txt", oftest.ONCacheFeatures, oftest.TestNode},
		{"base_minimal.txt", oftest.MinimalFeatures, oftest.TestNode},
		{"base_dualstack.txt", oftest.ONCacheFeatures, oftest.DualStackNode},
		{"base_ipv6.txt", oftest.ONCacheFeatures, oftest.Ipv6Node},
		{"base_all.txt", openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, EgressShaping: true, TrafficControl: true, ONCache: true, CutConnections: true}, oftest.TestNode},
		{"base_proxyall.txt", oftest.ProxyAllFeatures, oftest.DualStackNode},
		{"base_multicluster.txt", oftest.MulticlusterFeatures, oftest.TestNode},
		{"base_openings.txt", openingsFeatures, oftest.DualStackNode},
	} {
		t.Run(test.file, func(t *testing.T) {
			c, fake := oftest.NewTestClientOf(t, test.features, test.node)
			var b strings.Builder
			names := oftest.TableNames(c)
			for _, id := range slices.Sorted(maps.Keys(names)) {
				fmt.Fprintf(&b, "%d %s\n", id, names[id])
			}
			b.WriteString("\n" + oftest.Render(oftest.TableNames(c), fake.Flows()))
			oftest.RequireGolden(t, test.file, b.String())
		})
	}
}

func TestObjectFlowsGolden(t *testing.T) {
	installMark := func(c openflow.Client) error {
		return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7)})
	}
	for _, test := range []struct {
		file    string
		node    *config.NodeConfig
		install func(openflow.Client) error
	}{
		{"pod.txt", oftest.TestNode, oftest.InstallPodA},
		{"node.txt", oftest.TestNode, oftest.InstallRemoteNode},
		{"mark.txt", oftest.TestNode, installMark},
		{"pod_dualstack.txt", oftest.DualStackNode, func(c openflow.Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodAIP, oftest.PodA6IP}, oftest.PodAMAC, oftest.PodAPort)
		}},
		{"pod_ipv6.txt", oftest.Ipv6Node, func(c openflow.Client) error {
			return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{oftest.PodA6IP}, oftest.PodAMAC, oftest.PodAPort)
		}},
		{"node_dualstack.txt", oftest.DualStackNode, func(c openflow.Client) error {
			return c.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{oftest.RemoteCIDR: oftest.PeerAt(oftest.RemoteGW, oftest.RemotePeer), oftest.RemoteCIDR6: oftest.PeerAt(oftest.RemoteGW6, oftest.RemotePeer6)})
		}},
		{"node_direct.txt", oftest.DualStackNode, func(c openflow.Client) error {
			return c.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{
				oftest.RemoteCIDR:  {Gateway: oftest.RemoteGW, Reach: reach.Reach{Kind: reach.Direct, Address: oftest.RemotePeer}},
				oftest.RemoteCIDR6: {Gateway: oftest.RemoteGW6, Reach: reach.Reach{Kind: reach.Routed, Address: oftest.RemotePeer6}}})
		}},
		{"node_encrypted.txt", oftest.DualStackNode, func(c openflow.Client) error {
			return c.InstallNodeFlows("node-b", map[netip.Prefix]openflow.Peer{
				oftest.RemoteCIDR:  {Gateway: oftest.RemoteGW, Reach: reach.Reach{Kind: reach.WireGuard, Address: oftest.RemotePeer}},
				oftest.RemoteCIDR6: {Gateway: oftest.RemoteGW6, Reach: reach.Reach{Kind: reach.WireGuard, Address: oftest.RemotePeer}}})
		}},
		{"mark_dualstack.txt", oftest.DualStackNode, installMark},
		{"mark_gateway.txt", oftest.DualStackNode, func(c openflow.Client) error {
			return c.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("antrea-gw0", oftest.GWPort, 7)})
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			c, fake := oftest.NewTestClientOf(t, oftest.ONCacheFeatures, test.node)
			base := fake.Flows()
			require.NoError(t, test.install(c))
			oftest.RequireGolden(t, test.file, oftest.Render(oftest.TableNames(c), oftest.NewFlows(base, fake.Flows())))
		})
	}
}

// ONCache learns from the mark, so an established packet must get from the first policy table to the mark in one
// translation: a ct() in between is only for new connections, and continues behind the mark or not at all. SNATMark and SNAT are different: what
// they recirculate has the mark of SNAT in the connection's zone before, and in SNAT's zone behind, which the mark flows exclude
// (TestMarksExcludeSNAT).
func TestNoRecirculationBetweenPolicyAndMark(t *testing.T) {
	for name, features := range map[string]openflow.Features{"": oftest.ONCacheFeatures, "proxyAll": oftest.ProxyAllFeatures, "openings": openingsFeatures, "multicluster": oftest.MulticlusterFeatures} {
		t.Run(name, func(t *testing.T) {
			c, fake := oftest.NewTestClient(t, features)
			require.NoError(t, oftest.InstallPodA(c))
			if features.Multicluster {
				require.NoError(t, c.SetClusters(oftest.NodeIP, []openflow.Cluster{oftest.OtherCluster}))
			}
			require.NoError(t, oftest.InstallRemoteNode(c))
			require.NoError(t, c.InstallService(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint)))
			requireNoRecirculation(t, c, fake)
		})
	}
}

func requireNoRecirculation(t *testing.T, c openflow.Client, fake *of.Fake) {
	t.Helper()
	first, mark := oftest.GeneratorOf(c).FirstOf(pipeline.StageEgressSecurity), oftest.GeneratorOf(c).ID(pipeline.TableONCacheLocalMark)
	for _, flow := range fake.Flows() {
		if flow.Table < first || flow.Table > mark {
			continue
		}
		for _, action := range flow.Actions {
			ct, isCT := action.(of.CT)
			if !isCT {
				continue
			}
			isNew := strings.Contains(flow.Key(), "ct_state=+new")
			switch flow.Table {
			case oftest.GeneratorOf(c).ID(pipeline.TableSNATMark):
				require.True(t, isNew, "established packets are recirculated: %s", flow.String())
				require.Contains(t, ct.Exec, pipeline.SNATCT.Load(), "the connection could be learned: %s", flow.String())
			case oftest.GeneratorOf(c).ID(pipeline.TableSNAT):
				// A new connection that is committed here gets the mark of SNAT.
				require.True(t, isNew && ct.Commit || strings.Contains(flow.Key(), "ct_mark=0x20/"), "any connection: %s", flow.String())
				// The mark flows exclude what is related, and it is no new connection.
				related := strings.Contains(flow.Key(), "ct_state=-new+rel")
				require.True(t, !ct.Commit || related || slices.Contains(ct.Exec, pipeline.SNATCT.Load()), "the connection could be learned: %s", flow.String())
			default:
				require.True(t, ct.Table == 0 || ct.Table > mark, "recirculation into the mark: %s", flow.String())
				require.True(t, isNew, "established packets are recirculated: %s", flow.String())
			}
		}
	}
}

// AllConntrackZones has the zones of all flows.
func TestZonesOfFlows(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	features, err := filepath.Glob("internal/*/testdata/*.txt")
	require.NoError(t, err)
	found := map[uint16]bool{}
	for _, file := range append(files, features...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		// Nothing is committed to the zone of clones.
		committed := strings.ReplaceAll(string(text), "clone(ct(zone=65522),", "clone(")
		for _, match := range regexp.MustCompile(`\bzone=(\d+)`).FindAllStringSubmatch(committed, -1) {
			zone, err := strconv.ParseUint(match[1], 10, 16)
			require.NoError(t, err)
			found[uint16(zone)] = true
		}
	}
	require.ElementsMatch(t, openflow.AllConntrackZones, slices.Collect(maps.Keys(found)))
}
