// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/policycheck"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// state answers questions about the objects that there are.
type state struct {
	objects *crd.Policies
}

// all returns the objects of an informer, also objects with unknown fields.
func all[T any](informer cache.SharedIndexInformer) (objects []*T) {
	for _, stored := range informer.GetStore().List() {
		if object := known[T](stored); object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// known returns what is known of a stored object; nil if that is nothing.
func known[T any](stored any) *T {
	object, err := crd.Object[T](stored)
	if u, ok := stored.(*unstructured.Unstructured); ok && err != nil {
		object, err = crd.Read[T](u)
	}
	if err != nil {
		return nil
	}
	return object
}

func (s state) tierExists(name string) bool {
	_, found, _ := s.objects.Tiers.GetStore().GetByKey(name)
	return found
}

func (s state) tiers() []*v1beta1.Tier { return all[v1beta1.Tier](s.objects.Tiers) }

// users returns the numbers of policies in a tier.
func (s state) users(tier string) (cluster, namespaced int) {
	for _, p := range all[v1beta1.ClusterNetworkPolicy](s.objects.ClusterNetworkPolicies) {
		if policycheck.ResolvedTier(p.Spec.Tier) == tier {
			cluster++
		}
	}
	for _, p := range all[v1beta1.NetworkPolicy](s.objects.NetworkPolicies) {
		if policycheck.ResolvedTier(p.Spec.Tier) == tier {
			namespaced++
		}
	}
	return cluster, namespaced
}

// children returns the children of a ClusterGroup or, with a Namespace, of a Group; none if there is no such group.
func (s state) children(namespace, name string) []v1beta1.ClusterGroupReference {
	if namespace == "" {
		stored, _, _ := s.objects.ClusterGroups.GetStore().GetByKey(name)
		if g := known[v1beta1.ClusterGroup](stored); g != nil {
			return g.Spec.ChildGroups
		}
		return nil
	}
	stored, _, _ := s.objects.Groups.GetStore().GetByKey(namespace + "/" + name)
	if g := known[v1beta1.Group](stored); g != nil {
		return g.Spec.ChildGroups
	}
	return nil
}

// parents returns the number of groups that have a group as a child.
func (s state) parents(namespace, name string) (n int) {
	count := func(children []v1beta1.ClusterGroupReference) {
		if slices.Contains(children, v1beta1.ClusterGroupReference(name)) {
			n++
		}
	}
	if namespace == "" {
		for _, g := range all[v1beta1.ClusterGroup](s.objects.ClusterGroups) {
			count(g.Spec.ChildGroups)
		}
		return n
	}
	for _, g := range all[v1beta1.Group](s.objects.Groups) {
		if g.Namespace == namespace {
			count(g.Spec.ChildGroups)
		}
	}
	return n
}
