// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

const (
	// protectionInterval is the time between two looks at the counters.
	protectionInterval = time.Second
	// The fast path pauses for firstPause after an inconsistency, then each time twice as long, up to longestPause.
	firstPause, longestPause = 10 * time.Second, 10 * time.Minute
)

// protection turns the fast path of the Node off when a program has counted an impossible event (reason "dropped"), and on again after
// a pause. It does not look for the Pod concerned: a fault of the programs concerns all. But drops while the fast path is off do not
// prolong the pause, which could not prevent them, and each program has its own pauses: one does not make another's longer.
type protection struct {
	// distrust turns the fast path off for a reason, or on again for nil.
	distrust func(error)
	alarms   map[string]*alarm
}

// alarm belongs to one program.
type alarm struct {
	// seen is the last count; known is false before the first.
	seen  uint64
	known bool
	// pause is the length of the present or last pause, until its end; reason is set while it lasts.
	pause  time.Duration
	until  time.Time
	reason error
}

// count evaluates, by program, the number of packets that were changed and could not be finished. off: the fast path is off for
// another reason.
func (p *protection) count(now time.Time, dropped map[string]uint64, off bool) {
	changed := false
	var reasons []error
	for _, program := range slices.Sorted(maps.Keys(dropped)) {
		a := p.alarms[program]
		if a == nil {
			a = &alarm{}
			p.alarms[program] = a
		}
		changed = a.count(now, program, dropped[program], off) || changed
		reasons = append(reasons, a.reason)
	}
	if changed {
		p.distrust(errors.Join(reasons...))
	}
}

// count reports whether a pause has begun or ended.
func (a *alarm) count(now time.Time, program string, dropped uint64, off bool) (changed bool) {
	grown := dropped - a.seen
	wasKnown := a.known
	a.seen, a.known = dropped, true
	switch {
	case a.reason != nil && !now.Before(a.until):
		a.reason = nil
		klog.InfoS("Trying the fast path of ONCache again", "after", a.pause, "program", program)
		return true
	case a.reason != nil || off || !wasKnown || grown == 0:
		return false
	}
	a.begin(now, fmt.Errorf("the %s program has dropped %d packets that it had begun to change, which can never be", program, grown))
	return true
}

// begin begins a pause. An earlier pause that ended longer ago than it lasted is forgotten.
func (a *alarm) begin(now time.Time, reason error) {
	if a.pause == 0 || now.Sub(a.until) > a.pause {
		a.pause = firstPause
	} else {
		a.pause = min(2*a.pause, longestPause)
	}
	a.until = now.Add(a.pause)
	a.reason = fmt.Errorf("%w; the fast path pauses until %s", reason, a.until.Format(time.TimeOnly))
}

// protect looks at the counters until stopCh closes.
func (m *Manager) protect(stopCh <-chan struct{}) {
	p := &protection{distrust: m.uplink.mode.distrust, alarms: map[string]*alarm{}}
	tick := time.NewTicker(protectionInterval)
	defer tick.Stop()
	for {
		err := recovery.Call(boundaryName, recovery.Part("ONCache protection"), func() error { return m.lookAtCounters(p) })
		if err != nil {
			m.failures.add(operationCounters)
			klog.ErrorS(err, "Could not read ONCache counters")
		}
		select {
		case <-stopCh:
			return
		case <-tick.C:
		}
	}
}

func (m *Manager) lookAtCounters(p *protection) error {
	dropped, err := m.dp.Dropped()
	if err == nil {
		p.count(time.Now(), dropped, m.dp.Mode() == datapath.ModeOff)
	}
	return err
}
