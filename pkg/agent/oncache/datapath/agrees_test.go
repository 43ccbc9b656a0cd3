// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"maps"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestAgrees: the next agent finds out whether entries are results of what Open vSwitch has.
func TestAgrees(t *testing.T) {
	const maxFlows = 4096
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: maxFlows})
	written := map[netip.Addr]uint16{harness.PodIP: harness.Epoch, harness.PodIP6: harness.Epoch}
	agrees := func(maxFlows uint32, written map[netip.Addr]uint16) bool {
		t.Helper()
		agree, err := datapath.Agrees(datapath.Options{PinPath: w.PinPath, MaxFlows: maxFlows}, written)
		require.NoError(t, err)
		return agree
	}
	require.True(t, agrees(maxFlows, written))
	for ip := range written {
		other := maps.Clone(written)
		other[ip]++
		require.False(t, agrees(maxFlows, other), "Open vSwitch has another epoch for %v: rules of a change that was never published", ip)
		delete(other, ip)
		require.False(t, agrees(maxFlows, other), "Open vSwitch has no mark flows for %v", ip)
	}
	require.False(t, agrees(2*maxFlows, written), "maps of another size")
	agree, err := datapath.Agrees(datapath.Options{PinPath: w.PinPath, MaxFlows: maxFlows, Rewrite: true}, written)
	require.NoError(t, err)
	require.False(t, agree, "maps of programs that rewrite nothing")

	w.Control().Direct = 1
	require.False(t, agrees(maxFlows, written), "hits to Nodes that the next agent does not reach without the tunnel")
	agree, err = datapath.Agrees(datapath.Options{PinPath: w.PinPath, MaxFlows: maxFlows, Direct: true}, written)
	require.NoError(t, err)
	require.True(t, agree)
	w.Control().Direct = 0

	w.AddGateway()
	require.False(t, agrees(maxFlows, written), "Open vSwitch has no mark flows for the gateway")
	written[harness.GatewayIP], written[harness.GatewayIP6] = harness.Epoch, harness.Epoch
	require.True(t, agrees(maxFlows, written))
	gateway, _ := w.EndpointState(harness.GatewaySlot)
	w.PublishEndpoint(harness.GatewaySlot, gateway+1, 0)

	generation, _ := w.EndpointState(harness.PodSlot)
	w.PublishEndpoint(harness.PodSlot, generation+1, 0)
	require.True(t, agrees(maxFlows, nil), "the Pod has no valid entry, and learns nothing")
	w.PublishEndpoint(harness.PodSlot, generation+2, harness.Epoch)
	require.True(t, agrees(maxFlows, written))
	for _, mode := range []datapath.Mode{datapath.ModeOff, datapath.ModeObserve} {
		w.SetMode(mode)
		require.False(t, agrees(maxFlows, written), "mode %v has no hits", mode)
	}
	agree, err = datapath.Agrees(datapath.Options{PinPath: w.PinPath + "-that-does-not-exist", MaxFlows: maxFlows}, nil)
	require.NoError(t, err)
	require.False(t, agree)
}
