// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// TestClosedPod: closing replaces the flows of a Pod, also of a former round, by flows that drop. Later changes treat them as the
// Pod's flows.
func TestClosedPod(t *testing.T) {
	fake := of.NewFake()
	start := func(round openflow.RoundInfo) openflow.Client {
		c := openflow.NewClient(fake, oftest.NoTableNames, oftest.ONCacheFeatures)
		_, err := c.Initialize(t.Context(), round, oftest.DualStackNode, oftest.TestNetwork)
		require.NoError(t, err)
		return c
	}
	ips := []netip.Addr{oftest.PodAIP, oftest.PodA6IP}
	install := func(c openflow.Client) error {
		return c.InstallPodFlows(t.Context(), "pod-a", ips, oftest.PodAMAC, oftest.PodAPort)
	}
	former, previous := start(openflow.RoundInfo{RoundNum: oftest.TestRound - 1}), uint16(oftest.TestRound-1)
	base := fake.Flows()
	require.NoError(t, install(former))
	flows := oftest.NewFlows(base, fake.Flows())
	require.NoError(t, oftest.InstallPodB(former))

	c := start(openflow.RoundInfo{RoundNum: oftest.TestRound, PrevRoundNum: &previous})
	closePod := func() error { return c.ClosePodFlows(t.Context(), "pod-a", ips, oftest.PodAMAC, oftest.PodAPort) }
	requireClosed := func() {
		t.Helper()
		for _, flow := range flows {
			closed, found := fake.Flow(flow.Key())
			require.True(t, found, flow.Key())
			require.Empty(t, closed.Actions, flow.Key())
			require.Equal(t, uint64(oftest.TestRound), closed.Cookie>>48, flow.Key())
		}
	}
	before := fake.Flows()
	fake.FailNext(oftest.ErrRefused)
	require.ErrorIs(t, closePod(), oftest.ErrRefused)
	require.Equal(t, before, fake.Flows())
	require.NoError(t, closePod())
	requireClosed()
	require.Len(t, fake.Flows(), len(before), "each flow is replaced")
	require.Len(t, c.GetPodFlowKeys("pod-a"), len(flows))
	fake.ClearHistory()
	require.NoError(t, closePod())
	require.Empty(t, fake.History(), "it is closed already")

	require.NoError(t, c.DeleteStaleFlows())
	requireClosed()
	closed := fake.Flows()
	require.Len(t, closed, len(base)+len(flows), "the other Pod's flows are gone")
	fake.Disconnect()
	fake.Reconnect(true)
	require.NoError(t, c.ReplayFlows(func() {}))
	require.Equal(t, closed, fake.Flows())

	require.NoError(t, install(c))
	fresh, freshSwitch := oftest.NewTestClientOf(t, oftest.ONCacheFeatures, oftest.DualStackNode)
	require.NoError(t, install(fresh))
	require.Equal(t, freshSwitch.Flows(), fake.Flows())
	require.NoError(t, closePod())
	require.Equal(t, closed, fake.Flows())
	require.NoError(t, c.UninstallPodFlows(t.Context(), "pod-a"))
	require.Len(t, fake.Flows(), len(base))
	require.Nil(t, c.GetPodFlowKeys("pod-a"))
}

func TestRefusedClosing(t *testing.T) {
	c, fake := oftest.NewTestClient(t, oftest.DefaultFeatures)
	before := fake.Flows()
	require.ErrorContains(t, c.ClosePodFlows(t.Context(), "pod-a", []netip.Addr{oftest.PodAIP}, oftest.PodAMAC, 0), "port 0")
	require.ErrorContains(t, c.ClosePodFlows(t.Context(), "pod-a", []netip.Addr{oftest.PodAIP}, oftest.GWMAC, oftest.PodAPort), "belongs to the gateway")
	require.Equal(t, before, fake.Flows())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		require.ErrorIs(t, c.ClosePodFlows(ctx, "pod-a", []netip.Addr{oftest.PodAIP}, oftest.PodAMAC, oftest.PodAPort), context.Canceled)
	}
	require.NoError(t, oftest.InstallPodB(c), "its turn comes when a change that had begun has ended")
	require.Nil(t, c.GetPodFlowKeys("pod-a"), "a caller that has left begins no change")
}

// TestClosedPodOnOVS: on a real Open vSwitch no packet goes to a closed Pod or comes from it, and other Pods' packets do.
func TestClosedPodOnOVS(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	all := oftest.DumpFlows(b.OVS)
	worldToPodB := fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=203.0.113.9,nw_dst=%v,nw_ttl=64", oftest.GWPort, oftest.GWMAC, oftest.PodBMAC, oftest.PodBIP)
	arpFromPodA := fmt.Sprintf("arp,in_port=%d,dl_src=%v,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=%v,arp_sha=%v,arp_tpa=%v", oftest.PodAPort, oftest.PodAMAC, oftest.PodAIP, oftest.PodAMAC, oftest.GWIP)
	b.C.SetInterceptor(&oftest.Recorder{Marks: []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 9)}})
	require.NoError(t, oftest.ClosePodA(b.C))
	for name, packet := range map[string]string{
		"to a remote Pod": oftest.PodAToRemote, "to a Pod": oftest.PodAToPodB, "to the Node": oftest.PodAToGW, "to the world": oftest.PodAToWorld, "ARP": arpFromPodA,
		"from a remote Pod": oftest.RemoteToPodA, "from the Node": oftest.GWToPodA, "from the world": oftest.WorldToPodA,
		"from a Pod": fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", oftest.PodBPort, oftest.PodBMAC, oftest.PodAMAC, oftest.PodBIP, oftest.PodAIP),
	} {
		for _, ct := range []string{oftest.CTNew, oftest.CTEstablished, oftest.CTReply} {
			w := b.Trace(packet, ct, ct)
			require.Empty(t, w.Outputs, "%s, %s: %s", name, ct, w.Text)
			require.Equal(t, uint32(oftest.EpochUnset), w.Epoch(), "%s, %s: %s", name, ct, w.Text)
		}
	}
	require.Equal(t, []int{oftest.PodBPort}, b.Trace(worldToPodB, oftest.CTNew, oftest.CTNew).Outputs)

	b.C.SetInterceptor(&oftest.Recorder{Marks: []coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7)}})
	require.NoError(t, oftest.InstallPodA(b.C))
	require.Equal(t, all, oftest.DumpFlows(b.OVS))
}
