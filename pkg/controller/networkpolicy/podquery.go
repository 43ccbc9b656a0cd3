// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// RuleOf is a rule of a policy. Neither may be modified.
type RuleOf struct {
	Policy *controlplane.NetworkPolicy
	Rule   *controlplane.NetworkPolicyRule
	// Index is the rule's place among the source's rules of its direction. Rules for single Namespaces share one.
	Index int32
}

// PodRules lists the policies and rules that concern a Pod, sorted by the names of the policies and by index.
type PodRules struct {
	// Applied are the rules that apply to the Pod, and Policies the policies that do, with or without rules.
	Applied  []RuleOf
	Policies []*controlplane.NetworkPolicy
	// Source are ingress rules with an AddressGroup that contains the Pod, Destination such egress rules.
	Source, Destination []RuleOf
}

// PodRules returns, for each of some Pods, what concerns it at one time; nil for a Pod that does not exist.
func (s *Store) PodRules(names ...types.NamespacedName) []*PodRules {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := make([]*PodRules, len(names))
	for i, name := range names {
		if p := s.core.pods[name]; p != nil && name.Namespace != nodes {
			rules[i] = p.rules()
		}
	}
	return rules
}

func (p *pod) rules() *PodRules {
	rules := &PodRules{}
	policies := map[*policy]struct{}{}
	peers, applied := map[string]struct{}{}, map[string]struct{}{}
	for g := range p.class.groups() {
		if g.address != nil && p.address != nil {
			peers[g.name] = struct{}{}
			for user := range g.address.users {
				policies[user] = struct{}{}
			}
		}
		if g.applied != nil && p.applied != nil {
			applied[g.name] = struct{}{}
			for user := range g.applied.users {
				policies[user] = struct{}{}
			}
		}
	}
	for _, policy := range sortedPolicies(policies) {
		rules.add(policy, peers, applied)
	}
	return rules
}

func sortedPolicies(policies map[*policy]struct{}) []*controlplane.NetworkPolicy {
	var sorted []*controlplane.NetworkPolicy
	for p := range policies {
		sorted = append(sorted, p.object)
	}
	slices.SortFunc(sorted, func(a, b *controlplane.NetworkPolicy) int {
		return cmp.Or(cmp.Compare(a.SourceRef.Namespace, b.SourceRef.Namespace), cmp.Compare(a.SourceRef.Name, b.SourceRef.Name), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

// add adds the rules of a policy that name one of the groups.
func (r *PodRules) add(policy *controlplane.NetworkPolicy, peers, applied map[string]struct{}) {
	names := func(groups map[string]struct{}) func([]string) bool {
		return func(list []string) bool {
			return slices.ContainsFunc(list, func(name string) bool { _, ok := groups[name]; return ok })
		}
	}
	isPeer, applies := names(peers), names(applied)
	toPolicy := applies(policy.AppliedToGroups)
	toRule := false
	indexes := map[controlplane.Direction]int32{}
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		of := RuleOf{Policy: policy, Rule: rule, Index: rule.Priority}
		if rule.Priority == noOrder {
			of.Index = indexes[rule.Direction]
			indexes[rule.Direction]++
		}
		if toPolicy && len(rule.AppliedToGroups) == 0 || applies(rule.AppliedToGroups) {
			r.Applied, toRule = append(r.Applied, of), true
		}
		if isPeer(rule.From.AddressGroups) {
			r.Source = append(r.Source, of)
		}
		if isPeer(rule.To.AddressGroups) {
			r.Destination = append(r.Destination, of)
		}
	}
	if toPolicy || toRule {
		r.Policies = append(r.Policies, policy)
	}
}
