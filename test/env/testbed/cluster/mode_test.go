// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModes(t *testing.T) {
	for mode, want := range map[Mode]map[string]any{
		Encap:     {"trafficEncapMode": "encap", "trafficEncryptionMode": "none"},
		NoEncap:   {"trafficEncapMode": "noEncap", "trafficEncryptionMode": "none"},
		Hybrid:    {"trafficEncapMode": "hybrid", "trafficEncryptionMode": "none"},
		WireGuard: {"trafficEncapMode": "encap", "trafficEncryptionMode": "wireGuard"},
	} {
		parsed, err := ParseMode(string(mode))
		require.NoError(t, err)
		conf := map[string]any{}
		parsed.Configure(conf)
		require.Equal(t, want, conf)
		require.Equal(t, mode == NoEncap || mode == Hybrid, mode.Direct())
		require.Contains(t, Modes, mode)
	}
	_, err := ParseMode("wireguard")
	require.ErrorContains(t, err, `no traffic mode "wireguard", it must be one of [encap noEncap hybrid wireGuard]`)
}
