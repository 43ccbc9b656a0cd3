// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseDefaults(t *testing.T) {
	for name, text := range map[string]string{
		"empty file":     "",
		"comments only":  "# featureGates:\n",
		"empty sections": "featureGates: {}\nnodeIPAM: {}\nclientConnection:\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(text))
			require.NoError(t, err)
			require.Equal(t, 10349, c.APIPort)
			require.True(t, *c.EnablePrometheusMetrics)
			require.True(t, *c.SelfSignedCert)
			require.False(t, c.NodeIPAM.EnableNodeIPAM)
			require.Equal(t, 24, c.NodeIPAM.NodeCIDRMaskSizeIPv4)
			require.Equal(t, 64, c.NodeIPAM.NodeCIDRMaskSizeIPv6)
			require.True(t, *c.IPsecCSRSigner.SelfSignedCA)
			require.True(t, *c.IPsecCSRSigner.AutoApprove)
			require.NoError(t, UnknownKeys([]byte(text)))
		})
	}
}

func TestParse(t *testing.T) {
	text := []byte("apiPort: 1234\nselfSignedCert: false\nnoSuchKey: 1\nnodeIPAM:\n  clusterCIDRs: [10.0.0.0/8]\n  noSuchSubkey: x\n")
	c, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, 1234, c.APIPort)
	require.False(t, *c.SelfSignedCert)
	require.Equal(t, []string{"10.0.0.0/8"}, c.NodeIPAM.ClusterCIDRs)
	err = UnknownKeys(text)
	require.ErrorContains(t, err, "noSuchKey")
	require.ErrorContains(t, err, "noSuchSubkey")

	_, err = Parse([]byte("apiPort: x"))
	require.ErrorContains(t, err, "apiPort")
}
