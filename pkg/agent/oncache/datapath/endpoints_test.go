// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestAddressGoesToAnotherSlot: clearing an address's former owner leaves the address with its present one.
func TestAddressGoesToAnotherSlot(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	owner := func() (slot uint32) {
		require.NoError(t, w.Maps.EndpointIps.Lookup(keyOf(harness.PodIP), &slot))
		return slot
	}
	require.EqualValues(t, harness.PodSlot, owner())
	require.NoError(t, w.SetEndpoint(harness.PodSlot+1, datapath.Endpoint{IfIndex: w.PodIf + 1000, IPv4: harness.PodIP, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC}))
	require.EqualValues(t, harness.PodSlot+1, owner())
	require.NoError(t, w.ClearEndpoint(harness.PodSlot))
	require.EqualValues(t, harness.PodSlot+1, owner())
	w.NoteEpoch(harness.PodSlot+1, 7)
	require.EqualValues(t, 7, w.FormerEpochs()[harness.PodIP])
	w.NoteEpoch(harness.PodSlot, 9)
	require.EqualValues(t, 7, w.FormerEpochs()[harness.PodIP], "not the epoch of the slot that had it before")
	require.NoError(t, w.ClearEndpoint(harness.PodSlot+1))
	require.EqualValues(t, 7, w.FormerEpochs()[harness.PodIP])
	var slot uint32
	require.Error(t, w.Maps.EndpointIps.Lookup(keyOf(harness.PodIP), &slot))
}

// keyOf returns the key of endpoint_ips.
func keyOf(ip netip.Addr) object.BpfOncAddress {
	return object.BpfOncAddress{Addr: object.Wire6(netip.AddrFrom16(ip.As16()))}
}

// TestLatestEpochOfAnAddress: agents give a Pod different slots. The remains of a former slot must not hide the latest epoch.
func TestLatestEpochOfAnAddress(t *testing.T) {
	w := harness.NewWorld(t)
	pod := datapath.Endpoint{IfIndex: w.PodIf, IPv4: harness.PodIP, IPv6: harness.PodIP6, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC}
	w.NoteEpoch(harness.PodSlot, 5)
	require.NoError(t, w.Reset())
	require.Equal(t, map[netip.Addr]uint32{harness.PodIP: 5, harness.PodIP6: 5}, w.FormerEpochs())
	for i, slot := range []int{harness.PodSlot - 1, harness.PodSlot + 1, harness.PodSlot} {
		epoch := uint32(6 + i)
		require.NoError(t, w.SetEndpoint(slot, pod))
		w.NoteEpoch(slot, epoch)
		require.Equal(t, map[netip.Addr]uint32{harness.PodIP: epoch, harness.PodIP6: epoch}, w.FormerEpochs(), "slot %d", slot)
		require.NoError(t, w.Reset())
	}
	require.NoError(t, w.SetEndpoint(0, datapath.Endpoint{IfIndex: w.PodIf, IPv4: harness.PodIP, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC}))
	w.NoteEpoch(0, 9)
	former := w.FormerEpochs()
	require.EqualValues(t, 9, former[harness.PodIP])
	require.Contains(t, former, harness.PodIP6, "an address that is unused since")
}
