// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// Resource is a resource of controlplane.antrea.io that the agent watches.
type Resource string

// The resources.
const (
	NetworkPolicies Resource = "networkpolicies"
	AddressGroups   Resource = "addressgroups"
	AppliedToGroups Resource = "appliedtogroups"
)

// directories are the names that Antrea uses below the directory of the last known policies.
var directories = map[Resource]string{
	NetworkPolicies: "network-policies",
	AddressGroups:   "address-groups",
	AppliedToGroups: "applied-to-groups",
}

// change is the effect of an event on the state.
type change struct {
	name  string
	apply func(*state)
	// stored is the object or the patch to store on disk; nil when the object is gone.
	stored any
	// version is the version up to which all must have arrived before the change is applied (marks.go); stored does not have it.
	version uint64
	// complete is set if the change replaces all objects of the resource.
	complete bool
}

// setObject returns the change for an object that is new or complete.
func setObject(object any) (change, error) {
	switch o := object.(type) {
	case *v1beta2.NetworkPolicy:
		return change{name: o.Name, apply: func(s *state) { s.setPolicy(o) }, stored: o}, nil
	case *v1beta2.AddressGroup:
		g, err := newGroup(o.GroupMembers)
		return change{name: o.Name, apply: func(s *state) { s.setAddressGroup(o.Name, g) }, stored: o}, err
	case *v1beta2.AppliedToGroup:
		g, err := newGroup(o.GroupMembers)
		return change{name: o.Name, apply: func(s *state) { s.setAppliedToGroup(o.Name, g) }, stored: o}, err
	}
	return change{}, fmt.Errorf("unexpected object of type %T", object)
}

// deleteObject returns the change for the deletion of an object.
func deleteObject(object any) (change, error) {
	switch o := object.(type) {
	case *v1beta2.NetworkPolicy:
		return change{name: o.Name, apply: func(s *state) { s.deletePolicy(o.Name) }}, nil
	case *v1beta2.AddressGroup:
		return change{name: o.Name, apply: func(s *state) { s.deleteNamed(AddressGroups, o.Name) }}, nil
	case *v1beta2.AppliedToGroup:
		return change{name: o.Name, apply: func(s *state) { s.deleteNamed(AppliedToGroups, o.Name) }}, nil
	}
	return change{}, fmt.Errorf("unexpected object of type %T", object)
}

// modifyObject returns the change for a MODIFIED event: a whole policy, or the patch of a group, of which current has what has
// arrived before.
func modifyObject(object any, current *state) (change, error) {
	switch o := object.(type) {
	case *v1beta2.AddressGroupPatch:
		old, known := current.addressGroups[o.Name]
		if !known {
			return change{}, fmt.Errorf("patch of unknown AddressGroup %s", o.Name)
		}
		g, err := old.patched(o.AddedGroupMembers, o.RemovedGroupMembers)
		return change{name: o.Name, apply: func(s *state) { s.setAddressGroup(o.Name, g) }, stored: o}, err
	case *v1beta2.AppliedToGroupPatch:
		old, known := current.appliedToGroups[o.Name]
		if !known {
			return change{}, fmt.Errorf("patch of unknown AppliedToGroup %s", o.Name)
		}
		g, err := old.patched(o.AddedGroupMembers, o.RemovedGroupMembers)
		return change{name: o.Name, apply: func(s *state) { s.setAppliedToGroup(o.Name, g) }, stored: o}, err
	}
	return setObject(object)
}

// names returns the names of the resource's objects.
func (s *state) names(r Resource) []string {
	switch r {
	case AddressGroups:
		return slices.Collect(maps.Keys(s.addressGroups))
	case AppliedToGroups:
		return slices.Collect(maps.Keys(s.appliedToGroups))
	default:
		return slices.Collect(maps.Keys(s.policies))
	}
}

// object returns the resource's object in the API's form; nil if there is none.
func (s *state) object(r Resource, name string) any {
	switch r {
	case AddressGroups:
		if g, known := s.addressGroups[name]; known {
			o := &v1beta2.AddressGroup{GroupMembers: g.members()}
			o.Name = name
			return o
		}
	case AppliedToGroups:
		if g, known := s.appliedToGroups[name]; known {
			o := &v1beta2.AppliedToGroup{GroupMembers: g.members()}
			o.Name = name
			return o
		}
	default:
		if p := s.policies[name]; p != nil {
			return p.latest
		}
	}
	return nil
}

// goneGroup is a group that antrea-controller has deleted.
type goneGroup struct {
	resource Resource
	name     string
}

// deleteNamed deletes the object of the resource. A group stays while policies may name it that are no longer the present ones.
func (s *state) deleteNamed(r Resource, name string) {
	if s.policiesBehind && r != NetworkPolicies {
		s.leaving[goneGroup{r, name}] = struct{}{}
		return
	}
	switch r {
	case AddressGroups:
		s.deleteAddressGroup(name)
	case AppliedToGroups:
		s.deleteAppliedToGroup(name)
	default:
		s.deletePolicy(name)
	}
}

// setAll applies changes that make a resource complete.
func (s *state) setAll(r Resource, changes []change) {
	keep := sets.New[string]()
	for _, ch := range changes {
		ch.apply(s)
		keep.Insert(ch.name)
	}
	for _, name := range s.names(r) {
		if !keep.Has(name) {
			s.deleteNamed(r, name)
		}
	}
}
