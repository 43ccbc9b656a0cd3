// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/features"
)

func TestNodeIPAM(t *testing.T) {
	for _, tc := range []struct{ name, text, err string }{
		{name: "one version", text: "clusterCIDRs: [10.10.0.0/16], serviceCIDR: 10.96.0.0/12"},
		{name: "both", text: "clusterCIDRs: [10.10.0.0/16, 'fd00:10:10::/56'], serviceCIDR: '10.96.0.0/12,fd00:96::/112', serviceCIDRv6: 'fd00:97::/112'"},
		{name: "without its networks", text: "clusterCIDRs: []"},
		{name: "no network", text: "clusterCIDRs: [10.10.0.0]", err: `nodeIPAM.clusterCIDRs: "10.10.0.0" is not a network`},
		{name: "an address in a network", text: "clusterCIDRs: [10.10.0.1/16]", err: `"10.10.0.1/16" is not a network`},
		{name: "two of one version", text: "clusterCIDRs: [10.10.0.0/16, 10.12.0.0/16]", err: "10.10.0.0/16 and 10.12.0.0/16 have the same IP version; allowed: one network of each version"},
		{name: "larger than the cluster's", text: "clusterCIDRs: [10.10.0.0/16], nodeCIDRMaskSizeIPv4: 15", err: "nodeCIDRMaskSizeIPv4: 15 is not a prefix length of a part of 10.10.0.0/16; allowed: 16 to 30"},
		{name: "too many", text: "clusterCIDRs: ['fd00:10::/40']", err: "nodeCIDRMaskSizeIPv6: 64 is not a prefix length of a part of fd00:10::/40; allowed: 40 to 56"},
		{name: "no room for Pods", text: "clusterCIDRs: [10.10.0.0/16], nodeCIDRMaskSizeIPv4: 31", err: "allowed: 16 to 30"},
		{name: "Services", text: "clusterCIDRs: [10.10.0.0/16], serviceCIDR: x", err: `nodeIPAM.serviceCIDR: "x" is not a network`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Parse([]byte("nodeIPAM: {enableNodeIPAM: true, " + tc.text + "}"))
			require.NoError(t, err)
			on, err := features.New(nil)
			require.NoError(t, err)
			if tc.err != "" {
				require.ErrorContains(t, c.Validate(on), tc.err)
			} else {
				require.NoError(t, c.Validate(on))
			}
			off, err := features.New(map[string]bool{"NodeIPAM": false})
			require.NoError(t, err)
			require.NoError(t, c.Validate(off))
			require.Equal(t, []string{"nodeIPAM.enableNodeIPAM needs the feature gate NodeIPAM"}, c.WithoutEffect(off))
			c.NodeIPAM.ClusterCIDRs = nil
			require.Equal(t, []string{"nodeIPAM.enableNodeIPAM needs nodeIPAM.clusterCIDRs, from which to allocate Pod networks"}, c.WithoutEffect(on))
			c.NodeIPAM.EnableNodeIPAM = false
			require.Empty(t, c.WithoutEffect(on))
		})
	}
	settings := NodeIPAMConfig{ClusterCIDRs: []string{"10.10.0.0/16"}, ServiceCIDR: "10.96.0.0/12", ServiceCIDRv6: "fd00:96::/112"}
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.10.0.0/16")}, settings.ClusterNetworks())
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd00:96::/112")}, settings.ServiceNetworks())
}
