// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leadership

import "time"

// record is the content of a Lease. Its times are from other machines' clocks, so only changes of them count.
type record struct {
	// holder is empty when the Lease was released.
	holder string
	// renewed is the holder's time of the last renewal. Others may change the object in other ways.
	renewed string
}

// core makes the decisions of one controller.
type core struct {
	identity string
	// duration is the time after which another holder whose record has not changed counts as dead.
	duration time.Duration
	// taken is set once this controller has been the holder. From then on it does not take the Lease from a living one.
	taken bool
	// seen is the last record, and since the time at which it appeared, by this machine's monotonic clock.
	seen  record
	since time.Time
}

// decision is the reaction to a record.
type decision struct {
	// write asks to enter this controller as the holder, or to renew it.
	write bool
	// serve is set when this controller is the holder, if nothing is written.
	serve bool
	// alone is set when no other controller is known to live. This one then serves even if it cannot write that.
	alone bool
}

// observe returns the reaction to the present Lease. A Lease that does not exist is a zero record.
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

// wrote records that this controller is the holder.
func (c *core) wrote() { c.taken = true }
