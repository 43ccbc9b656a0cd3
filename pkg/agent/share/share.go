// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package share gives each Pod its share of what the agent does for packets that come to it, so that a Pod that floods the agent takes
// nothing from others. Of the queues that such packets wait in, each Pod has its share as well (pkg/ovs/openflow.Sender).
package share

import (
	"time"

	"k8s.io/utils/clock"
)

// Each key gets PerSecond tokens a second, and at most Burst at once.
const (
	PerSecond = 100
	Burst     = 200
)

// Limiter has a token bucket for each key, such as an OpenFlow port. A bucket that is full again is forgotten. Only one goroutine may use it.
type Limiter[K comparable] struct {
	clock   clock.PassiveClock
	buckets map[K]*bucket
	swept   time.Time
}

type bucket struct {
	tokens float64
	at     time.Time
	// refused is set when the key has been refused a token.
	refused bool
}

// New makes a Limiter whose buckets are all full.
func New[K comparable](c clock.PassiveClock) *Limiter[K] {
	return &Limiter[K]{clock: c, buckets: map[K]*bucket{}, swept: c.Now()}
}

// Allow takes a token of the key. first is set when there is none for the first time since its bucket was forgotten.
func (l *Limiter[K]) Allow(key K) (ok, first bool) {
	now := l.clock.Now()
	l.sweep(now)
	b := l.buckets[key]
	if b == nil {
		b = &bucket{tokens: Burst, at: now}
		l.buckets[key] = b
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
	b.tokens, b.at = min(b.tokens+now.Sub(b.at).Seconds()*PerSecond, Burst), now
}

// sweep forgets full buckets, so that there are not more than keys that needed tokens lately.
func (l *Limiter[K]) sweep(now time.Time) {
	const full = Burst * time.Second / PerSecond
	if now.Sub(l.swept) < full {
		return
	}
	l.swept = now
	for key, b := range l.buckets {
		if now.Sub(b.at) >= full {
			delete(l.buckets, key)
		}
	}
}
