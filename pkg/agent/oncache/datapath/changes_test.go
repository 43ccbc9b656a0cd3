// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// loadAlone loads programs and maps for this test alone.
func loadAlone(t *testing.T) *Datapath {
	sandbox.RequireRoot(t)
	pins := filepath.Join(sandbox.BPFFS, t.Name(), "oncache")
	d, err := Load(Options{PinPath: pins, MaxFlows: 1})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, RemoveAll(pins))
		require.NoError(t, d.Close())
	})
	return d
}

// TestChangesAreCountedOn: a restarted agent continues the count, because megaflows outlive the agent and Pods get other slots.
func TestChangesAreCountedOn(t *testing.T) {
	d := loadAlone(t)
	for slot := range 5 {
		d.StampEndpoint(slot, d.NextChange())
	}
	last := d.changes.Load()
	require.Equal(t, last, d.lastChange())
	d.StampEndpoint(2, d.NextChange())
	require.Equal(t, d.changes.Load(), d.lastChange(), "in whichever slot it is")
	require.NotEqual(t, last, d.lastChange())
	// The count wraps around.
	for slot := range d.endpoints.Elements {
		d.endpoints.Elements[slot].Changed = 0
	}
	d.endpoints.Elements[3].Changed, d.endpoints.Elements[4].Changed = math.MaxUint32, math.MaxUint32-1
	require.EqualValues(t, uint32(math.MaxUint32), d.lastChange())
}
