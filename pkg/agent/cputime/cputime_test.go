// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cputime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	const work, rest = 50 * time.Millisecond, 500 * time.Millisecond
	spent := Of(func() {
		for begun := now(); now()-begun < work; {
		}
		select {
		case <-t.Context().Done():
		case <-time.After(rest):
		}
	})
	require.GreaterOrEqual(t, spent, work)
	require.Less(t, spent, rest)
}
