// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// ReasonOpenVSwitchAway is the problem of a Node whose Open vSwitch is away while the cache carries on.
const ReasonOpenVSwitchAway problem.Reason = "OpenVSwitchAway"

// graceTime limits how long leases are held while Open vSwitch is away: enough to replace a Pod with Open vSwitch, and for conntrack
// to keep a UDP stream (120 s) that it does not see during that time.
const graceTime = time.Minute

// longestUnseen bounds how long ago Open vSwitch was last there. Usually it has been seen within a second. But a switch that does not
// answer counts as neither there nor away for any time, and may have refused to confirm entries whose leases have ended.
const longestUnseen = 2 * flowCheckInterval

// leases is the part of the datapath that holds leases.
type leases interface {
	// Hold extends, up to the limit, the leases that had not ended at the time ago.
	Hold(ago, limit time.Duration) error
	Release()
}

// absence decides how long leases are held. Without Open vSwitch no entry is confirmed, but only the agent can have changed the rules,
// and the agent's changes evict as always.
type absence struct {
	observer Observer
	failures *failures

	mu     sync.Mutex
	leases leases
	// since is the time at which Open vSwitch was found to be away, for a reason; zero while it is there. over is set once leases end.
	since  time.Time
	reason error
	over   bool
	count  uint64
}

// there notes that Open vSwitch is there, with its flows.
func (a *absence) there() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		return
	}
	a.leases.Release()
	a.since, a.reason, a.over = time.Time{}, nil, false
	a.observer.OpenVSwitchAway(nil, 0)
}

// away notes that Open vSwitch is away for a reason, and was there at lastSeen.
func (a *absence) away(now, lastSeen time.Time, reason error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := a.reason == nil || a.reason.Error() != reason.Error()
	a.reason = reason
	if a.since.IsZero() {
		a.since = now
		a.count++
		if err := a.leases.Hold(min(now.Sub(lastSeen), longestUnseen), graceTime); err != nil {
			a.failures.add(operationHold)
			klog.ErrorS(err, "Could not hold leases while Open vSwitch is away")
			a.over = true
		}
	}
	if changed {
		a.observer.OpenVSwitchAway(reason, a.held(now))
	}
}

// pass ends the hold when its time has passed, whatever is then known of Open vSwitch.
func (a *absence) pass(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() || a.over || now.Sub(a.since) < graceTime {
		return
	}
	a.leases.Release()
	a.over = true
	a.observer.OpenVSwitchAway(a.reason, 0)
}

// held returns the remaining time of the hold. The caller holds mu.
func (a *absence) held(now time.Time) time.Duration {
	if a.since.IsZero() || a.over {
		return 0
	}
	return max(graceTime-now.Sub(a.since), 0)
}

// status returns the absence for antctl; nil while Open vSwitch is there.
func (a *absence) status(now time.Time) *api.Absence {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		return nil
	}
	return &api.Absence{Reason: a.reason.Error(), Seconds: now.Sub(a.since).Seconds(), HeldSeconds: a.held(now).Seconds()}
}

func (a *absence) collect(c collector) {
	a.mu.Lock()
	defer a.mu.Unlock()
	away, held := 0.0, 0.0
	if !a.since.IsZero() {
		away = 1
		if !a.over {
			held = 1
		}
	}
	c.gauge(descAway, away)
	c.gauge(descHeld, held)
	c.counter(descAbsences, a.count)
}
