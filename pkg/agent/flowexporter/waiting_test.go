// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// While no reading succeeds, reports take a bounded amount of memory, and it is known how many were lost.
func TestReportsWithoutReadings(t *testing.T) {
	var w waiting[int]
	for i := range maxWaiting + 7 {
		w.add(i)
	}
	reports, lost := w.take()
	require.Len(t, reports, maxWaiting)
	require.Equal(t, maxWaiting-1, reports[maxWaiting-1])
	require.Equal(t, 7, lost)
	w.add(1)
	reports, lost = w.take()
	require.Equal(t, []int{1}, reports)
	require.Zero(t, lost)
}
