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

// lag is the state of a watch that is behind others: the latest version that has ended on it, and the time at which that was first seen.
type lag struct {
	reached uint64
	since   time.Time
}

// overdue returns an error if something has waited for markLimit for a mark on this watch. The next watch begins with a complete set and a mark.
func (w *watcher) overdue(l *lag, now time.Time) error {
	w.c.mu.Lock()
	reached, awaited := w.c.state.awaited(w.resource)
	w.c.mu.Unlock()
	switch {
	case reached == 0 || awaited <= reached:
		*l = lag{}
		return nil
	case l.since.IsZero() || l.reached != reached:
		*l = lag{reached, now}
		return nil
	case now.Sub(l.since) < markLimit:
		return nil
	}
	err := fmt.Errorf("the watch of %s has ended versions up to %d, %d is awaited since %s; want the mark at once", w.resource, reached, awaited, markLimit)
	klog.ErrorS(err, "Policies or groups wait for antrea-controller, so this watch begins again", "resource", w.resource)
	return err
}

// awaited returns the latest version that has ended on a watch, and the latest one for which something waits that needs this watch.
func (s *state) awaited(r Resource) (reached, awaited uint64) {
	for _, version := range s.marks.leaving {
		awaited = max(awaited, version)
	}
	if r != NetworkPolicies {
		for _, p := range s.policies {
			if p.latest != p.effective {
				awaited = max(awaited, p.awaits)
			}
		}
	}
	return s.marks.reached[r], awaited
}
