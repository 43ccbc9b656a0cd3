// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry says when to try again to reach another process, and tells the log that it is away: once when that begins
// and once when it ends.
//
// retry.go makes delays that grow and are spread by jitter, outage.go counts attempts and writes the two lines.
// Neither starts goroutines nor sleeps: the caller waits, for the delay or for whatever else may come first.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff says how delays grow.
type Backoff struct {
	// Min is the first delay. Each further failure doubles it, up to Max.
	Min, Max time.Duration
	// Lasting is how long a connection must have been up for the next failure to begin with Min again.
	Lasting time.Duration
}

// Delays are the delays between the attempts to reach one peer. The zero value is not usable; they are not safe for
// concurrent use.
type Delays struct {
	Backoff
	next time.Duration
}

// Next returns the delay before the next attempt: between half and all of what the number of failures allows, so that
// processes which failed at the same time do not come back at the same time.
func (d *Delays) Next() time.Duration {
	d.next = min(max(2*d.next, d.Min), d.Max)
	return d.next/2 + Spread(d.next/2)
}

// Reset makes Min the next delay.
func (d *Delays) Reset() { d.next = 0 }

// Spread returns a time between 0 and limit, evenly distributed.
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
