// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

const (
	// protectionInterval is the time between two looks for what can never be.
	protectionInterval = time.Second
	// The fast path pauses for firstPause after an inconsistency, each time twice as long as the last time, and at most for longestPause.
	firstPause, longestPause = 10 * time.Second, 10 * time.Minute
)

// protection turns the fast path of the Node off when the programs have counted what can never be (reason "dropped"), and on again after a pause. It
// does not try to tell which Pod is concerned: a fault of the programs concerns all.
type protection struct {
	// distrust turns the fast path off for a reason, or on again for nil.
	distrust func(error)

	// seen is the last count; known is false before the first.
	seen  uint64
	known bool
	// pause is the length of the present or last one, until its end; active while it lasts.
	pause  time.Duration
	until  time.Time
	active bool
}

// count takes the number of packets that were changed and could not be finished.
func (p *protection) count(now time.Time, dropped uint64) {
	grown := dropped - p.seen
	wasKnown := p.known
	p.seen, p.known = dropped, true
	switch {
	case wasKnown && grown > 0:
		p.begin(now, fmt.Errorf("the programs have dropped %d packets that they had begun to change, which can never be", grown))
	case p.active && !now.Before(p.until):
		p.active = false
		klog.InfoS("Trying the fast path of ONCache again", "after", p.pause)
		p.distrust(nil)
	}
}

// begin begins a pause, or prolongs it. One that ended longer ago than it lasted is forgotten.
func (p *protection) begin(now time.Time, reason error) {
	switch {
	case p.pause == 0 || !p.active && now.Sub(p.until) > p.pause:
		p.pause = firstPause
	case !p.active:
		p.pause = min(2*p.pause, longestPause)
	}
	p.until, p.active = now.Add(p.pause), true
	p.distrust(fmt.Errorf("%w; the fast path pauses until %s", reason, p.until.Format(time.TimeOnly)))
}

// protect looks at the counters until stopCh closes.
func (m *Manager) protect(stopCh <-chan struct{}) {
	p := &protection{distrust: m.uplink.mode.distrust}
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
		p.count(time.Now(), dropped)
	}
	return err
}
