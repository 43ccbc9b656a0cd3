// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
)

// marks say how much has arrived of the events that change policies of this Node: antrea-controller gives all that belongs to such an event one
// version, and ends it with a bookmark on each watch (package v1beta2). A new version of a policy does not replace the one before until its
// groups have arrived, and a group that the former version names stays until the new one has. Without marks (upstream's antrea-controller sends
// none) nothing waits: versions are 0.
type marks struct {
	// reached has the latest version that has ended, for each watch that is open; 0 if it has no marks.
	reached map[Resource]uint64
	// held are policies whose latest version waits for their groups; leaving are groups that are gone, and wait for the policies.
	held    sets.Set[string]
	leaving map[leavingGroup]uint64
}

type leavingGroup struct {
	resource Resource
	name     string
}

func newMarks() marks {
	return marks{reached: map[Resource]uint64{}, held: sets.New[string](), leaving: map[leavingGroup]uint64{}}
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

// followed records that a watch has begun with all up to a version.
func (s *state) followed(r Resource, version uint64) {
	if r == NetworkPolicies { // of another process perhaps, with other versions
		for group := range s.marks.leaving {
			s.marks.leaving[group] = version
		}
	}
	s.reach(r, version)
}

// reach records that all up to a version has arrived on a watch, and does what waits for that.
func (s *state) reach(r Resource, version uint64) {
	s.marks.reached[r] = max(s.marks.reached[r], version)
	s.leave()
	s.releaseHeld()
}

// unfollowed records that a watch has ended. The first bookmark of the next one tells how much it knows.
func (s *state) unfollowed(r Resource) {
	delete(s.marks.reached, r)
	s.leave()
	s.releaseHeld()
}

// arrived reports whether all up to a version has arrived on the watches of groups that are open.
func (s *state) arrived(version uint64) bool {
	for _, r := range []Resource{AddressGroups, AppliedToGroups} {
		if reached := s.marks.reached[r]; reached > 0 && reached < version {
			return false
		}
	}
	return true
}

// releaseHeld makes the policies that wait be tried again.
func (s *state) releaseHeld() {
	s.dirty = s.dirty.Union(s.marks.held)
	s.marks.held = sets.New[string]()
}

// holds reports whether the latest version of a policy has to wait for groups that are on their way on watches that are open.
func (s *state) holds(name string, p *policyState) bool {
	if p.effective == nil {
		return false // There are no rules that could stay.
	}
	if s.arrived(p.awaits) {
		return false
	}
	s.marks.held.Insert(name)
	return true
}

// enterEvent applies the change of an event with a version.
func (s *state) enterEvent(r Resource, event watch.EventType, ch change, version uint64) {
	group := leavingGroup{r, ch.name}
	switch {
	case r != NetworkPolicies && event == watch.Deleted && version > 0:
		s.marks.leaving[group] = version
		s.leave()
		return
	case r != NetworkPolicies:
		delete(s.marks.leaving, group)
	}
	ch.apply(s)
	if p := s.policies[ch.name]; r == NetworkPolicies && p != nil {
		p.awaits = version
	}
}

// leave deletes the groups that are gone, once the policies that go or change with them do.
func (s *state) leave() {
	for _, group := range slices.Collect(maps.Keys(s.marks.leaving)) {
		version := s.marks.leaving[group]
		if reached, open := s.marks.reached[NetworkPolicies]; open && (reached == 0 || reached >= version) && s.arrived(version) {
			s.deleteNamed(group.resource, group.name)
			delete(s.marks.leaving, group)
		}
	}
}

// enterAll applies changes that make a resource complete, with the versions of their objects.
func (s *state) enterAll(r Resource, changes []change) {
	keep := sets.New[string]()
	for _, ch := range changes {
		s.enterEvent(r, watch.Added, ch, ch.version)
		keep.Insert(ch.name)
	}
	for _, name := range s.names(r) {
		if !keep.Has(name) {
			s.deleteNamed(r, name)
		}
	}
	maps.DeleteFunc(s.marks.leaving, func(group leavingGroup, _ uint64) bool { return group.resource == r })
}
