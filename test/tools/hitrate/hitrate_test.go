// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package hitrate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHitsGoOnWhileHalfOfThePacketsAreHits(t *testing.T) {
	at := []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second}
	r := summarize([]packets{{100, 10}, {200, 10}, {300, 85}, {400, 135}}, at)
	require.Equal(t, 3*time.Second, r.GoingOn)
	require.Equal(t, 4*time.Second, r.Whole)
	require.Equal(t, 1750*time.Millisecond, r.Missing)
	require.InDelta(t, 0.75, r.Part(), 1e-9)
	require.Contains(t, r.String(), "2.0 s:    100 packets,  25.0 % hits")
}

func TestNewTunnelDevice(t *testing.T) {
	r := summarize([]packets{{100, 50}, {200, 10}}, []time.Duration{0, time.Second})
	require.InDelta(t, 0.1, r.Missing.Seconds(), 1e-6)
}

func TestSilenceIsNoHit(t *testing.T) {
	require.Zero(t, summarize([]packets{{100, 50}, {100, 50}}, []time.Duration{0, time.Second}).Part())
}
