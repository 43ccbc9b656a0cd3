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
	// The two are not read at the same time, and a machine without CPU time counts ticks late. A wrong length of ticks shows at all times.
	require.Eventually(t, func() bool {
		end, err := d.now()
		if err != nil {
			return false
		}
		jiffies, clock := time.Duration(end.jiffies-begin.jiffies)*d.jiffy, time.Duration(end.monotonic-begin.monotonic)
		return clock >= 300*time.Millisecond && (jiffies-clock).Abs() <= clock/4
	}, time.Minute, 10*time.Millisecond)
}
