// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestLimiterForgets(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	l := New[uint32](clock)
	for port := range uint32(1000) {
		ok, first := l.Allow(port)
		require.True(t, ok)
		require.False(t, first)
	}
	require.Len(t, l.buckets, 1000)
	clock.SetTime(clock.Now().Add(Burst * time.Second / PerSecond))
	l.Allow(5000)
	require.Len(t, l.buckets, 1)

	var firsts, refused int
	for range 2 * Burst {
		ok, first := l.Allow(5000)
		if !ok {
			refused++
		}
		if first {
			firsts++
		}
	}
	require.Equal(t, Burst+1, refused)
	require.Equal(t, 1, firsts, "one line in the log")
}
