// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import "k8s.io/apimachinery/pkg/types"

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

// PolicyConcerns reports whether there is a NetworkPolicy with that name and UID that applies to a Pod of the Node.
func (s *Store) PolicyConcerns(policy types.NamespacedName, uid types.UID, node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ns := s.core.namespaces[policy.Namespace]
	if ns == nil {
		return false
	}
	p := ns.policies[policy.Name]
	return p != nil && p.source.UID == uid && p.concerns().has(node)
}
