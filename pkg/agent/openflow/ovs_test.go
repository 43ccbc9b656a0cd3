// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

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
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// The switch has the flows that the golden files show, and a refused bundle does not change them.
func TestSwitchAgreesWithTheFake(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	want := dumpFlows(b.OVS)
	fakeClient, fake := newTestClient(t, oncacheFeatures)
	require.NoError(t, installPodA(fakeClient))
	require.NoError(t, installPodB(fakeClient))
	require.NoError(t, installRemoteNode(fakeClient))
	require.NoError(t, fakeClient.InstallMarkFlows([]coherency.Mark{markOf("pod-a", podAPort, 7), markOf("pod-b", podBPort, 8)}))
	inMemory := flowStrings(fake.Flows())
	slices.Sort(inMemory)
	require.Equal(t, inMemory, want)
	requireNoneMissing(t, b.c)

	t.Run("installing again changes nothing", func(t *testing.T) {
		b.installAll()
		require.Equal(t, want, dumpFlows(b.OVS))
	})
	t.Run("refused bundle", func(t *testing.T) {
		// A table limit refuses the addition of the Pod, after other parts of the bundle have been accepted.
		limited := fmt.Sprintf("flow_tables:%d=@t", generatorOf(b.c).id(tableL3Forwarding))
		count := 0
		for _, line := range want {
			if strings.Contains(line, fmt.Sprintf("table=%d,", generatorOf(b.c).id(tableL3Forwarding))) {
				count++
			}
		}
		b.Vsctl("--id=@t", "create", "flow_table", fmt.Sprintf("flow_limit=%d", count), "overflow_policy=refuse",
			"--", "set", "bridge", bridgeName, limited)
		r := &recorder{marks: []coherency.Mark{markOf("pod-a", podAPort, 99)}}
		b.c.SetInterceptor(r)
		r.changes, r.events = nil, nil // the Nodes that are there
		podC := netip.MustParseAddr("10.10.0.13")
		err := b.c.InstallPodFlows(context.Background(), "pod-c", []netip.Addr{podC}, mustMAC("0a:00:00:00:00:13"), 13)
		require.Error(t, err)
		require.Equal(t, []string{"begin", "end with error"}, r.events)
		require.Equal(t, want, dumpFlows(b.OVS))
		require.Nil(t, b.c.GetPodFlowKeys("pod-c"))

		b.Vsctl("clear", "bridge", bridgeName, "flow_tables")
		require.NoError(t, b.c.InstallPodFlows(context.Background(), "pod-c", []netip.Addr{podC}, mustMAC("0a:00:00:00:00:13"), 13))
		require.Equal(t, uint32(99), b.trace(podAToRemote+",ct_mark=3", ctEstablished).epoch())
		r.marks = []coherency.Mark{markOf("pod-a", podAPort, 7)}
		require.NoError(t, b.c.UninstallPodFlows(context.Background(), "pod-c"))
		require.Equal(t, want, dumpFlows(b.OVS))
	})
	t.Run("table status counts the switch's flows", func(t *testing.T) {
		status, err := b.c.GetFlowTableStatus(t.Context())
		require.NoError(t, err)
		total := 0
		for _, table := range status {
			total += table.FlowCount
		}
		require.Equal(t, len(want), total)
	})
	t.Run("replay in place", func(t *testing.T) {
		require.NoError(t, b.c.ReplayFlows(func() {}))
		require.Equal(t, want, dumpFlows(b.OVS))
	})
}

func TestReplayAfterSwitchRestart(t *testing.T) {
	o := ovstest.Start(t)
	c := NewClient(of.NewSwitch(o.AddBridge(bridgeName)), noTableNames, oncacheFeatures)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	previous := uint16(testRound - 1)
	o.Ofctl("add-flow", bridgeName, "cookie=0x4010000000000,table=3,priority=777,actions=drop")
	reconnected, err := c.Initialize(ctx, RoundInfo{RoundNum: testRound, PrevRoundNum: &previous}, testNode, testNetwork)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Disconnect()) }()
	require.NoError(t, installPodA(c))
	require.NoError(t, installRemoteNode(c))
	require.Contains(t, strings.Join(dumpFlows(o), "\n"), "priority=777")
	require.NoError(t, c.DeleteStaleFlows())
	want := dumpFlows(o)
	require.NotContains(t, strings.Join(want, "\n"), "priority=777")

	o.KillVswitchd()
	o.StartVswitchd()
	select {
	case <-reconnected:
	case <-ctx.Done():
		t.Fatal("no reconnection")
	}
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, want, dumpFlows(o))
}

// A real switch accepts the tables of every combination of features.
func TestEveryFeatureCombinationIsAccepted(t *testing.T) {
	o := ovstest.Start(t)
	for bits := range 64 {
		features := Features{
			AntreaProxy: bits&1 != 0, AntreaPolicy: bits&2 != 0, Egress: bits&4 != 0, TrafficControl: bits&8 != 0, ONCache: bits&16 != 0,
		}
		if bits&32 != 0 {
			if !features.AntreaProxy {
				continue
			}
			features.ProxyAll, features.PacketInRate = true, 100
		}
		t.Run(fmt.Sprintf("%+v", features), func(t *testing.T) {
			name := fmt.Sprintf("br%d", bits)
			c := NewClient(of.NewSwitch(o.AddBridge(name)), noTableNames, features)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, err := c.Initialize(ctx, RoundInfo{RoundNum: 1}, testNode, testNetwork)
			require.NoError(t, err)
			require.NoError(t, installPodA(c))
			require.NoError(t, installRemoteNode(c))
			if features.AntreaProxy {
				require.NoError(t, c.InstallService(with(clusterPort(localEndpoint, elsewhereEndpoint), withAffinity(time.Hour))))
			}
			if features.ProxyAll {
				require.NoError(t, c.SetNodePortAddresses([]netip.Addr{nodeIP}))
				require.NoError(t, c.InstallService(with(externalLocal(), over(corev1.ProtocolUDP), named("udp"))))
			}
			require.NoError(t, c.Disconnect())
		})
	}
}
