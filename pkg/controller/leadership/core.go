// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leadership

import "time"

// record is what a Lease says. Times in it are of other machines' clocks: only a change of it counts.
type record struct {
	// holder is empty when the Lease was given back.
	holder string
	// renewed is when the holder says it has renewed it. Others may touch the object otherwise.
	renewed string
}

// core decides for one controller.
type core struct {
	identity string
	// duration is how long a record of another holder may stay as it is before that holder counts as dead.
	duration time.Duration
	// taken is set once this controller has been the holder: from then on it does not take the Lease from a living one.
	taken bool
	// seen is the last record, since when it has been that by this machine's monotonic clock.
	seen  record
	since time.Time
}

// decision is what to do about a record.
type decision struct {
	// write asks for entering this controller as the holder, or for renewing it.
	write bool
	// serve says whether this controller is the holder, as long as nothing is written.
	serve bool
	// alone says that no other controller is known to live: then this one serves even if it cannot write that.
	alone bool
}

// observe decides what to do about the Lease as it is; a Lease that does not exist is a zero record.
func (c *core) observe(r record, now time.Time) decision {
	if r != c.seen {
		c.seen, c.since = r, now
	}
	switch {
	case r.holder == c.identity:
		return decision{write: true, serve: true, alone: true}
	case r.holder == "", now.Sub(c.since) >= c.duration:
		return decision{write: true, alone: true}
	case !c.taken:
		return decision{write: true}
	}
	return decision{}
}

// wrote notes that this controller is the holder.
func (c *core) wrote() { c.taken = true }
