// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// TestFlowState: the state of an entry is the first reason why a packet would miss.
func TestFlowState(t *testing.T) {
	good := datapath.Flow{Protocol: unix.IPPROTO_TCP, OwnProved: true, OtherProved: true, CurrentEndpoint: true, CurrentNode: true, CurrentEverybody: true}
	for name, c := range map[string]struct {
		change func(*datapath.Flow)
		state  string
	}{
		"good":                     {func(*datapath.Flow) {}, "active"},
		"everything evicted":       {func(f *datapath.Flow) { f.CurrentEverybody, f.CurrentEndpoint = false, false }, "stale_all"},
		"Pod evicted":              {func(f *datapath.Flow) { f.CurrentEndpoint, f.CurrentNode = false, false }, "stale_endpoint"},
		"Peer evicted":             {func(f *datapath.Flow) { f.Local, f.CurrentNode = true, false }, "stale_endpoint"},
		"Node evicted":             {func(f *datapath.Flow) { f.CurrentNode, f.OtherProved = false, false }, "stale_node"},
		"half of a TCP flow":       {func(f *datapath.Flow) { f.OtherProved, f.LeaseLeft = false, -1 }, "not_proved"},
		"half of a UDP flow":       {func(f *datapath.Flow) { f.OtherProved, f.Protocol = false, unix.IPPROTO_UDP }, "active"},
		"the other half, UDP":      {func(f *datapath.Flow) { f.OwnProved, f.Protocol = false, unix.IPPROTO_UDP }, "not_proved"},
		"lease over":               {func(f *datapath.Flow) { f.LeaseLeft = -1 }, "lease"},
		"half of a UDP flow, over": {func(f *datapath.Flow) { f.OtherProved, f.Protocol, f.LeaseLeft = false, unix.IPPROTO_UDP, -1 }, "lease"},
	} {
		t.Run(name, func(t *testing.T) {
			f := good
			c.change(&f)
			require.Equal(t, c.state, flowState(&f))
		})
	}
}

// TestBusiest: a limit keeps the flows with the most packets, however many there are, without keeping them all.
func TestBusiest(t *testing.T) {
	all, three := busiest{}, busiest{limit: 3}
	most := 0
	for i := range 10_000 {
		f := datapath.Flow{Packets: uint64(i * 7919 % 10_007)} // all different
		all.add(f)
		three.add(f)
		most = max(most, len(three.flows))
	}
	require.Less(t, most, 2*3+flowSlack)
	require.Len(t, all.take(), 10_000)
	require.Equal(t, all.take()[:3], three.take())
	require.EqualValues(t, 10_006, three.take()[0].Packets)
}

// TestFilter: which flows a filter lets pass.
func TestFilter(t *testing.T) {
	names := slotNames{
		pods: map[int]Pod{
			1: {Namespace: "ns", Name: "a", IPs: []netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("10.0.0.1")}},
			3: {Namespace: "other", Name: "b", IPs: []netip.Addr{netip.MustParseAddr("10.0.0.3")}},
		},
		nodes: map[int]string{2: "n2"},
	}
	f := &datapath.Flow{Direction: datapath.DirectionEgress, EndpointSlot: 1, NodeSlot: 2, Source: netip.MustParseAddrPort("10.0.0.1:1"), Destination: netip.MustParseAddrPort("10.96.0.1:2"), Translated: netip.MustParseAddrPort("10.0.1.1:3")}
	for _, c := range []struct {
		filter FlowFilter
		want   bool
	}{
		{FlowFilter{}, true},
		{FlowFilter{Namespace: "ns"}, true}, {FlowFilter{Namespace: "n"}, false},
		{FlowFilter{Namespace: "ns", Pod: "a"}, true}, {FlowFilter{Namespace: "ns", Pod: "b"}, false},
		{FlowFilter{Node: "n2"}, true}, {FlowFilter{Node: "n3"}, false},
		{FlowFilter{Address: netip.MustParseAddr("10.0.0.1")}, true}, {FlowFilter{Address: netip.MustParseAddr("10.96.0.1")}, true},
		{FlowFilter{Address: netip.MustParseAddr("10.0.1.1")}, true}, {FlowFilter{Address: netip.MustParseAddr("10.0.1.2")}, false},
	} {
		require.Equal(t, c.want, c.filter.selects(f, names), "%+v", c.filter)
	}
	former := *f
	former.EndpointSlot = 3
	require.False(t, (&FlowFilter{Namespace: "other"}).selects(&former, names), "the slot has another Pod now")
	within := &datapath.Flow{
		Direction: datapath.DirectionEgress, Local: true, EndpointSlot: 1, PeerSlot: 3, NodeSlot: -1,
		Source: netip.MustParseAddrPort("10.0.0.1:1"), Destination: netip.MustParseAddrPort("10.96.0.1:2"), Translated: netip.MustParseAddrPort("10.0.0.3:3"),
	}
	for _, c := range []struct {
		filter FlowFilter
		want   bool
	}{
		{FlowFilter{Namespace: "ns", Pod: "a"}, true}, {FlowFilter{Namespace: "other", Pod: "b"}, true},
		{FlowFilter{Namespace: "ns", Pod: "b"}, false}, {FlowFilter{Node: "n2"}, false},
	} {
		require.Equal(t, c.want, c.filter.selects(within, names), "%+v", c.filter)
	}
}
