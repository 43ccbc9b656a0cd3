// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// doubtName is the name of the policy, and of its AppliedToGroup, that isolates all Pods of the Node while it is unknown to
// which of them policies apply. `antctl get networkpolicy` shows it.
const doubtName = "isolated-until-antrea-controller-answers"

// doubt is the knowledge of the state about sets that were read from disk.
type doubt struct {
	// stored are the resources that antrea-controller has not sent since the start.
	stored sets.Set[Resource]
	// policiesLost is set when there may have been policies of which nothing is known.
	policiesLost bool
}

// fellBack records that the resource has the content found on disk.
func (s *state) fellBack(r Resource, lost bool) {
	s.doubt.stored.Insert(r)
	if r == NetworkPolicies {
		s.doubt.policiesLost = lost
	}
}

// answered records that the resource has the content that antrea-controller has sent.
func (s *state) answered(r Resource) {
	s.doubt.stored.Delete(r)
	switch r {
	case NetworkPolicies:
		s.doubt.policiesLost = false
		s.policiesBehind = false
		for group := range s.leaving {
			s.deleteNamed(group.resource, group.name)
		}
		clear(s.leaving)
	case AppliedToGroups:
		s.targetsBehind = !s.marks[r].open
	}
}

// tolerates reports whether this version of a policy is used although groups of it are unknown.
func (s *state) tolerates(np *v1beta2.NetworkPolicy) bool {
	p := s.policies[np.Name]
	return p != nil && p.tolerated == np
}

// settleDoubt isolates all Pods of the Node in the directions in which something unknown may isolate one of them. first is
// set while nothing has been realized. Then there are no rules that could stay until a policy's groups have arrived, so
// unknown groups are tolerated.
func (s *state) settleDoubt(first bool) {
	if first && len(s.doubt.stored) > 0 {
		for _, p := range s.policies {
			p.tolerated = p.latest
		}
	}
	directions := s.unknownDirections()
	if len(directions) == 0 {
		if s.policies[doubtName] != nil {
			s.deletePolicy(doubtName)
			s.deleteAppliedToGroup(doubtName)
		}
		return
	}
	if p := s.policies[doubtName]; p == nil || !slices.Equal(directionsOf(p.latest), directions) {
		np := &v1beta2.NetworkPolicy{
			AppliedToGroups: []string{doubtName}, Rules: unknownRules(directions),
			SourceRef: &v1beta2.NetworkPolicyReference{Type: v1beta2.K8sNetworkPolicy, Name: doubtName},
		}
		np.Name = doubtName
		s.setPolicy(np)
	}
	if present, known := s.appliedToGroups[doubtName]; !known || !s.areAllPods(present) {
		edit := group{}.edit()
		for pod := range s.interfaces {
			edit.set(podKey(pod), &member{})
		}
		s.setAppliedToGroup(doubtName, edit.group())
	}
}

// areAllPods reports whether the members of a group are the Pods of the Node.
func (s *state) areAllPods(g group) bool {
	if g.byKey.Len() != len(s.interfaces) {
		return false
	}
	for pod := range s.interfaces {
		if !g.has(pod) {
			return false
		}
	}
	return true
}

// unknownDirections returns the directions in which policies may isolate unknown Pods.
func (s *state) unknownDirections() []v1beta2.Direction {
	both := []v1beta2.Direction{v1beta2.DirectionIn, v1beta2.DirectionOut}
	if s.doubt.policiesLost {
		return both
	}
	found := sets.New[v1beta2.Direction]()
	for name, p := range s.policies {
		if p.tolerated == nil || name == doubtName {
			continue
		}
		version, _ := s.resolve(name)
		// Once antrea-controller has sent the version and the groups, a missing group is on its way.
		if version != p.tolerated || (version == p.latest && !s.doubt.stored.HasAny(NetworkPolicies, AppliedToGroups)) {
			continue
		}
		if !slices.ContainsFunc(appliedToGroupsOf(version), func(g string) bool { _, known := s.appliedToGroups[g]; return known }) {
			found.Insert(directionsOf(version)...)
		}
	}
	return slices.DeleteFunc(both, func(d v1beta2.Direction) bool { return !found.Has(d) })
}
