// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// The resources of policies.
var (
	ClusterNetworkPolicies = v1beta1.SchemeGroupVersion.WithResource("clusternetworkpolicies")
	NetworkPolicies        = v1beta1.SchemeGroupVersion.WithResource("networkpolicies")
	Tiers                  = v1beta1.SchemeGroupVersion.WithResource("tiers")
	ClusterGroups          = v1beta1.SchemeGroupVersion.WithResource("clustergroups")
	Groups                 = v1beta1.SchemeGroupVersion.WithResource("groups")
)

// Policies are the informers of the kinds that make policies. Their handlers and stores have what Object decodes.
type Policies struct {
	ClusterNetworkPolicies cache.SharedIndexInformer // of v1beta1.ClusterNetworkPolicy
	NetworkPolicies        cache.SharedIndexInformer // of v1beta1.NetworkPolicy
	Tiers                  cache.SharedIndexInformer // of v1beta1.Tier
	ClusterGroups          cache.SharedIndexInformer // of v1beta1.ClusterGroup
	Groups                 cache.SharedIndexInformer // of v1beta1.Group
}

// NewPolicies returns informers that do nothing before Run.
func NewPolicies(client dynamic.Interface) (*Policies, error) {
	p := &Policies{}
	var errs []error
	set := func(target *cache.SharedIndexInformer, resource schema.GroupVersionResource, decode cache.TransformFunc) {
		made, err := decoding(client, resource, "AntreaPolicy", chartInstalls, decode)
		*target = made
		errs = append(errs, err)
	}
	set(&p.ClusterNetworkPolicies, ClusterNetworkPolicies, decode[v1beta1.ClusterNetworkPolicy])
	set(&p.NetworkPolicies, NetworkPolicies, decode[v1beta1.NetworkPolicy])
	set(&p.Tiers, Tiers, decode[v1beta1.Tier])
	set(&p.ClusterGroups, ClusterGroups, decode[v1beta1.ClusterGroup])
	set(&p.Groups, Groups, decode[v1beta1.Group])
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("watch policies: %w", err)
	}
	return p, nil
}

// decoding returns an informer whose objects decode reads. Without the CRD no policy is served: what its objects deny is not known.
func decoding(client dynamic.Interface, resource schema.GroupVersionResource, gate, advice string, decode cache.TransformFunc) (cache.SharedIndexInformer, error) {
	made, err := informer(client, resource, metav1.NamespaceAll, fmt.Sprintf("No policy of any kind is served until this CRD is installed, or the feature gate %s is off: %s", gate, advice), nil)
	if err != nil {
		return nil, err
	}
	return made, made.SetTransform(decode)
}

// all returns the informers by resource.
func (p *Policies) all() map[schema.GroupVersionResource]cache.SharedIndexInformer {
	return map[schema.GroupVersionResource]cache.SharedIndexInformer{
		ClusterNetworkPolicies: p.ClusterNetworkPolicies, NetworkPolicies: p.NetworkPolicies, Tiers: p.Tiers,
		ClusterGroups: p.ClusterGroups, Groups: p.Groups,
	}
}

// Run watches until ctx ends. While a CRD is missing, its informer has not synced.
func (p *Policies) Run(ctx context.Context) { runAll(ctx, p.all()) }

func runAll(ctx context.Context, informers map[schema.GroupVersionResource]cache.SharedIndexInformer) {
	var running sync.WaitGroup
	for _, informer := range informers {
		running.Go(func() { informer.Run(ctx.Done()) })
	}
	running.Wait()
}

// Synced returns an error that names what is not read yet.
func (p *Policies) Synced() error {
	var errs []error
	for resource, informer := range p.all() {
		if !informer.HasSynced() {
			errs = append(errs, fmt.Errorf("%s are not read yet; is their CRD installed?", resource.GroupResource()))
		}
	}
	return errors.Join(errs...)
}

// decode turns an object of the Kubernetes API into a *T. An object that cannot be decoded is left as it is, for Object.
func decode[T any](object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	u.SetManagedFields(nil)
	if content, err := ReadStrictly[T](u); err == nil {
		return content, nil
	}
	return object, nil
}

// Object returns what a handler or a store of Policies has: for a deleted object also in a cache.DeletedFinalStateUnknown. The
// error names an object that has a field, or a type of a field, that is not known here; what it says is not known then.
func Object[T any](stored any) (*T, error) {
	if last, ok := stored.(cache.DeletedFinalStateUnknown); ok {
		stored = last.Obj
	}
	switch object := stored.(type) {
	case *T:
		return object, nil
	case *unstructured.Unstructured:
		return ReadStrictly[T](object)
	}
	return nil, fmt.Errorf("a %T is stored: want a %T", stored, new(T))
}

var errNoSpec = errors.New("spec: must be an object")

// ReadStrictly is Read, but refuses unknown fields of the spec.
func ReadStrictly[T any](object *unstructured.Unstructured) (*T, error) {
	if _, ok := object.Object["spec"].(map[string]any); !ok && object.Object["spec"] != nil { // The decoder takes an empty list for a struct.
		return nil, fmt.Errorf("decoding %s %s: %w", object.GetKind(), cache.MetaObjectToName(object), errNoSpec)
	}
	spec := map[string]any{"spec": object.Object["spec"]}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(spec, new(T), true); err != nil {
		return nil, fmt.Errorf("decoding %s %s: %w", object.GetKind(), cache.MetaObjectToName(object), err)
	}
	return Read[T](object)
}
