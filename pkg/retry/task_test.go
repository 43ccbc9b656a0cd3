// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

func TestTask(t *testing.T) {
	lines := logtest.Capture(t)
	task := NewTask("The report", time.Hour, testBackoff, "node", "n1")
	require.Equal(t, time.Hour, task.Done(nil))
	require.Empty(t, lines(), "success is not news")
	for range 10 {
		require.LessOrEqual(t, task.Done(errors.New("no CRD")), testBackoff.Max)
	}
	require.Greater(t, task.Done(errors.New("not permitted")), testBackoff.Min, "the delay has grown")
	require.Equal(t, time.Hour, task.Done(nil))
	require.LessOrEqual(t, task.Done(errors.New("no CRD")), testBackoff.Min, "the delay starts again")
	got := lines()
	require.Len(t, got, 4)
	for i, want := range []string{"no CRD", "not permitted", "The report works again", "no CRD"} {
		require.Contains(t, got[i], want)
		require.Contains(t, got[i], `"node"="n1"`)
	}
}
