// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRewrites: another load balancer that replaces an address at once costs some writes, then one in ten minutes; what is new is written at once.
func TestRewrites(t *testing.T) {
	r, now := rewrites{}, time.Unix(0, 0)
	mine, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	writes := 0
	for range 60 * 60 * 20 { // an hour, at the rate of the Controller
		if r.mayWrite("s", mine, now) {
			r.written("s", mine, now)
			writes++
		}
		now = now.Add(settle)
	}
	require.Less(t, writes, 20)
	require.True(t, r.mayWrite("s", other, now))
	require.True(t, r.mayWrite("t", mine, now))
	r.written("s", other, now)
	require.True(t, r.mayWrite("s", other, now.Add(minRewrite)))
	r.written("t", mine, now.Add(2*rewriteMemory))
	require.Len(t, r, 1)
}
