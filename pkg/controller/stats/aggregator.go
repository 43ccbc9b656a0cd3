// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// Policies knows what concerns which Node; networkpolicy.Store implements it.
type Policies interface {
	// PolicyConcerns reports whether there is such a policy, and applies to a Pod of the Node.
	PolicyConcerns(policy controlplane.NetworkPolicyReference, node string) bool
}

// Sum is the traffic of one policy since CreationTimestamp. The metadata also has the policy's Namespace, name, UID and
// labels.
type Sum struct {
	metav1.ObjectMeta
	// Traffic includes the traffic of rules that the policy no longer has.
	Traffic v1alpha1.TrafficStats
	// Rules are in the order of their first reports; none for Kubernetes' policies, whose rules have no names.
	Rules []v1alpha1.RuleTrafficStats
}

// Aggregator has the statistics of all NetworkPolicies. Its methods can be called at any time.
type Aggregator struct {
	policies Policies

	mu   sync.Mutex
	sums map[controlplane.NetworkPolicyType]map[types.NamespacedName]*Sum
	// last are the latest reports that were counted, by Node. They are for Nodes in nodes, and for others for a while.
	last  map[string]report
	nodes map[string]struct{}
	swept time.Time
}

// New makes an Aggregator without policies.
func New(policies Policies) *Aggregator {
	a := &Aggregator{
		policies: policies, sums: map[controlplane.NetworkPolicyType]map[types.NamespacedName]*Sum{}, last: map[string]report{}, nodes: map[string]struct{}{},
	}
	for _, kind := range kinds {
		a.sums[kind.kind] = map[types.NamespacedName]*Sum{}
	}
	return a
}

// Handler follows the policies of an informer, which are all of one kind: K8sNetworkPolicy, AntreaClusterNetworkPolicy or
// AntreaNetworkPolicy. Other kinds have no statistics.
func (a *Aggregator) Handler(kind controlplane.NetworkPolicyType) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.set(kind, object.(metav1.Object)) },
		UpdateFunc: func(_, object any) { a.set(kind, object.(metav1.Object)) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			a.delete(kind, object.(metav1.Object))
		},
	}
}

// set begins the sum of a policy. A policy that is deleted and created again starts at zero.
func (a *Aggregator) set(kind controlplane.NetworkPolicyType, policy metav1.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.sums[kind][nameOf(policy)]; known == nil || known.UID != policy.GetUID() {
		a.sums[kind][nameOf(policy)] = newSum(policy)
	} else {
		known.Labels = maps.Clone(policy.GetLabels())
	}
}

func (a *Aggregator) delete(kind controlplane.NetworkPolicyType, policy metav1.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sums[kind], nameOf(policy))
}

// Reset starts all sums at zero. A controller that no longer serves calls it: another one counts from then on.
func (a *Aggregator) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, sums := range a.sums {
		for name, former := range sums {
			sums[name] = newSum(former)
		}
	}
	clear(a.last)
}

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func newSum(policy metav1.Object) *Sum {
	return &Sum{ObjectMeta: metav1.ObjectMeta{
		Namespace: policy.GetNamespace(), Name: policy.GetName(), UID: policy.GetUID(), Labels: maps.Clone(policy.GetLabels()),
		CreationTimestamp: metav1.NewTime(time.Now()),
	}}
}

// copy returns a Sum that later reports and events do not change: labels are replaced as a whole.
func (s *Sum) copy() Sum {
	c := *s
	c.Rules = slices.Clone(s.Rules)
	return c
}

// Get returns the sum of a policy; ok is false if there is no such policy.
func (a *Aggregator) Get(kind controlplane.NetworkPolicyType, policy types.NamespacedName) (sum Sum, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.sums[kind][policy]; known != nil {
		return known.copy(), true
	}
	return sum, false
}

// List returns the sums of all policies of a kind in a Namespace, or of all if namespace is empty, by Namespace and name.
func (a *Aggregator) List(kind controlplane.NetworkPolicyType, namespace string) []Sum {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := []Sum{}
	for name, sum := range a.sums[kind] {
		if namespace == "" || namespace == name.Namespace {
			list = append(list, sum.copy())
		}
	}
	slices.SortFunc(list, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}
