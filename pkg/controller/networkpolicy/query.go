// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/controller/policyquery"
)

// Counts returns the numbers of policies, AddressGroups and AppliedToGroups.
func (s *Store) Counts() (policies, addressGroups, appliedToGroups int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := [resources]int{}
	for resource := range Resource(resources) {
		s.core.objects(resource, func(object) { counts[resource]++ })
	}
	return counts[NetworkPolicies], counts[AddressGroups], counts[AppliedToGroups]
}

// ConnectedNodes returns the number of Nodes whose NetworkPolicies are being watched, which is what agents do.
func (s *Store) ConnectedNodes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := 0
	for node := range s.watchers[NetworkPolicies] {
		if node != "" {
			nodes++
		}
	}
	return nodes
}

// PolicyConcerns reports whether there is such a policy, and applies to a Pod of the Node.
func (s *Store) PolicyConcerns(policy controlplane.NetworkPolicyReference, node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range []string{string(policy.UID), secondKey(&policy)} {
		if p := s.core.policies[key]; p != nil && *p.object.SourceRef == policy {
			return p.concerns().has(node)
		}
	}
	return false
}

// Snapshot implements policyquery.Store.
func (s *Store) Snapshot(pods ...types.NamespacedName) ([]*controlplane.NetworkPolicy, []*policyquery.Memberships) {
	s.mu.Lock()
	defer s.mu.Unlock()
	policies := make([]*controlplane.NetworkPolicy, 0, len(s.core.policies))
	for _, p := range s.core.policies {
		policies = append(policies, p.object)
	}
	memberships := make([]*policyquery.Memberships, len(pods))
	for i, name := range pods {
		if p := s.core.pods[name]; p != nil {
			memberships[i] = p.memberships()
		}
	}
	return policies, memberships
}

// memberships returns the groups with a Pod.
func (p *pod) memberships() *policyquery.Memberships {
	of := &policyquery.Memberships{AppliedTo: map[string]struct{}{}, Address: map[string]struct{}{}}
	for g := range p.class.groups() {
		if g.applied != nil && p.applied != nil {
			of.AppliedTo[g.name] = struct{}{}
		}
		if g.address != nil && p.address != nil {
			of.Address[g.name] = struct{}{}
		}
	}
	return of
}
