// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rtnl

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// readInterval is the time between two reads without an event.
	readInterval = time.Minute
	// resubscribeDelay is the time from the end of a subscription to the next one.
	resubscribeDelay = time.Second
)

// watch hands the events of a subscription, about what, to see until ctx ends. It calls read when a subscription has begun, because something may have
// changed before, and now and then.
func watch[E any](ctx context.Context, what string, subscribe func(events chan<- E, done <-chan struct{}) error, read func(), see func(E)) {
	for ctx.Err() == nil {
		events := make(chan E, 64)
		round, end := context.WithCancel(ctx)
		if err := subscribe(events, round.Done()); err != nil {
			klog.ErrorS(err, "Changes are noticed late", "of", what, "interval", readInterval)
			events = nil
		}
		read()
		follow(ctx, events, read, see)
		end() // closes the socket
		_ = retry.Sleep(ctx, resubscribeDelay)
	}
}

// follow returns when events end, or after the interval without them.
func follow[E any](ctx context.Context, events <-chan E, read func(), see func(E)) {
	ticker := time.NewTicker(readInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if read(); events == nil {
				return
			}
		case event, ok := <-events:
			if !ok {
				return
			}
			see(event)
		}
	}
}

// lost logs that events were lost.
func lost(what string) func(error) {
	return func(err error) { klog.V(2).InfoS("Events are lost", "of", what, "reason", err) }
}
