// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// reconnectDelay is the first delay after a watch that could not be opened or ended at once; further ones grow up to
	// maxReconnectDelay. When antrea-controller has restarted or appeared, all agents react at the same time, and spread
	// their attempts over this time.
	reconnectDelay    = 5 * time.Second
	maxReconnectDelay = time.Minute
	// firstReconnectDelay is the first delay before there was a complete set. It grows up to reconnectDelay.
	firstReconnectDelay = 500 * time.Millisecond
)

// pause waits before the next attempt to watch. began is the start of the last attempt, reason its error. It returns early
// when antrea-controller has moved, or when the initial wait for it ends.
func (w *watcher) pause(ctx context.Context, began time.Time, moved <-chan struct{}, reason error) {
	timer := time.NewTimer(w.nextDelay(time.Since(began)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-w.giveUp.C:
		w.fallBack(reason)
	case <-w.storeAgain.C:
		w.storeAll()
	case <-moved:
		w.delays.Reset()
		if w.synced {
			_ = retry.Sleep(ctx, retry.Spread(w.reconnectDelay))
		}
	}
}

// nextDelay returns the delay after a watch with the given duration.
func (w *watcher) nextDelay(lasted time.Duration) time.Duration {
	if !w.synced {
		w.delays.Backoff = retry.Backoff{Min: w.firstReconnectDelay, Max: w.reconnectDelay}
		return w.delays.Next()
	}
	w.delays.Backoff = retry.Backoff{Min: w.reconnectDelay, Max: maxReconnectDelay}
	if lasted >= w.reconnectDelay {
		w.delays.Reset()
		return retry.Spread(w.reconnectDelay)
	}
	return w.delays.Next()
}

// link writes the state of the connection to antrea-controller into the log: one line when the last of the watches is complete and one when the
// first of them ends.
type link struct {
	up bool
	// changed is the time of the last transition, zero at start.
	changed time.Time
}

// noteLink compares the link with the watches; the caller holds mu. reason is the error of a watch that has ended, if any.
func (c *Controller) noteLink(reason error) {
	up := !slices.ContainsFunc(c.watchers, func(w *watcher) bool { return !w.connected })
	if up == c.link.up {
		return
	}
	now := time.Now()
	switch {
	case !up:
		klog.ErrorS(reason, "Lost antrea-controller, its last policies stay in force")
	case c.link.changed.IsZero():
		klog.InfoS("Watching antrea-controller")
	default:
		klog.InfoS("Watching antrea-controller again", "duration", now.Sub(c.link.changed).Round(time.Millisecond))
	}
	c.link = link{up: up, changed: now}
}
