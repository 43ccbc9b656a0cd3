// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry decides when to try again to reach another process, and logs its outage: once at the beginning and once at
// the end.
//
// retry.go makes delays that grow and are spread by jitter, outage.go counts attempts to connect and writes the two lines,
// task.go does so for work that is repeated. None starts goroutines or sleeps: the caller waits, for the delay or for an event
// that comes first.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff describes how delays grow.
type Backoff struct {
	// Min is the first delay. Each further failure doubles it, up to Max.
	Min, Max time.Duration
	// Lasting is the time that a connection must have lasted so that the next failure starts with Min again.
	Lasting time.Duration
}

// Delays are the delays between the attempts to reach one peer. The zero value is not usable; they are not safe for
// concurrent use.
type Delays struct {
	Backoff
	next time.Duration
}

// Next returns the delay before the next attempt. It is between half and all of the delay for the number of failures, so
// that processes that failed at the same time do not return at the same time.
func (d *Delays) Next() time.Duration {
	d.next = min(max(2*d.next, d.Min), d.Max)
	return d.next/2 + Spread(d.next/2)
}

// Reset makes Min the next delay.
func (d *Delays) Reset() { d.next = 0 }

// Spread returns a time between 0 and limit, uniformly distributed.
func Spread(limit time.Duration) time.Duration {
	return rand.N(limit + 1)
}

// Sleep waits for the delay, and returns early, with the error of ctx, when ctx ends.
func Sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
