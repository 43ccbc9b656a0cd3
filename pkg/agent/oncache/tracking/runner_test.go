// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRest(t *testing.T) {
	const pause = 2500 * time.Millisecond
	require.Equal(t, pause, rest(pause, time.Millisecond))
	require.Equal(t, 10*time.Second, rest(pause, 500*time.Millisecond))
	require.Less(t, rest(pause, time.Hour), longestPromise/2, "the promise continues")
}

// TestWindow: an agent's first round looks at all connections that became idle while none was running.
func TestWindow(t *testing.T) {
	r := &Runner{lease: 10 * time.Second}
	now := time.Now()
	from, to := r.window(now)
	require.Equal(t, 5*time.Second, from)
	require.Greater(t, to, 100*24*time.Hour, "how long jiffies of 32 bits can tell")
	r.last = now.Add(-6 * time.Second)
	from, to = r.window(now)
	require.Equal(t, 5*time.Second, from)
	require.Equal(t, 16*time.Second, to)
}
