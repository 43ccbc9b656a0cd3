// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// TestClosedPod: closing replaces the flows of a Pod, also those of a former round, by flows that drop. Whatever follows treats them
// as the Pod's flows.
func TestClosedPod(t *testing.T) {
	fake := of.NewFake()
	start := func(round RoundInfo) Client {
		c := NewClient(fake, noTableNames, oncacheFeatures)
		_, err := c.Initialize(t.Context(), round, dualStackNode, testNetwork)
		require.NoError(t, err)
		return c
	}
	ips := []netip.Addr{podAIP, podA6IP}
	install := func(c Client) error { return c.InstallPodFlows(t.Context(), "pod-a", ips, podAMAC, podAPort) }
	former, previous := start(RoundInfo{RoundNum: testRound - 1}), uint16(testRound-1)
	base := fake.Flows()
	require.NoError(t, install(former))
	flows := newFlows(base, fake.Flows())
	require.NoError(t, installPodB(former))

	c := start(RoundInfo{RoundNum: testRound, PrevRoundNum: &previous})
	closePod := func() error { return c.ClosePodFlows(t.Context(), "pod-a", ips, podAMAC, podAPort) }
	requireClosed := func() {
		t.Helper()
		for _, flow := range flows {
			closed, found := fake.Flow(flow.Key())
			require.True(t, found, flow.Key())
			require.Empty(t, closed.Actions, flow.Key())
			require.Equal(t, uint64(testRound), closed.Cookie>>48, flow.Key())
		}
	}
	before := fake.Flows()
	fake.FailNext(errRefused)
	require.ErrorIs(t, closePod(), errRefused)
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
	fresh, freshSwitch := newTestClientOf(t, oncacheFeatures, dualStackNode)
	require.NoError(t, install(fresh))
	require.Equal(t, freshSwitch.Flows(), fake.Flows())
	require.NoError(t, closePod())
	require.Equal(t, closed, fake.Flows())
	require.NoError(t, c.UninstallPodFlows(t.Context(), "pod-a"))
	require.Len(t, fake.Flows(), len(base))
	require.Nil(t, c.GetPodFlowKeys("pod-a"))
}

func TestRefusedClosing(t *testing.T) {
	c, fake := newTestClient(t, defaultFeatures)
	before := fake.Flows()
	require.ErrorContains(t, c.ClosePodFlows(t.Context(), "pod-a", []netip.Addr{podAIP}, podAMAC, 0), "port 0")
	require.ErrorContains(t, c.ClosePodFlows(t.Context(), "pod-a", []netip.Addr{podAIP}, gwMAC, podAPort), "belongs to the gateway")
	require.Equal(t, before, fake.Flows())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		require.ErrorIs(t, c.ClosePodFlows(ctx, "pod-a", []netip.Addr{podAIP}, podAMAC, podAPort), context.Canceled)
	}
	require.NoError(t, installPodB(c), "its turn comes when a change that had begun has ended")
	require.Nil(t, c.GetPodFlowKeys("pod-a"), "a caller that has left begins no change")
}

// TestClosedPodOnOVS: on a real Open vSwitch no packet goes to a closed Pod or comes from it, and other Pods' packets do.
func TestClosedPodOnOVS(t *testing.T) {
	b := newBridge(t, oncacheFeatures)
	b.installAll()
	all := dumpFlows(b.OVS)
	worldToPodB := fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=203.0.113.9,nw_dst=%v,nw_ttl=64", gwPort, gwMAC, podBMAC, podBIP)
	arpFromPodA := fmt.Sprintf("arp,in_port=%d,dl_src=%v,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=%v,arp_sha=%v,arp_tpa=%v", podAPort, podAMAC, podAIP, podAMAC, gwIP)
	b.c.SetInterceptor(&recorder{marks: []coherency.Mark{markOf("pod-a", podAPort, 9)}})
	require.NoError(t, closePodA(b.c))
	for name, packet := range map[string]string{
		"to a remote Pod": podAToRemote, "to a Pod": podAToPodB, "to the Node": podAToGW, "to the world": podAToWorld, "ARP": arpFromPodA,
		"from a remote Pod": remoteToPodA, "from the Node": gwToPodA, "from the world": worldToPodA,
		"from a Pod": fmt.Sprintf("tcp,in_port=%d,dl_src=%v,dl_dst=%v,nw_src=%v,nw_dst=%v,nw_ttl=64", podBPort, podBMAC, podAMAC, podBIP, podAIP),
	} {
		for _, ct := range []string{ctNew, ctEstablished, ctReply} {
			w := b.trace(packet, ct, ct)
			require.Empty(t, w.outputs, "%s, %s: %s", name, ct, w.text)
			require.Equal(t, uint32(epochUnset), w.epoch(), "%s, %s: %s", name, ct, w.text)
		}
	}
	require.Equal(t, []int{podBPort}, b.trace(worldToPodB, ctNew, ctNew).outputs)

	b.c.SetInterceptor(&recorder{marks: []coherency.Mark{markOf("pod-a", podAPort, 7)}})
	require.NoError(t, installPodA(b.c))
	require.Equal(t, all, dumpFlows(b.OVS))
}
