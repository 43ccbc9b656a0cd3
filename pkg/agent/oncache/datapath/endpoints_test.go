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
	require.NoError(t, w.ClearEndpoint(harness.PodSlot+1))
	var slot uint32
	require.Error(t, w.Maps.EndpointIps.Lookup(keyOf(harness.PodIP), &slot))
}

// keyOf returns the key of endpoint_ips.
func keyOf(ip netip.Addr) object.BpfOncAddress {
	return object.BpfOncAddress{Addr: object.Wire6(netip.AddrFrom16(ip.As16()))}
}
