// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// The switch has the flows that the golden files show, and a refused bundle does not change them.
func TestSwitchAgreesWithTheFake(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	want := oftest.DumpFlows(b.OVS)
	fakeClient, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, oftest.InstallPodA(fakeClient))
	require.NoError(t, oftest.InstallPodB(fakeClient))
	require.NoError(t, oftest.InstallRemoteNode(fakeClient))
	require.NoError(t, fakeClient.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7), oftest.MarkOf("pod-b", oftest.PodBPort, 8)}))
	inMemory := oftest.FlowStrings(fake.Flows())
	slices.Sort(inMemory)
	require.Equal(t, inMemory, want)
	oftest.RequireNoneMissing(t, b.C)

	t.Run("installing again changes nothing", func(t *testing.T) {
		b.InstallAll()
		require.Equal(t, want, oftest.DumpFlows(b.OVS))
	})
	t.Run("refused bundle", func(t *testing.T) {
		// A table limit refuses the addition of the Pod, after other parts of the bundle have been accepted.
		limited := fmt.Sprintf("flow_tables:%d=@t", oftest.GeneratorOf(b.C).ID(pipeline.TableL3Forwarding))
		count := 0
		for _, line := range want {
			if strings.Contains(line, fmt.Sprintf("table=%d,", oftest.GeneratorOf(b.C).ID(pipeline.TableL3Forwarding))) {
				count++
			}
		}
		b.Vsctl("--id=@t", "create", "flow_table", fmt.Sprintf("flow_limit=%d", count), "overflow_policy=refuse",
			"--", "set", "bridge", oftest.BridgeName, limited)
		r := &oftest.Recorder{Marks: []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 99)}}
		b.C.SetInterceptor(r)
		r.Changes, r.Events = nil, nil // the Nodes that are there
		podC := netip.MustParseAddr("10.10.0.13")
		err := b.C.InstallPodFlows(context.Background(), "pod-c", []netip.Addr{podC}, oftest.MustMAC("0a:00:00:00:00:13"), 13)
		require.Error(t, err)
		require.Equal(t, []string{"begin", "end with error"}, r.Events)
		require.Equal(t, want, oftest.DumpFlows(b.OVS))
		require.Nil(t, b.C.GetPodFlowKeys("pod-c"))

		b.Vsctl("clear", "bridge", oftest.BridgeName, "flow_tables")
		require.NoError(t, b.C.InstallPodFlows(context.Background(), "pod-c", []netip.Addr{podC}, oftest.MustMAC("0a:00:00:00:00:13"), 13))
		require.Equal(t, uint32(99), b.Trace(oftest.PodAToRemote+",ct_mark=3", oftest.CTEstablished).Epoch())
		r.Marks = []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7)}
		require.NoError(t, b.C.UninstallPodFlows(context.Background(), "pod-c"))
		require.Equal(t, want, oftest.DumpFlows(b.OVS))
	})
	t.Run("table status counts the switch's flows", func(t *testing.T) {
		status, err := b.C.GetFlowTableStatus(t.Context())
		require.NoError(t, err)
		total := 0
		for _, table := range status {
			total += table.FlowCount
		}
		require.Equal(t, len(want), total)
	})
	t.Run("replay in place", func(t *testing.T) {
		require.NoError(t, b.C.ReplayFlows(func() {}))
		require.Equal(t, want, oftest.DumpFlows(b.OVS))
	})
}

func TestReplayAfterSwitchRestart(t *testing.T) {
	o := ovstest.Start(t)
	c := openflow.NewClient(of.NewSwitch(o.AddBridge(oftest.BridgeName)), oftest.NoTableNames, oftest.ONCacheFeatures)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	previous := uint16(oftest.TestRound - 1)
	o.Ofctl("add-flow", oftest.BridgeName, fmt.Sprintf("cookie=%#x,table=3,priority=777,actions=drop", pipeline.Cookie(previous, pipeline.CookieDefault)))
	reconnected, err := c.Initialize(ctx, openflow.RoundInfo{RoundNum: oftest.TestRound, PrevRoundNum: &previous}, oftest.TestNode, oftest.TestNetwork)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Disconnect()) }()
	require.NoError(t, oftest.InstallPodA(c))
	require.NoError(t, oftest.InstallRemoteNode(c))
	require.Contains(t, strings.Join(oftest.DumpFlows(o), "\n"), "priority=777")
	require.NoError(t, c.DeleteStaleFlows())
	want := oftest.DumpFlows(o)
	require.NotContains(t, strings.Join(want, "\n"), "priority=777")

	o.KillVswitchd()
	o.StartVswitchd()
	select {
	case <-reconnected:
	case <-ctx.Done():
		t.Fatal("no reconnection")
	}
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, want, oftest.DumpFlows(o))
}

// A real switch accepts the tables of every combination of features.
func TestEveryFeatureCombinationIsAccepted(t *testing.T) {
	o := ovstest.Start(t)
	for bits := range 64 {
		features := openflow.Features{
			AntreaProxy: bits&1 != 0, AntreaPolicy: bits&2 != 0, Egress: bits&4 != 0, EgressShaping: bits&12 == 12, TrafficControl: bits&8 != 0, ONCache: bits&16 != 0,
		}
		if bits&32 != 0 {
			if !features.AntreaProxy {
				continue
			}
			features.ProxyAll, features.PacketInRate = true, 100
		}
		t.Run(fmt.Sprintf("%+v", features), func(t *testing.T) {
			name := fmt.Sprintf("br%d", bits)
			c := openflow.NewClient(of.NewSwitch(o.AddBridge(name)), oftest.NoTableNames, features)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, err := c.Initialize(ctx, openflow.RoundInfo{RoundNum: 1}, oftest.TestNode, oftest.TestNetwork)
			require.NoError(t, err)
			require.NoError(t, oftest.InstallPodA(c))
			require.NoError(t, oftest.InstallRemoteNode(c))
			if features.AntreaProxy {
				require.NoError(t, c.InstallService(oftest.With(oftest.ClusterPort(oftest.LocalEndpoint, oftest.ElsewhereEndpoint), oftest.WithAffinity(time.Hour))))
			}
			if features.ProxyAll {
				require.NoError(t, c.SetNodePortAddresses([]netip.Addr{oftest.NodeIP}))
				require.NoError(t, c.InstallService(oftest.With(oftest.ExternalLocal(), oftest.Over(corev1.ProtocolUDP), oftest.Named("udp"))))
			}
			require.NoError(t, c.Disconnect())
		})
	}
}
