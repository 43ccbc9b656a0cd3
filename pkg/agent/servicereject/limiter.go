// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"time"

	"k8s.io/utils/clock"
)

// Each port gets answersPerSecond, and at most burst at once.
const (
	answersPerSecond = 100
	burst            = 200
)

// limiter counts answers of each port: a token bucket for each. A bucket that is full again is forgotten.
type limiter struct {
	clock   clock.PassiveClock
	buckets map[uint32]*bucket
	swept   time.Time
}

type bucket struct {
	tokens float64
	at     time.Time
	// refused is set when the port has been refused an answer.
	refused bool
}

func newLimiter(c clock.PassiveClock) *limiter {
	return &limiter{clock: c, buckets: map[uint32]*bucket{}, swept: c.Now()}
}

// allow takes a token of the port. first is set when there is none for the first time since its bucket was forgotten.
func (l *limiter) allow(port uint32) (ok, first bool) {
	now := l.clock.Now()
	l.sweep(now)
	b := l.buckets[port]
	if b == nil {
		b = &bucket{tokens: burst, at: now}
		l.buckets[port] = b
	}
	b.fill(now)
	if b.tokens < 1 {
		first = !b.refused
		b.refused = true
		return false, first
	}
	b.tokens--
	return true, false
}

func (b *bucket) fill(now time.Time) {
	b.tokens, b.at = min(b.tokens+now.Sub(b.at).Seconds()*answersPerSecond, burst), now
}

// sweep forgets full buckets, so that there are not more than ports that needed answers lately.
func (l *limiter) sweep(now time.Time) {
	const full = burst * time.Second / answersPerSecond
	if now.Sub(l.swept) < full {
		return
	}
	l.swept = now
	for port, b := range l.buckets {
		if now.Sub(b.at) >= full {
			delete(l.buckets, port)
		}
	}
}
