// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// TypedInformer returns an informer for the resource in a Namespace, or in all, whose store has *T; see Stored. While its CRD is missing it has
// not synced. It says the consequence once. It calls denied, if it is set, each time that the API answers that there is no CRD, or no right to
// read the objects.
func TypedInformer[T any](client dynamic.Interface, resource schema.GroupVersionResource, namespace, consequence string, denied func()) (cache.SharedIndexInformer, error) {
	made, err := informer(client, resource, namespace, consequence, denied)
	if err != nil {
		return nil, err
	}
	if err := made.SetTransform(typed[T]); err != nil {
		return nil, fmt.Errorf("watch %s: %w", resource.GroupResource(), err)
	}
	return made, nil
}

// typed turns an object of the Kubernetes API into a *T. An object that cannot be decoded is left as it is.
func typed[T any](object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	u.SetManagedFields(nil)
	if content, err := Read[T](u); err == nil {
		return content, nil
	}
	return object, nil
}

// Stored returns the typed objects of the store of a TypedInformer.
func Stored[T any](informer cache.SharedIndexInformer) (objects []*T) {
	for _, stored := range informer.GetStore().List() {
		if object, ok := stored.(*T); ok {
			objects = append(objects, object)
		}
	}
	return objects
}
