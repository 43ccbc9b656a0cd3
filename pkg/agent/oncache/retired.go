// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// retiredFeed hands the counts of entries that are gone to all its watchers: the programs' buffer has one reader.
type retiredFeed struct {
	mu       sync.Mutex
	expected int
	watchers []retiredWatcher
	// ended is closed when the reader has ended, with err.
	ended chan struct{}
	err   error
}

type retiredWatcher struct {
	drained func()
	yield   func(datapath.Retired)
}

// ExpectRetiredWatcher announces a call of WatchRetired. Call it before Start.
func (m *Manager) ExpectRetiredWatcher() {
	m.retired.mu.Lock()
	defer m.retired.mu.Unlock()
	m.retired.expected++
}

// WatchRetired hands the counts of each entry that is removed or replaced to yield, until ctx ends or they cannot be read. It begins when all
// expected watchers watch; their contexts end together. Then it calls drained, once yield has got the entries that were gone already. yield may be
// called concurrently, and must not block. WatchRetired returns nil at once if the cache is not available. Call it when Started is closed.
func (m *Manager) WatchRetired(ctx context.Context, drained func(), yield func(datapath.Retired)) error {
	if m.Unavailable() != nil {
		return nil
	}
	return m.retired.watch(ctx, retiredWatcher{drained, yield}, m.readRetired)
}

// watch reads for all watchers if this is the last of them, and otherwise waits until ctx ends or reading does.
func (f *retiredFeed) watch(ctx context.Context, w retiredWatcher, read func(context.Context, []retiredWatcher) error) error {
	f.mu.Lock()
	f.watchers = append(f.watchers, w)
	last := len(f.watchers) == f.expected
	f.mu.Unlock()
	if last {
		f.err = read(ctx, f.watchers)
		close(f.ended)
		return f.err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-f.ended:
		return f.err
	}
}

// together is the time that the reader waits after a report, to read several at once: to wake it up for each would cost a connection with one request a
// fifth of what it costs in all. In that time the buffer has room for 11,000 reports: 110,000 a second.
const together = 100 * time.Millisecond

// retiredReader is the programs' buffer; datapath.RetiredReader implements it.
type retiredReader interface {
	Wait(deadline time.Time, yield func(datapath.Retired)) error
	Drain(yield func(datapath.Retired)) error
}

// follow hands reports to yield until ctx ends or they cannot be read. As long as reports come it does not wait for the first of the next ones.
func follow(ctx context.Context, reader retiredReader, yield func(datapath.Retired)) error {
	for quiet := true; ; {
		if quiet {
			if err := reader.Wait(time.Time{}, yield); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(together):
		}
		quiet = true
		err := reader.Drain(func(r datapath.Retired) {
			quiet = false
			yield(r)
		})
		if err != nil {
			return err
		}
	}
}

// readRetired reads until ctx ends, and then returns nil.
func (m *Manager) readRetired(ctx context.Context, watchers []retiredWatcher) error {
	yield := func(r datapath.Retired) {
		for _, w := range watchers {
			w.yield(r)
		}
	}
	reader, err := m.dp.NewRetiredReader()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = reader.Close() })
	defer stop()
	m.dp.OnRemoved(yield)
	err = reader.Drain(yield)
	for _, w := range watchers {
		w.drained()
	}
	if err == nil {
		err = follow(ctx, reader, yield)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
