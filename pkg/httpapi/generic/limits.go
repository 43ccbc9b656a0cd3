// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"time"
)

// Limits bound the cost of clients before the server has identified them, and the cost of slow clients at any time. Zero
// fields take the value of DefaultLimits.
type Limits struct {
	// Header limits the TLS handshake, and the header of each request.
	Header time.Duration
	// Body limits the time for the body of a request.
	Body time.Duration
	// Write limits the time for which a client may leave a piece of the answer, or an event of a watch, unread.
	Write time.Duration
	// Idle limits the time between two requests of a connection.
	Idle time.Duration
	// HeaderBytes and BodyBytes are the largest header and body of a request.
	HeaderBytes int
	BodyBytes   int64
	// Guests limits the open connections without an allowed request, GuestsOfSource the connections of one address
	// (IPv6: one /64). One more closes the oldest.
	Guests, GuestsOfSource int
	// Reviews limits the reviews of unknown tokens per second, ReviewsOfSource the reviews for one source.
	// ReviewsOfUser limits the new questions per second about one user's rights. Each allows a burst of burstSeconds'
	// worth.
	Reviews, ReviewsOfSource, ReviewsOfUser int
}

// burstSeconds is the time for which a client may exceed a rate after it was silent.
const burstSeconds = 4

// DefaultLimits suit a cluster of 5,000 Nodes that all connect to a controller at once. Requests here have no bodies, but
// the Kubernetes API forwards bodies that users send.
func DefaultLimits() Limits {
	return Limits{
		Header: 10 * time.Second, Body: 10 * time.Second, Write: 30 * time.Second, Idle: 90 * time.Second,
		HeaderBytes: 64 << 10, BodyBytes: 16 << 10,
		Guests: 1000, GuestsOfSource: 100,
		Reviews: 50, ReviewsOfSource: 5, ReviewsOfUser: 20,
	}
}

// complete replaces unset fields by the defaults.
func (l Limits) complete() Limits {
	defaults := DefaultLimits()
	durations := map[*time.Duration]time.Duration{
		&l.Header: defaults.Header, &l.Body: defaults.Body, &l.Write: defaults.Write, &l.Idle: defaults.Idle,
	}
	for limit, value := range durations {
		if *limit == 0 {
			*limit = value
		}
	}
	numbers := map[*int]int{
		&l.HeaderBytes: defaults.HeaderBytes, &l.Guests: defaults.Guests, &l.GuestsOfSource: defaults.GuestsOfSource,
		&l.Reviews: defaults.Reviews, &l.ReviewsOfSource: defaults.ReviewsOfSource, &l.ReviewsOfUser: defaults.ReviewsOfUser,
	}
	for limit, value := range numbers {
		if *limit == 0 {
			*limit = value
		}
	}
	if l.BodyBytes == 0 {
		l.BodyBytes = defaults.BodyBytes
	}
	return l
}
