// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// epochReuse is the time for which an epoch stays unused after it was current: far longer than a megaflow that writes it can live in
// the kernel (revalidators visit every megaflow within seconds; max-idle is 10 s).
const epochReuse = 60 * time.Second

// epochs hands out the 9-bit epochs of one endpoint. It repeats none within epochReuse.
type epochs struct {
	last uint32
	// retired is the time at which each epoch was last current.
	retired [datapath.MaxEpoch + 1]time.Time
}

// next returns the epoch after last, or 0 (learn nothing) while a stale megaflow may still write that epoch.
func (e *epochs) next(now time.Time) uint16 {
	candidate := e.last%datapath.MaxEpoch + 1
	if at := e.retired[candidate]; !at.IsZero() && now.Sub(at) < epochReuse {
		return 0
	}
	e.retired[e.last] = now
	e.last = candidate
	return uint16(candidate)
}

// retire ends the use of the last epoch, when the endpoint is removed.
func (e *epochs) retire(now time.Time) { e.retired[e.last] = now }

// over reports whether the last epoch has been unused for epochReuse. It is asked of retired epochs only.
func (e *epochs) over(now time.Time) bool { return now.Sub(e.retired[e.last]) >= epochReuse }
