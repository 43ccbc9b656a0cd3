// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// marks keep what the watches bring from taking effect until all of its event has arrived, so that no packet meets a policy with the groups of
// another version. antrea-controller gives all that belongs to an event one version, and ends it with a bookmark on each watch (package v1beta2).
// A change without a version comes after the version that has ended before it, and needs no more. Upstream's antrea-controller sends no versions:
// everything takes effect at once.
//
// A watch that ends is behind until the next one has begun. If that takes too long (overdue.go), or a new Pod waits, the others do not wait for it
// any more.
type marks map[Resource]*arrival

// arrival is the progress of one watch.
type arrival struct {
	// reached is the latest version that has ended; the first bookmark of a watch tells how much it knows. It is 0 without marks.
	reached uint64
	// open is set from the first bookmark to the end of the watch, awaited while the other watches wait for this one.
	open, awaited bool
	// waiting are the changes that wait for marks, in order.
	waiting []change
	// behind is the time at which this watch was first seen to be behind others, without progress since; zero if it is not.
	behind time.Time
}

// maxWaiting is the number of changes of one watch that may wait.
const maxWaiting = 10000

func newMarks() marks {
	m := marks{}
	for r := range directories {
		m[r] = &arrival{awaited: true}
	}
	return m
}

// takeVersion returns the version of an object that antrea-controller has sent, and removes it: it is not part of the content.
func takeVersion(object any) uint64 {
	o, is := object.(metav1.Object)
	if !is {
		return 0
	}
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	o.SetResourceVersion("")
	if err != nil {
		return 0
	}
	return version
}

// begin enters the complete set with which a watch begins. It replaces what waits of the watch before. Watches that have ended are awaited, whatever
// they had reached: it may have been of another process, with other versions.
func (s *state) begin(r Resource, set change) {
	for _, a := range s.marks {
		if set.version > 0 && !a.open && a.reached > 0 {
			a.reached, a.awaited, a.behind = 0, true, time.Time{}
			for i := range a.waiting { // of another process perhaps, whose versions this one's do not reach
				a.waiting[i].version = min(a.waiting[i].version, set.version)
			}
		}
	}
	*s.marks[r] = arrival{reached: set.version, open: true, awaited: set.version > 0, waiting: []change{set}}
	s.release()
}

// arrive enters a change. It fails if there is no room for further ones.
func (s *state) arrive(r Resource, ch change) error {
	a := s.marks[r]
	ch.version = max(ch.version, a.reached)
	a.waiting = append(a.waiting, ch)
	s.release()
	if len(a.waiting) < maxWaiting {
		return nil
	}
	cause := "marks of other watches"
	if s.held {
		cause = "the switch, which is being told of earlier ones"
	}
	return fmt.Errorf("%d changes of %s wait for %s; want less than %d", len(a.waiting), r, cause, maxWaiting)
}

// reach records that all up to a version has arrived on a watch that is open.
func (s *state) reach(r Resource, version uint64) {
	a := s.marks[r]
	a.reached, a.behind = max(a.reached, version), time.Time{}
	a.awaited = a.reached > 0
	s.release()
}

// end records that a watch has ended. The rest of what has arrived in part will not come.
func (s *state) end(r Resource) {
	a := s.marks[r]
	if !a.open {
		return
	}
	a.open, a.behind = false, time.Time{}
	a.waiting = slices.DeleteFunc(a.waiting, func(ch change) bool { return ch.version > a.reached })
}

// forgo makes no watch wait for some. Groups that go without the policies that go with them stay until the next watch of policies.
func (s *state) forgo(watches ...Resource) {
	for _, r := range watches {
		s.marks[r].awaited = false
		if r == NetworkPolicies && !s.marks[r].open {
			s.policiesBehind = true
		}
	}
	s.release()
}

// waits reports whether anything waits.
func (s *state) waits() bool {
	for _, a := range s.marks {
		if len(a.waiting) > 0 {
			return true
		}
	}
	return false
}

// release applies what waits for nothing any more. Nothing can take effect before a complete set that waits: it has no older versions.
func (s *state) release() {
	if s.held {
		return
	}
	for _, a := range s.marks {
		if len(a.waiting) > 0 && a.waiting[0].complete && !s.arrived(a.waiting[0].version) {
			return
		}
	}
	for _, a := range s.marks {
		n := slices.IndexFunc(a.waiting, func(ch change) bool { return !s.arrived(ch.version) })
		if n < 0 {
			n = len(a.waiting)
		}
		for _, ch := range a.waiting[:n] {
			ch.apply(s)
		}
		a.waiting = slices.Delete(a.waiting, 0, n)
	}
}

// arrived reports whether all up to a version has arrived.
func (s *state) arrived(version uint64) bool {
	for _, a := range s.marks {
		if a.awaited && a.reached < version {
			return false
		}
	}
	return true
}
