// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// TestOwnPorts: no Service may have the ports on which Nodes reach each other.
func TestOwnPorts(t *testing.T) {
	o, err := completeOptions(t, "trafficEncryptionMode: wireGuard")
	require.NoError(t, err)
	own := ownPorts(o.config, &config.NetworkConfig{TunnelPort: 6081, WireGuardPort: 51820})
	require.Equal(t, "WireGuard between Nodes", own[51820])
	require.Equal(t, "the tunnel between Nodes", own[6081])
	require.NotContains(t, ownPorts(o.config, &config.NetworkConfig{}), uint16(0))
}
