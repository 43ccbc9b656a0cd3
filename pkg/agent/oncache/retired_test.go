// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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

// reports are a reader of a report in every millisecond, until err.
type reports struct {
	unread chan datapath.Retired
	err    error
	waits  int
}

func (r *reports) Wait(_ time.Time, yield func(datapath.Retired)) error {
	r.waits++
	report, more := <-r.unread
	if !more {
		return r.err
	}
	yield(report)
	return nil
}

func (r *reports) Drain(yield func(datapath.Retired)) error {
	for len(r.unread) > 0 {
		yield(<-r.unread)
	}
	return nil
}

// A Node with many short connections does not wake up the agent for each of them.
func TestRetiredAreReadTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{unread: make(chan datapath.Retired, 1000), err: errors.New("the end")}
		go func() {
			for range 1000 {
				r.unread <- datapath.Retired{}
				time.Sleep(time.Millisecond)
			}
			close(r.unread)
		}()
		read := 0
		require.ErrorIs(t, follow(t.Context(), r, func(datapath.Retired) { read++ }), r.err)
		require.Equal(t, 1000, read)
		require.Less(t, r.waits, 5)
	})
}

// The reader does not wait for more reports when its agent ends.
func TestReadingOfRetiredEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{unread: make(chan datapath.Retired, 1)}
		r.unread <- datapath.Retired{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		require.ErrorIs(t, follow(ctx, r, func(datapath.Retired) {}), context.Canceled)
		require.Zero(t, time.Since(begun))
	})
}

func TestWatcherOfRetiredEndsAlone(t *testing.T) {
	f := retiredFeed{expected: 2, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, f.watch(ctx, retiredWatcher{}, nil))
}
