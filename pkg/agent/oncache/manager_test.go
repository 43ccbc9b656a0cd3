// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// TestPodRole: packets for a device without a peer would be dropped. TestNetkitGateOn shows on a real netkit pair that its
// primary device is accepted.
func TestPodRole(t *testing.T) {
	role, err := podRole(&netlink.Veth{})
	require.NoError(t, err)
	require.Equal(t, datapath.RolePod, role)
	for name, tc := range map[string]struct {
		device netlink.Link
		err    string
	}{
		"dummy":                    {&netlink.Dummy{}, `kind "dummy"`},
		"tap of a virtual machine": {&netlink.Tuntap{}, `kind "tuntap"`},
		"netkit, L3 mode":          {&netlink.Netkit{Mode: netlink.NETKIT_MODE_L3}, "L2 mode"},
		"netkit, the peer":         {&netlink.Netkit{Mode: netlink.NETKIT_MODE_L2}, "primary"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := podRole(tc.device)
			require.ErrorContains(t, err, tc.err)
		})
	}
}
