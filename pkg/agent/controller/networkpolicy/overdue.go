// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"
)

const (
	// markLimit is the time within which a watch must bring the mark for which something waits, or another one. antrea-controller sends the mark with
	// the event.
	markLimit = 30 * time.Second
	// markInterval is the time between two looks.
	markInterval = markLimit / 3
	// markPatience is the time for which a new Pod waits for marks.
	markPatience = time.Second
)

// overdue returns an error if something has waited for markLimit for a mark on this watch: the next one begins with a complete set and a mark.
func (w *watcher) overdue(now time.Time) (err error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	s := w.c.state
	if a := s.marks[w.resource]; a.open && slices.Contains(s.overdue(now), w.resource) {
		err = fmt.Errorf("the watch of %s has ended versions up to %d, %d is awaited since %s; want the mark at once", w.resource, a.reached, s.awaited(), markLimit)
		klog.ErrorS(err, "Policies or groups wait for antrea-controller, so this watch begins again", "resource", w.resource)
	}
	return err
}

// limitMarks ends the wait for watches that are not open for markLimit, or open and without a mark for twice as long, until ctx ends: what the
// others bring then takes effect as without marks, where a policy whose groups are not all known keeps its rules.
func (c *Controller) limitMarks(ctx context.Context) {
	look := time.NewTicker(markInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			c.update(func(s *state) {
				for _, r := range s.overdue(now) {
					if a := s.marks[r]; !a.open || now.Sub(a.behind) >= 2*markLimit {
						klog.ErrorS(nil, "Policies and groups no longer wait for a watch that antrea-controller does not open or continue", "resource", r, "waited", now.Sub(a.behind))
						s.forgo(r)
					}
				}
			})
		}
	}
}

// awaitMarks returns when nothing waits for marks. A new Pod waits for markPatience at most: then everything that has arrived takes effect, so that
// the Pod is isolated by all policies that are known. During a realization, which the Pod waits for anyway, the time does not count.
func (c *Controller) awaitMarks() {
	for until := time.Now().Add(markPatience); ; time.Sleep(markPatience / 100) {
		c.mu.Lock()
		waits, held := c.state.waits() && len(c.unsynced) == 0, c.state.held
		c.mu.Unlock()
		switch {
		case !waits:
			return
		case held:
			until = time.Now().Add(markPatience)
		case !time.Now().Before(until):
			c.update(func(s *state) { s.forgo(NetworkPolicies, AddressGroups, AppliedToGroups) })
			return
		}
	}
}

// overdue returns the watches that something has awaited for markLimit.
func (s *state) overdue(now time.Time) (resources []Resource) {
	awaited := s.awaited()
	for r, a := range s.marks {
		switch {
		case !a.awaited || a.reached >= awaited:
			a.behind = time.Time{}
		case a.behind.IsZero():
			a.behind = now
		case now.Sub(a.behind) >= markLimit:
			resources = append(resources, r)
		}
	}
	return resources
}

// awaited returns the latest version for which something waits.
func (s *state) awaited() (version uint64) {
	for _, a := range s.marks {
		if n := len(a.waiting); n > 0 {
			version = max(version, a.waiting[n-1].version)
		}
	}
	return version
}
