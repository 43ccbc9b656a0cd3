// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/policy"
)

// inForce is a world, with the times from which it may be in force and must be in force.
type inForce struct {
	world *policy.World
	// begun is the time of the first request of the change, realized the time at which the last agent had its switch's
	// answer, enforced the time at which the last agent reported that the datapath follows.
	begun, realized, enforced time.Time
	what                      string
	// killed is set when agents were killed and restarted in that time.
	killed bool
}

// observer compares connections with the worlds that were in force when they were opened.
type observer struct {
	f  *field
	mu sync.Mutex
	// worlds are in order; the later times of the last one are zero while it is in progress.
	worlds   []*inForce
	attempts []*attempt
	// absent are periods in which a Pod did not exist.
	absent map[string][]span
}

type span struct{ from, to time.Time }

func (s span) has(t time.Time) bool { return !t.Before(s.from) && (s.to.IsZero() || t.Before(s.to)) }

// change enters a world that is about to be applied.
func (o *observer) change(world *policy.World, what string, killed bool) *inForce {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := &inForce{world: world, begun: time.Now(), what: what, killed: killed}
	o.worlds = append(o.worlds, next)
	return next
}

func (o *observer) tried(a *attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempts = append(o.attempts, a)
}

// present ends the last period in which a Pod was absent.
func (o *observer) present(pod string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	spans := o.absent[pod]
	spans[len(spans)-1].to = time.Now()
}

// count returns the number of attempted connections.
func (o *observer) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.attempts)
}

// flight limits the time for which a packet may be in flight on an emulated machine.
const flight = 5 * time.Second

// findings are the results of one run.
type findings struct {
	tried, arrived int
	// stale has, for each change that forbade an attempted connection, the time from its realization to the last packet
	// that was sent and arrived nevertheless; 0 when none did.
	stale []time.Duration
	// undisturbed are the changes in which no agent was killed.
	undisturbed []time.Duration
	// wrong are packets that arrived although no world allowed them since the last one that was enforced when they were
	// sent. lost are packets that did not arrive although all of these worlds allowed them.
	wrong, lost []string
}

// findings judges all attempts.
func (o *observer) findings() (r findings) {
	o.mu.Lock()
	defer o.mu.Unlock()
	stale := map[*inForce]time.Duration{}
	for _, a := range o.attempts {
		if slices.ContainsFunc(append(slices.Clone(o.absent[podKey(a.From)]), o.absent[podKey(a.To)]...), func(s span) bool {
			return s.has(a.sent) || s.has(a.sent.Add(flight)) || s.has(a.sent.Add(-flight))
		}) {
			continue
		}
		r.tried++
		when, arrived := o.f.arrival(a.id, a.To)
		if arrived {
			r.arrived++
		} else {
			when = a.sent.Add(flight)
		}
		// The last worlds that were enforced and realized before the packet was sent. Later ones may have been in force.
		enforced, realized := 0, 0
		for i, w := range o.worlds {
			if !w.enforced.IsZero() && w.enforced.Before(a.sent) {
				enforced = i
			}
			if !w.realized.IsZero() && w.realized.Before(a.sent) {
				realized = i
			}
		}
		current := o.worlds[enforced]
		allowed, forbidden := o.verdicts(a.Probe, enforced, when)
		switch {
		case arrived && allowed == 0:
			r.wrong = append(r.wrong, fmt.Sprintf("%v, sent %s after %q was enforced", a, a.sent.Sub(current.enforced), current.what))
		case !arrived && forbidden == 0:
			r.lost = append(r.lost, fmt.Sprintf("%v, sent %s after %q was enforced", a, a.sent.Sub(current.enforced), current.what))
		}
		current = o.worlds[realized]
		if allowed, _ := o.verdicts(a.Probe, realized, when); allowed > 0 || realized == 0 || !o.worlds[realized-1].world.Allowed(a.Probe) {
			continue
		}
		// This packet could have been stale.
		stale[current] = max(stale[current], 0)
		if arrived {
			stale[current] = max(stale[current], a.sent.Sub(current.realized))
		}
	}
	for w, d := range stale {
		r.stale = append(r.stale, d)
		if !w.killed {
			r.undisturbed = append(r.undisturbed, d)
		}
	}
	slices.Sort(r.stale)
	slices.Sort(r.undisturbed)
	return r
}

// verdicts returns how many worlds allow and forbid the probe, from this one to the last that had begun by then.
func (o *observer) verdicts(p *policy.Probe, from int, until time.Time) (allowed, forbidden int) {
	for _, w := range o.worlds[from:] {
		if w.begun.After(until) {
			break
		}
		if w.world.Allowed(p) {
			allowed++
		} else {
			forbidden++
		}
	}
	return allowed, forbidden
}

// quantile of sorted times; q is from 0 to 1.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// arrival returns when the first frame with this number arrived at the Pod.
func (f *field) arrival(number uint32, to *policy.Pod) (when time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.arrived[number] {
		if a.at.Namespace == to.Namespace && a.at.PodName == to.Name {
			return a.when, true
		}
	}
	return when, false
}
