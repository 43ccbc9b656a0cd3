// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

func TestRest(t *testing.T) {
	const pause = 2500 * time.Millisecond
	require.Equal(t, pause, rest(pause, time.Millisecond))
	require.Equal(t, 10*time.Second, rest(pause, 500*time.Millisecond))
	require.Less(t, rest(pause, time.Hour), longestPromise/2, "the promise goes on")
}

// TestOneOf: the two directions of a connection have one tuple.
func TestOneOf(t *testing.T) {
	a, b := netip.MustParseAddrPort("10.0.0.9:80"), netip.MustParseAddrPort("10.0.0.1:4000")
	one := oneOf(datapath.Connection{Source: a, Destination: b})
	require.Equal(t, one, oneOf(datapath.Connection{Source: b, Destination: a}))
	require.Equal(t, b.Addr(), one.Source)
	require.EqualValues(t, 80, one.DestinationPort)
	require.NotEqual(t, one, oneOf(datapath.Connection{Source: b, Destination: netip.MustParseAddrPort("10.0.0.9:81")}))
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
