// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// Observer is told when the cache starts or stops working, so that an operator sees the time. Its methods must not block.
type Observer interface {
	// Suspended: the transport interface cannot carry the fast path at the moment, or the cache does not trust itself; nil: resolved.
	Suspended(reason error)
	// NotRewriting: other Nodes cannot rewrite packets to this one for a reason; nil: they can again.
	NotRewriting(reason error)
	// ModeChanged: the wanted mode has changed.
	ModeChanged(from, to datapath.Mode)
	// OpenVSwitchAway: Open vSwitch is away for this reason, and leases are held for the time held, or no longer for 0. nil: it is back.
	OpenVSwitchAway(reason error, held time.Duration)
}

// noObserver ignores all changes.
type noObserver struct{}

func (noObserver) Suspended(error)                          {}
func (noObserver) NotRewriting(error)                       {}
func (noObserver) ModeChanged(datapath.Mode, datapath.Mode) {}
func (noObserver) OpenVSwitchAway(error, time.Duration)     {}

// modeControl decides in which mode the programs run: the wanted one, or off while the uplink cannot carry the fast path, or the cache does not
// trust itself.
type modeControl struct {
	// set gives the programs a mode. evict makes all entries void; it is called before programs resume that were off by request or for
	// protection, because connections may have closed and others opened since.
	set      func(datapath.Mode)
	evict    func()
	observer Observer

	mu     sync.Mutex
	wanted datapath.Mode
	// suspended is the reason why the uplink cannot carry the fast path at the moment, distrusted why the cache does not trust itself;
	// nil if it can or does.
	suspended, distrusted error
}

// begin sets the first mode, and the reason why the uplink cannot carry the fast path yet; nil if it can.
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
	c.change(func() { c.suspended = reason })
}

// distrust turns the fast path off because the cache does not trust itself, or on again for nil.
func (c *modeControl) distrust(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason == nil && c.distrusted != nil {
		c.evict()
	}
	c.change(func() { c.distrusted = reason })
}

// change changes the reasons, and tells the observer if they differ. The caller holds mu.
func (c *modeControl) change(set func()) {
	before := c.off()
	set()
	after := c.off()
	c.apply()
	if (before == nil) != (after == nil) || after != nil && before.Error() != after.Error() {
		c.observer.Suspended(after)
	}
}

// off returns the reason why the programs are off against the wanted mode; nil if they are not. The caller holds mu.
func (c *modeControl) off() error { return errors.Join(c.suspended, c.distrusted) }

// uplink returns the reason why the uplink cannot carry the fast path at the moment.
func (c *modeControl) uplink() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.suspended
}

// state returns the wanted mode, and the reason why it cannot be used at the moment.
func (c *modeControl) state() (wanted datapath.Mode, suspended error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted, c.off()
}

// apply gives the programs their mode. The caller holds mu.
func (c *modeControl) apply() {
	if c.off() != nil {
		c.set(datapath.ModeOff)
		return
	}
	c.set(c.wanted)
}
