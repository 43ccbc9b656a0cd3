// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"time"

	"k8s.io/klog/v2"
)

const (
	// markLimit is the time within which a watch must bring the mark for which something waits, or another one. antrea-controller sends the mark with
	// the event.
	markLimit = 30 * time.Second
	// markInterval is the time between two looks.
	markInterval = markLimit / 3
)

// overdue returns an error if something has waited for markLimit for a mark on this watch: the next one begins with a complete set and a mark.
// Watches that are not open for that time are no longer waited for: what the others bring takes effect as without marks, where a policy whose groups
// are not all known keeps its rules.
func (w *watcher) overdue(now time.Time) (err error) {
	w.c.update(func(s *state) {
		for _, r := range s.overdue(now) {
			switch a := s.marks[r]; {
			case !a.open:
				klog.ErrorS(nil, "Policies and groups no longer wait for a watch that antrea-controller does not open", "resource", r, "waited", markLimit)
				s.forgo(r)
			case r == w.resource:
				err = fmt.Errorf("the watch of %s has ended versions up to %d, %d is awaited since %s; want the mark at once", r, a.reached, s.awaited(), markLimit)
				klog.ErrorS(err, "Policies or groups wait for antrea-controller, so this watch begins again", "resource", r)
			}
		}
	})
	return err
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
