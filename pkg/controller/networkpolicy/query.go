// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import "github.com/antrea-oncache/antrea/pkg/apis/controlplane"

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
