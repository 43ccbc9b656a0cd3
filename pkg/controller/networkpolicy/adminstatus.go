// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Conditions of policies of the Kubernetes network policy API, which defines none. Accepted reports whether all parts of
// the policy are read and supported, Realized whether all Nodes with Pods that it applies to follow its latest version.
const (
	conditionAccepted = "Accepted"
	conditionRealized = "Realized"
	reasonRealizing   = "Realizing"
)

// adminConditions returns the conditions of a policy of the Kubernetes network policy API, without times.
func (p *policy) adminConditions() []metav1.Condition {
	accepted := metav1.Condition{
		Type: conditionAccepted, Status: metav1.ConditionTrue, Reason: conditionAccepted, ObservedGeneration: p.source.generation,
	}
	if len(p.translation.unreadable) > 0 {
		accepted.Status, accepted.Reason, accepted.Message = metav1.ConditionFalse, reasonUnsupported, p.translation.complaint()
	}
	realized := metav1.Condition{
		Type: conditionRealized, Status: metav1.ConditionTrue, Reason: conditionRealized, ObservedGeneration: p.source.generation,
	}
	nodes, failures := p.realization()
	switch {
	case len(failures) > 0:
		realized.Status, realized.Reason, realized.Message = metav1.ConditionFalse, reasonFailedOnNode, failureMessage(failures)
	case int(nodes) < len(p.span):
		realized.Status, realized.Reason = metav1.ConditionFalse, reasonRealizing
	}
	return []metav1.Condition{accepted, realized}
}

// adminStatus returns the conditions that a policy of the Kubernetes network policy API should have, without times; nil if there is no such policy.
func (s *Store) adminStatus(key adminKey) []metav1.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.core.antrea.admin[key]; p != nil {
		return p.adminConditions()
	}
	return nil
}

// addAdminKinds adds the kinds of the Kubernetes network policy API that are followed.
func (c *StatusController) addAdminKinds(objects *crd.AdminPolicies) {
	if objects.AdminNetworkPolicies != nil {
		c.kinds[string(controlplane.AdminNetworkPolicy)] = statusKind{crd.AdminNetworkPolicies, objects.AdminNetworkPolicies,
			nextOfAdmin(c.store, controlplane.AdminNetworkPolicy, func(p *v1alpha1.AdminNetworkPolicy) []metav1.Condition { return p.Status.Conditions })}
		c.kinds[string(controlplane.BaselineAdminNetworkPolicy)] = statusKind{crd.BaselineAdminNetworkPolicies, objects.BaselineAdminNetworkPolicies,
			nextOfAdmin(c.store, controlplane.BaselineAdminNetworkPolicy, func(p *v1alpha1.BaselineAdminNetworkPolicy) []metav1.Condition { return p.Status.Conditions })}
	}
	if objects.ClusterNetworkPolicies != nil {
		c.kinds[string(controlplane.K8sClusterNetworkPolicy)] = statusKind{crd.K8sClusterNetworkPolicies, objects.ClusterNetworkPolicies,
			nextOfAdmin(c.store, controlplane.K8sClusterNetworkPolicy, func(p *v1alpha2.ClusterNetworkPolicy) []metav1.Condition { return p.Status.Conditions })}
	}
}

// nextOfAdmin returns the function next of a kind, of whose objects conditions returns the stored conditions. Conditions of other authors stay.
func nextOfAdmin[T any](store *Store, kind controlplane.NetworkPolicyType, conditions func(*T) []metav1.Condition) func(types.NamespacedName, any) (any, bool) {
	return func(name types.NamespacedName, object any) (any, bool) {
		wanted := store.adminStatus(adminKey{kind, name.Name})
		if wanted == nil {
			return nil, false
		}
		content, _ := read[T](object)
		stored := conditions(content)
		next := append([]metav1.Condition{}, stored...)
		changed := false
		for _, condition := range wanted {
			changed = meta.SetStatusCondition(&next, condition) || changed
		}
		if !changed {
			return nil, false
		}
		was := meta.FindStatusCondition(stored, conditionRealized)
		is := meta.FindStatusCondition(next, conditionRealized)
		pending := was != nil && was.Status == metav1.ConditionTrue && is.Reason == reasonRealizing && was.ObservedGeneration == is.ObservedGeneration
		return map[string]any{"conditions": next}, pending
	}
}
