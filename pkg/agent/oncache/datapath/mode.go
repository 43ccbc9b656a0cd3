// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// Mode is the treatment of hits.
type Mode uint32

const (
	// ModeOff: every packet takes the slow path and nothing is learned.
	ModeOff Mode = iota
	// ModeObserve: entries are learned and hits counted, but every packet takes the slow path.
	ModeObserve
	// ModeEnforce: hits take the fast path.
	ModeEnforce
)

var modeNames = []string{"off", "observe", "enforce"}

// String returns the mode's name in the configuration.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", uint32(m))
}

// ParseMode parses a mode's name.
func ParseMode(name string) (Mode, error) {
	if i := slices.Index(modeNames, name); i >= 0 {
		return Mode(i), nil
	}
	return ModeOff, fmt.Errorf("mode %q does not exist; allowed: %s", name, strings.Join(modeNames, ", "))
}

// SetMode switches all programs at once.
func (d *Datapath) SetMode(m Mode) { atomic.StoreUint32(&d.control.Elements[0].Mode, uint32(m)) }

// Mode returns the mode set last, possibly by an earlier agent.
func (d *Datapath) Mode() Mode { return Mode(atomic.LoadUint32(&d.control.Elements[0].Mode)) }
