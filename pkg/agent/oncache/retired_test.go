// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// One watcher reads for all, once all watch: none misses what the buffer already contains. All learn why reading has ended.
func TestAllWatchersGetTheRetired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := retiredFeed{expected: 2, ended: make(chan struct{})}
		var got, drained [2]int
		readings, errEnd := 0, errors.New("the end")
		read := func(_ context.Context, watchers []retiredWatcher) error {
			readings++
			for _, w := range watchers {
				w.yield(datapath.Retired{})
				w.drained()
			}
			return errEnd
		}
		results := make(chan error, 2)
		watch := func(i int) {
			results <- f.watch(t.Context(), retiredWatcher{func() { drained[i]++ }, func(datapath.Retired) { got[i]++ }}, read)
		}
		go watch(0)
		synctest.Wait()
		require.Zero(t, readings, "the other watcher would miss what is read now")
		go watch(1)
		for range 2 {
			require.ErrorIs(t, <-results, errEnd)
		}
		require.Equal(t, [2]int{1, 1}, got)
		require.Equal(t, [2]int{1, 1}, drained)
		require.Equal(t, 1, readings)
	})
}

func TestWatcherOfRetiredEndsAlone(t *testing.T) {
	f := retiredFeed{expected: 2, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, f.watch(ctx, retiredWatcher{}, nil))
}
