// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policyquery answers questions of users about policies: which rule decides between two Pods (Evaluate), and which
// policies and rules concern a Pod (EndpointOf). The answers are Antrea's, because its tests compare them: they look only at
// the Pods that rules name as members of groups. Ports, CIDRs, names and rules that match every peer are not considered. The
// command antctl oncache explain tells the treatment of a real connection.
package policyquery

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// Store has the policies and groups that agents get; networkpolicy.Store implements it.
type Store interface {
	// Snapshot returns all policies, in no particular order, and what each of the Pods is a member of at that moment; nil for
	// a Pod that does not exist. The policies must not be modified.
	Snapshot(pods ...types.NamespacedName) ([]*controlplane.NetworkPolicy, []*Memberships)
}

// Memberships are the names of the groups with a Pod, in each of the two roles of groups.
type Memberships struct {
	AppliedTo, Address map[string]struct{}
}

// appliesTo reports whether a rule of a policy applies to a Pod.
func appliesTo(policy *controlplane.NetworkPolicy, rule *controlplane.NetworkPolicyRule, of *Memberships) bool {
	groups := policy.AppliedToGroups
	if len(groups) == 0 {
		groups = rule.AppliedToGroups
	}
	return anyOf(groups, of.AppliedTo)
}

func anyOf(names []string, set map[string]struct{}) bool {
	for _, name := range names {
		if _, ok := set[name]; ok {
			return true
		}
	}
	return false
}

// isKubernetes reports whether a policy has no tier, priority and actions.
func isKubernetes(policy *controlplane.NetworkPolicy) bool { return policy.TierPriority == nil }

// indexed calls visit with each rule and its index among the rules of its direction. Several rules of a policy may come from
// one rule of its source; they have its index.
func indexed(policy *controlplane.NetworkPolicy, visit func(index int32, rule *controlplane.NetworkPolicyRule)) {
	next := map[controlplane.Direction]int32{}
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		index := next[rule.Direction]
		next[rule.Direction]++
		if !isKubernetes(policy) {
			index = rule.Priority
		}
		visit(index, rule)
	}
}
