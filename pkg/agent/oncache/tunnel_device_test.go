// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestTunnelDevice(t *testing.T) {
	require.Equal(t, "genev_sys_6081", TunnelDevice("geneve", 6081))
	require.Equal(t, "vxlan_sys_4789", TunnelDevice("vxlan", 4789))
}

// TestTunnelProgramFollowsTheDevice: the device may come later, be recreated, and lose the program.
func TestTunnelProgramFollowsTheDevice(t *testing.T) {
	sandbox.RequireRoot(t)
	const name = "vxlan_sys_4790"
	pins := filepath.Join(sandbox.BPFFS, t.Name(), "oncache")
	dp, err := datapath.Load(datapath.Options{PinPath: pins, MaxFlows: 1024})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, datapath.RemoveAll(pins))
		require.NoError(t, dp.Close())
	})
	var k tunnelKeeper
	k.keep(dp, name)
	require.Contains(t, k.problem, "tunnel device "+name)
	require.Zero(t, k.ifIndex)

	makeDevice := func() int {
		ip(t, "link add "+name+" type vxlan external dstport 4790")
		device, err := netlink.LinkByName(name)
		require.NoError(t, err)
		return device.Attrs().Index
	}
	t.Cleanup(func() { ip(t, "link del "+name) })
	requireKept := func(index int) {
		t.Helper()
		k.keep(dp, name)
		require.Empty(t, k.problem)
		require.Equal(t, index, k.ifIndex)
		ok, err := dp.InPlace(index, datapath.RoleTunnel)
		require.NoError(t, err)
		require.True(t, ok)
		attached, err := datapath.Attached(pins)
		require.NoError(t, err)
		require.Equal(t, []int{index}, attached)
	}
	first := makeDevice()
	requireKept(first)
	requireKept(first)
	require.NoError(t, dp.Detach(first))
	requireKept(first)
	ip(t, "link del "+name)
	second := makeDevice()
	require.NotEqual(t, first, second)
	requireKept(second)
}
