// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package upkeep

import "time"

const (
	// settleTime is the time from an event to the look that it causes: changes come in groups, of which the agent's own are some.
	settleTime = 100 * time.Millisecond
	// minPause is the least time between two looks at a part. Others can cause events as often as they like.
	minPause = time.Second
	// costShare bounds the part of the time that looks take: a look is followed by a pause of this many times its duration.
	costShare = 20
	// maxPause bounds that pause. A machine that is busy with other things also makes looks long.
	maxPause = 30 * time.Second
	// maxRetry bounds the time from a look that has failed to the next one, unless looks are rarer.
	maxRetry = 10 * time.Second
)

// schedule decides when a part is looked at. It is not safe for concurrent use.
type schedule struct {
	// every is the time between two looks without events and failures.
	every time.Duration
	// next is the time of the next look, notBefore the earliest possible one.
	next, notBefore time.Time
	// failures counts the last looks that have failed.
	failures int
}

func newSchedule(now time.Time, every time.Duration) *schedule {
	return &schedule{every: every, next: now.Add(every)}
}

// event brings the next look forward.
func (s *schedule) event(now time.Time) {
	at := now.Add(settleTime)
	if at.Before(s.notBefore) {
		at = s.notBefore
	}
	if at.Before(s.next) {
		s.next = at
	}
}

// looked notes the end of a look that took some time, and whether it has failed. After failures the next look comes after one second, then two,
// and so on.
func (s *schedule) looked(now time.Time, took time.Duration, failed bool) {
	pause := min(max(minPause, costShare*took), maxPause)
	wait := s.every
	if failed {
		// A look may also be long because it waits for what is away.
		pause = min(pause, maxRetry)
		wait = min(max(s.every, maxRetry), minPause<<min(s.failures, 10))
		s.failures++
	} else {
		s.failures = 0
	}
	s.notBefore, s.next = now.Add(pause), now.Add(max(pause, wait))
}
