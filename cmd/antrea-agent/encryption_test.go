// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestRemovalOfWireGuardIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		removeWireGuard(t.Context(), func() error {
			if calls++; calls < 4 {
				return errors.New("it is busy")
			}
			return nil
		})
		require.Equal(t, 4, calls)
		ctx, cancel := context.WithCancel(t.Context())
		removeWireGuard(ctx, func() error { cancel(); return errors.New("it is busy") })
	})
}

// TestFormerHitsEndWithEncryption: they would send packets to other Nodes in clear.
func TestFormerHitsEndWithEncryption(t *testing.T) {
	for mode, agrees := range map[string]bool{"none": true, "wireGuard": false} {
		o, err := completeOptions(t, "featureGates: {ONCache: true}\ntrafficEncryptionMode: "+mode)
		require.NoError(t, err)
		require.Equal(t, agrees, formerCacheOf(o).Agrees != nil, mode)
	}
}
