// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestSuspend: an agent stops programs that an earlier agent has left running, without knowing their layout.
func TestSuspend(t *testing.T) {
	w := harness.NewWorld(t)
	w.Learn(harness.FromPod(), harness.ToPod())
	require.NoError(t, datapath.Suspend(w.PinPath))
	require.Equal(t, datapath.ModeOff, w.Mode())
	require.Equal(t, "off", w.Egress(0, harness.FromPod().Bytes(t)).Reason)
	require.NoError(t, datapath.Suspend(w.PinPath+"-that-does-not-exist"))
}

// TestStopHits: packets keep their stamps, so that they match the flows that the kernel has kept.
func TestStopHits(t *testing.T) {
	w := harness.NewWorld(t)
	w.Learn(harness.FromPod(), harness.ToPod())
	other := harness.FromPod()
	other.SrcPort++
	stamp := w.Egress(0, other.Bytes(t)).Stamp
	require.NotZero(t, stamp)
	require.NoError(t, datapath.StopHits(w.PinPath))
	require.Equal(t, datapath.ModeObserve, w.Mode())
	hit := w.Egress(0, harness.FromPod().Bytes(t))
	require.Equal(t, "observed", hit.Reason)
	require.Equal(t, stamp, hit.Stamp)

	require.NoError(t, datapath.Suspend(w.PinPath))
	require.NoError(t, datapath.StopHits(w.PinPath))
	require.Equal(t, datapath.ModeOff, w.Mode(), "nothing is switched on")
}
