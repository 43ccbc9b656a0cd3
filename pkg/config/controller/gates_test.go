// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/features"
)

// TestGatesThatNeedAntreaPolicy: without the tiers of AntreaPolicy, policies of the Kubernetes network policy API would not be enforced.
func TestGatesThatNeedAntreaPolicy(t *testing.T) {
	c, err := Parse(nil)
	require.NoError(t, err)
	for _, gate := range []string{"AdminNetworkPolicy", "ClusterNetworkPolicy"} {
		for _, tiers := range []bool{true, false} {
			gates, err := features.New(map[string]bool{gate: true, "AntreaPolicy": tiers})
			require.NoError(t, err)
			if err := c.Validate(gates); tiers {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "featureGates."+gate+": true needs the feature gate AntreaPolicy")
			}
		}
	}
}
