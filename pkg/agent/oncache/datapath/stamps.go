// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"math/rand/v2"
	"sync/atomic"
)

// StampValues is the number of changes that a stamp can tell apart. Numbers with the same stamp as 0, which packets of no known Pod
// have, are skipped.
const StampValues = 1 << 9

// NextChange returns the number of a change. It must be called after Open vSwitch has answered the change's barrier.
func (d *Datapath) NextChange() uint32 {
	n := d.changes.Add(1)
	for n%StampValues == 0 {
		n = d.changes.Add(1)
	}
	return n
}

// StampEndpoint gives packets of the Pod the stamp of a change, so that they match no megaflow that predates it.
func (d *Datapath) StampEndpoint(slot int, change uint32) {
	atomic.StoreUint32(&d.endpoints.Elements[slot].Changed, change)
}

// lastChange returns the number of the last change that an earlier agent has counted, because megaflows outlive the agent.
// New maps have none, and the count in the maps of another version is unknown, so counting then starts anywhere.
func (d *Datapath) lastChange() (last uint32) {
	for slot := range d.endpoints.Elements {
		if n := d.endpoints.Elements[slot].Changed; n != 0 && (last == 0 || int32(n-last) > 0) {
			last = n
		}
	}
	if last == 0 {
		return rand.Uint32N(StampValues)
	}
	return last
}
