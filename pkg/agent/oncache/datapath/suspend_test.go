// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestSuspend: programs that an earlier agent has left running forward nothing any more, whatever their layout, but stamp as before, so that packets
// find the kernel's flows.
func TestSuspend(t *testing.T) {
	w := harness.NewWorld(t)
	w.Learn(harness.FromPod(), harness.ToPod())
	before := w.Egress(0, harness.FromPod().Bytes(t))
	require.Equal(t, "hit", before.Reason)
	udp := harness.FromPod()
	udp.SrcPort++ // a flow that is not known
	stamped := w.Egress(0, udp.Bytes(t))
	require.NotZero(t, stamped.Stamp)
	require.NoError(t, datapath.Suspend(w.PinPath))
	require.Equal(t, datapath.ModeObserve, w.Mode())
	after := w.Egress(0, harness.FromPod().Bytes(t))
	require.Equal(t, "observed", after.Reason)
	require.Equal(t, harness.Next, after.Verdict)
	require.Equal(t, stamped.Stamp, after.Stamp)

	w.SetMode(datapath.ModeOff)
	require.NoError(t, datapath.Suspend(w.PinPath))
	require.Equal(t, datapath.ModeOff, w.Mode(), "what is off stays off: the kernel's flows are those of packets without stamps")
	require.NoError(t, datapath.Suspend(w.PinPath+"-that-does-not-exist"))
}
