// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd reads and writes the objects of crd.antrea.io and of Multi-cluster with the dynamic client: there are few kinds. Traceflows and
// what makes policies are watched, also the policies of policy.networking.k8s.io.
package crd

import (
	"context"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// The resources of the group.
var (
	AgentInfos      = v1beta1.SchemeGroupVersion.WithResource("antreaagentinfos")
	ControllerInfos = v1beta1.SchemeGroupVersion.WithResource("antreacontrollerinfos")
	Traceflows      = v1beta1.SchemeGroupVersion.WithResource("traceflows")
)

// New returns an object of a kind of crd.antrea.io without content.
func New(kind, name string) *unstructured.Unstructured {
	return NewOf(v1beta1.SchemeGroupVersion.WithKind(kind), "", name)
}

// NewOf returns an object without content. The Namespace is empty for objects of the cluster.
func NewOf(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// Fill replaces everything in object but its type and metadata by what is in content, a pointer to a struct of an API.
func Fill(object *unstructured.Unstructured, content any) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(content)
	if err != nil {
		return fmt.Errorf("encoding %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		fields[key] = object.Object[key]
	}
	object.Object = fields
	return nil
}

// Read returns the content of object; T is a struct of its API.
func Read[T any](object *unstructured.Unstructured) (*T, error) {
	content := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, content); err != nil {
		return nil, fmt.Errorf("decoding %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return content, nil
}

// Missing says what is wrong when the Kubernetes API does not know the resource itself; other errors are returned unchanged.
func Missing(err error, resource schema.GroupVersionResource) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the CRD %s is not installed, or does not have version %s: %w", resource.GroupResource(), resource.Version, err)
	}
	return err
}

// Informer returns an informer for the resource. While its CRD is missing it has nothing, says so once, and asks again ever more slowly.
func Informer(client dynamic.Interface, resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
	return informer(client, resource, metav1.NamespaceAll, "Objects of this kind have no effect until their CRD is installed: "+chartInstalls, nil)
}

// chartInstalls says how the CRDs of the chart are installed.
const chartInstalls = "Helm does not do that in an upgrade, kubectl apply -f build/charts/antrea/crds does"

// informer returns an informer that says the consequence of a missing CRD once. It calls denied, if it is set, each time that the API answers that there is no
// CRD, or no right to read the objects.
func informer(client dynamic.Interface, resource schema.GroupVersionResource, namespace, consequence string, denied func()) (cache.SharedIndexInformer, error) {
	informer := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil).ForResource(resource).Informer()
	var said atomic.Bool
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if missing := Missing(err, resource); !apierrors.IsNotFound(err) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
		} else if said.CompareAndSwap(false, true) {
			klog.ErrorS(missing, consequence, "resource", resource.GroupResource())
		}
		if denied != nil && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)) {
			denied()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", resource.GroupResource(), err)
	}
	return informer, nil
}
