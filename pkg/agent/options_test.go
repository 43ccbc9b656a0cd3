// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

func TestNewOptions(t *testing.T) {
	c, err := agentconfig.Parse([]byte("podCIDRs: 10.10.0.0/24, fd00:10::/64\ntransportInterfaceCIDRs: [192.168.0.0/16]\ntunnelType: vxlan\ntunnelPort: 4790"))
	require.NoError(t, err)
	o, err := NewOptions(c, "node1")
	require.NoError(t, err)
	require.Equal(t, &Options{
		NodeName: "node1", OVSBridge: "br-int", HostGateway: "antrea-gw0",
		TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeVXLAN, TunnelPort: 4790,
		TransportInterfaceCIDRs: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16")},
		PodCIDRs:                []netip.Prefix{netip.MustParsePrefix("10.10.0.0/24"), netip.MustParsePrefix("fd00:10::/64")},
	}, o)

	c.TransportInterfaceCIDRs = []string{"eth0"}
	_, err = NewOptions(c, "node1")
	require.ErrorContains(t, err, "transportInterfaceCIDRs")
}
