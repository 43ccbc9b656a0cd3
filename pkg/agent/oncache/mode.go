// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// Observer is told when the cache begins or stops to work, so that an operator sees when that was. Its methods must not block.
type Observer interface {
	// Suspended: the transport interface cannot carry the fast path at the moment, or nil: it can again.
	Suspended(reason error)
	// ModeChanged: somebody has changed the wanted mode.
	ModeChanged(from, to datapath.Mode)
	// OpenVSwitchAway: Open vSwitch is away for a reason, and leases are held for that long, or no longer for 0. nil: it is back.
	OpenVSwitchAway(reason error, held time.Duration)
}

// nobody is an Observer.
type nobody struct{}

func (nobody) Suspended(error)                          {}
func (nobody) ModeChanged(datapath.Mode, datapath.Mode) {}
func (nobody) OpenVSwitchAway(error, time.Duration)     {}

// modeControl decides in which mode the programs run: the wanted one, or off while the uplink cannot carry the fast path.
type modeControl struct {
	// set gives the programs a mode. evict makes all entries void; it is called before programs that were off by request
	// resume, because connections may have closed and others opened meanwhile.
	set   func(datapath.Mode)
	evict func()
	// observer is told of changes.
	observer Observer

	mu     sync.Mutex
	wanted datapath.Mode
	// suspended says why the uplink cannot carry the fast path at the moment; nil when it can.
	suspended error
}

// begin sets the first mode, and why the uplink cannot carry the fast path yet; nil if it can.
func (c *modeControl) begin(mode datapath.Mode, suspended error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted, c.suspended = mode, suspended
	if suspended != nil {
		c.observer.Suspended(suspended)
	}
	c.apply()
}

// want changes the wanted mode and returns the previous one.
func (c *modeControl) want(mode datapath.Mode) (former datapath.Mode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	former = c.wanted
	if former == datapath.ModeOff && mode != datapath.ModeOff {
		c.evict()
	}
	c.wanted = mode
	c.apply()
	if former != mode {
		c.observer.ModeChanged(former, mode)
	}
	return former
}

// suspend turns the fast path off for the given reason, or on again for nil.
func (c *modeControl) suspend(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := (reason == nil) != (c.suspended == nil) || reason != nil && reason.Error() != c.suspended.Error()
	c.suspended = reason
	c.apply()
	if changed {
		c.observer.Suspended(reason)
	}
}

// state returns the wanted mode, and why it cannot be used at the moment.
func (c *modeControl) state() (wanted datapath.Mode, suspended error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted, c.suspended
}

// apply tells the programs. The caller holds mu.
func (c *modeControl) apply() {
	if c.suspended != nil {
		c.set(datapath.ModeOff)
		return
	}
	c.set(c.wanted)
}
