// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestJiffies: leases in the kernel's ticks are as long as in seconds.
func TestJiffies(t *testing.T) {
	d := loadAlone(t)
	d.SetUplink(Uplink{}, uint64(5*time.Second))
	require.EqualValues(t, 5*time.Second/d.jiffy, d.control.Elements[0].Lease)
	begin, err := d.now()
	require.NoError(t, err)
	var jiffies, clock time.Duration
	require.Eventually(t, func() bool {
		end, err := d.now()
		require.NoError(t, err)
		jiffies, clock = time.Duration(end.jiffies-begin.jiffies)*d.jiffy, time.Duration(end.monotonic-begin.monotonic)
		return clock >= 300*time.Millisecond
	}, time.Minute, 10*time.Millisecond)
	// The two are not read at the same time.
	require.InDelta(t, clock, jiffies, float64(clock)/4)
}
