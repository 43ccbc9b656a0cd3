// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// Policies knows what concerns which Node; networkpolicy.Store implements it.
type Policies interface {
	// PolicyConcerns reports whether there is a policy with that name and UID that applies to a Pod of the Node.
	PolicyConcerns(policy types.NamespacedName, uid types.UID, node string) bool
}

// Aggregator has the statistics of all NetworkPolicies. Its methods can be called at any time.
type Aggregator struct {
	policies Policies

	mu    sync.Mutex
	stats map[types.NamespacedName]*v1alpha1.NetworkPolicyStats
	// last are the latest reports that were counted, by Node. They are for Nodes in nodes, and for others for a while.
	last  map[string]report
	nodes map[string]struct{}
	swept time.Time
}

// New makes an Aggregator without policies.
func New(policies Policies) *Aggregator {
	return &Aggregator{policies: policies, stats: map[types.NamespacedName]*v1alpha1.NetworkPolicyStats{}, last: map[string]report{}, nodes: map[string]struct{}{}}
}

// Handler follows the NetworkPolicies of an informer.
func (a *Aggregator) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.set(object.(metav1.Object)) },
		UpdateFunc: func(_, object any) { a.set(object.(metav1.Object)) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			a.delete(object.(metav1.Object))
		},
	}
}

// set begins the statistics of a policy. A policy that is deleted and created again starts at zero.
func (a *Aggregator) set(policy metav1.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.stats[nameOf(policy)]; known == nil || known.UID != policy.GetUID() {
		a.stats[nameOf(policy)] = newStats(policy)
	}
}

func (a *Aggregator) delete(policy metav1.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.stats, nameOf(policy))
}

// Reset starts all statistics at zero. A controller that no longer serves calls it: another one counts from then on.
func (a *Aggregator) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, former := range a.stats {
		a.stats[name] = newStats(former)
	}
	clear(a.last)
}

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func newStats(policy metav1.Object) *v1alpha1.NetworkPolicyStats {
	return &v1alpha1.NetworkPolicyStats{ObjectMeta: metav1.ObjectMeta{
		Namespace: policy.GetNamespace(), Name: policy.GetName(), UID: policy.GetUID(), CreationTimestamp: metav1.NewTime(time.Now()),
	}}
}

// Get returns the statistics of a policy; ok is false if there is no such policy.
func (a *Aggregator) Get(policy types.NamespacedName) (stats v1alpha1.NetworkPolicyStats, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.stats[policy]; known != nil {
		return *known, true
	}
	return stats, false
}

// List returns the statistics of all policies of a Namespace, or of all if namespace is empty, by Namespace and name.
func (a *Aggregator) List(namespace string) []v1alpha1.NetworkPolicyStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := []v1alpha1.NetworkPolicyStats{}
	for name, stats := range a.stats {
		if namespace == "" || namespace == name.Namespace {
			list = append(list, *stats)
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.NetworkPolicyStats) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}
