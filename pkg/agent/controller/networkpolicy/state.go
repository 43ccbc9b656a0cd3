// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// state is the controller's knowledge: policies and groups as antrea-controller has computed them, and the local Pods'
// interfaces. It is deterministic and does no I/O; every change marks the policies that it concerns as dirty.
type state struct {
	policies        map[string]*policyState
	addressGroups   map[string]group
	appliedToGroups map[string]group
	// interfaces are the interfaces of local Pods, by Pod and by interface name.
	interfaces map[podName]map[string]policy.Pod

	// services has the ids of the groups of known Services in Open vSwitch. fqdns knows the addresses behind names; nil if nothing does.
	services map[string][]uint32
	fqdns    fqdn.Names

	// These have the names of policies that refer to a group, a Service or a name, known or not.
	byAddressGroup, byAppliedToGroup, byService, byName index
	dirty                                               sets.Set[string]
	// dirtyNode has the same policies until the rules for the Node follow them; nil if there are none.
	dirtyNode sets.Set[string]

	// targetsBehind is set while no watch tells of AppliedToGroups.
	targetsBehind bool
	// policiesBehind is set while groups change without the policies of their event, and leaving are the groups that have gone since (marks.go).
	policiesBehind bool
	leaving        map[goneGroup]struct{}
	// held is set while nothing may take effect.
	held bool

	doubt   doubt
	marks   marks
	effects effects
	// built says which parts of rules other parts of the agent implement.
	built built
}

// policyState is one policy; latest is nil once it has been deleted.
type policyState struct {
	latest *v1beta2.NetworkPolicy
	// effective is the latest version whose groups were all known at some time. Groups and policies arrive in any order,
	// and until a version is complete the one before stays in force.
	effective *v1beta2.NetworkPolicy
	// tolerated is a version that is in force although groups of it are unknown (doubt.go).
	tolerated *v1beta2.NetworkPolicy
	// accepted is the last version that the switch has accepted unchanged. While a later one is refused, its rules are in
	// force as far as its groups allow them.
	accepted *v1beta2.NetworkPolicy
}

// index maps the name of a group to the names of policies.
type index map[string]sets.Set[string]

func (i index) add(group, policy string) {
	if i[group] == nil {
		i[group] = sets.New[string]()
	}
	i[group].Insert(policy)
}

func (i index) remove(group, policy string) {
	if i[group].Delete(policy); len(i[group]) == 0 {
		delete(i, group)
	}
}

func newState() *state {
	return &state{
		leaving:          map[goneGroup]struct{}{},
		policies:         map[string]*policyState{},
		addressGroups:    map[string]group{},
		appliedToGroups:  map[string]group{},
		interfaces:       map[podName]map[string]policy.Pod{},
		services:         map[string][]uint32{},
		byAddressGroup:   index{},
		byAppliedToGroup: index{},
		byService:        index{},
		byName:           index{},
		dirty:            sets.New[string](),
		doubt:            doubt{stored: sets.New[Resource]()},
		marks:            newMarks(),
		effects:          kubernetesEffects,
	}
}

// addressGroupsOf returns the names of the AddressGroups that the policy's rules refer to.
func addressGroupsOf(p *v1beta2.NetworkPolicy) []string {
	names := sets.New[string]()
	for i := range p.Rules {
		names.Insert(p.Rules[i].From.AddressGroups...)
		names.Insert(p.Rules[i].To.AddressGroups...)
	}
	return sets.List(names)
}

// targetsOf returns the names of the AppliedToGroups of a rule.
func targetsOf(np *v1beta2.NetworkPolicy, rule *v1beta2.NetworkPolicyRule) []string {
	if len(rule.AppliedToGroups) > 0 {
		return rule.AppliedToGroups
	}
	return np.AppliedToGroups
}

// appliedToGroupsOf returns the names of the AppliedToGroups of a policy and its rules.
func appliedToGroupsOf(np *v1beta2.NetworkPolicy) []string {
	names := np.AppliedToGroups
	for i := range np.Rules {
		for _, name := range np.Rules[i].AppliedToGroups {
			if !slices.Contains(names, name) {
				names = append(slices.Clip(names), name)
			}
		}
	}
	return names
}

// eachReference calls visit for whatever a policy refers to, with the index that has it.
func (s *state) eachReference(np *v1beta2.NetworkPolicy, visit func(i index, to string)) {
	for _, name := range addressGroupsOf(np) {
		visit(s.byAddressGroup, name)
	}
	for _, name := range appliedToGroupsOf(np) {
		visit(s.byAppliedToGroup, name)
	}
	for i := range np.Rules {
		for _, service := range np.Rules[i].To.ToServices {
			visit(s.byService, serviceKey(service))
		}
	}
	for _, name := range selectorsOf(np) {
		visit(s.byName, name)
	}
}

// versions returns each version of the policy that may still be needed.
func (p *policyState) versions() []*v1beta2.NetworkPolicy {
	return slices.DeleteFunc([]*v1beta2.NetworkPolicy{p.latest, p.effective, p.accepted}, func(v *v1beta2.NetworkPolicy) bool { return v == nil })
}

// reindex calls change and updates the indexes for what it has done to the policy.
func (s *state) reindex(name string, change func(p *policyState)) {
	p := s.policies[name]
	if p == nil {
		p = &policyState{}
		s.policies[name] = p
	}
	for _, v := range p.versions() {
		s.eachReference(v, func(i index, to string) { i.remove(to, name) })
	}
	change(p)
	for _, v := range p.versions() {
		s.eachReference(v, func(i index, to string) { i.add(to, name) })
	}
	if p.latest == nil {
		delete(s.policies, name)
	}
}

func (s *state) setPolicy(np *v1beta2.NetworkPolicy) {
	s.reindex(np.Name, func(p *policyState) { p.latest = np })
	s.soil(sets.New(np.Name))
}

func (s *state) deletePolicy(name string) {
	if s.policies[name] != nil {
		s.reindex(name, func(p *policyState) { *p = policyState{} })
		s.soil(sets.New(name))
	}
}

// soil makes policies dirty.
func (s *state) soil(policies sets.Set[string]) {
	for name := range policies {
		s.dirty.Insert(name)
		if s.dirtyNode != nil {
			s.dirtyNode.Insert(name)
		}
	}
}

func (s *state) setAddressGroup(name string, g group) {
	delete(s.leaving, goneGroup{AddressGroups, name})
	s.addressGroups[name] = g
	s.soil(s.byAddressGroup[name])
}

func (s *state) deleteAddressGroup(name string) {
	delete(s.addressGroups, name)
	s.soil(s.byAddressGroup[name])
}

func (s *state) setAppliedToGroup(name string, g group) {
	delete(s.leaving, goneGroup{AppliedToGroups, name})
	s.appliedToGroups[name] = g
	s.soil(s.byAppliedToGroup[name])
}

func (s *state) deleteAppliedToGroup(name string) {
	delete(s.appliedToGroups, name)
	s.soil(s.byAppliedToGroup[name])
}

// setInterface adds or replaces an interface of a local Pod.
func (s *state) setInterface(pod podName, i policy.Pod) {
	if s.interfaces[pod] == nil {
		s.interfaces[pod] = map[string]policy.Pod{}
	}
	if old, known := s.interfaces[pod][i.InterfaceName]; known && old.OFPort == i.OFPort && slices.Equal(old.IPs, i.IPs) {
		return
	}
	s.interfaces[pod][i.InterfaceName] = i
	s.soil(s.policiesOf(pod))
}

func (s *state) deleteInterface(pod podName, interfaceName string) {
	if _, known := s.interfaces[pod][interfaceName]; !known {
		return
	}
	if delete(s.interfaces[pod], interfaceName); len(s.interfaces[pod]) == 0 {
		delete(s.interfaces, pod)
	}
	s.soil(s.policiesOf(pod))
}

// policiesOf returns the names of the policies that apply to the Pod.
func (s *state) policiesOf(pod podName) sets.Set[string] {
	names := sets.New[string]()
	for name, g := range s.appliedToGroups {
		if g.has(pod) {
			names = names.Union(s.byAppliedToGroup[name])
		}
	}
	return names
}

// complete reports whether the groups of the policy that concern this Node are known, or need not be.
func (s *state) complete(p *v1beta2.NetworkPolicy) bool {
	if s.tolerates(p) {
		return true
	}
	for _, name := range addressGroupsOf(p) {
		if _, known := s.addressGroups[name]; !known {
			return false
		}
	}
	// Only the groups with members on this Node are sent.
	applied := appliedToGroupsOf(p)
	return len(applied) == 0 || slices.ContainsFunc(applied, func(name string) bool { _, known := s.appliedToGroups[name]; return known })
}

// resolve returns the version of the policy that should be in force, nil if the policy is gone. ok is false when that is
// not yet known; the present rules then stay.
func (s *state) resolve(name string) (version *v1beta2.NetworkPolicy, ok bool) {
	p := s.policies[name]
	if p == nil {
		return nil, true
	}
	if p.latest != p.effective && s.complete(p.latest) && !s.missesTargets(p) {
		s.reindex(name, func(p *policyState) { p.effective = p.latest })
	}
	return p.effective, p.effective != nil && s.complete(p.effective)
}

// missesTargets reports whether the latest version of a policy may apply to Pods of this Node by groups that the effective one does not have
// and that may be on their way. The rules of the effective version may deny what these Pods may not do.
func (s *state) missesTargets(p *policyState) bool {
	if !s.targetsBehind || p.effective == nil {
		return false
	}
	former := appliedToGroupsOf(p.effective)
	return slices.ContainsFunc(appliedToGroupsOf(p.latest), func(name string) bool {
		_, known := s.appliedToGroups[name]
		return !known && !slices.Contains(former, name)
	})
}

// accept records that the version is in force unchanged.
func (s *state) accept(name string, version *v1beta2.NetworkPolicy) {
	if p := s.policies[name]; p != nil && version != nil && p.accepted != version {
		s.reindex(name, func(p *policyState) { p.accepted = version })
	}
}

func comparePods(a, b podName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func sortedPods[V any](pods map[podName]V) []podName {
	return slices.SortedFunc(maps.Keys(pods), comparePods)
}
