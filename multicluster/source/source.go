// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source watches the objects of one kind and keeps them typed. A watch that ends, or an API that does not answer, is tried again for
// ever; until then a Source has what it has read.
package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Selection restricts a Source; the zero value has all objects.
type Selection struct {
	Namespace string
	// Labels and Fields are selectors.
	Labels, Fields string
}

// Source has the objects of one kind; T is a struct of an API.
type Source[T any] struct {
	informer cache.SharedIndexInformer
	resource schema.GroupVersionResource
}

// New returns a Source that has nothing before Run. It calls changed after each change.
func New[T any](client dynamic.Interface, resource schema.GroupVersionResource, s Selection, changed func()) (*Source[T], error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, s.Namespace, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = s.Labels, s.Fields
	}).Informer()
	decode := func(object any) (any, error) {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			return object, nil
		}
		u.SetManagedFields(nil)
		if content, err := crd.Read[T](u); err == nil {
			return content, nil
		}
		return object, nil
	}
	source, err := Of[T](informer, resource, decode, changed)
	if err != nil {
		return nil, err
	}
	// An API that lacks the CRD, or that is away, is said once per outage by the callers that know the consequence.
	var said atomic.Bool
	return source, informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if missing := crd.Missing(err, resource); !apierrors.IsNotFound(err) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
		} else if said.CompareAndSwap(false, true) {
			klog.ErrorS(missing, "Objects of this kind have no effect until their CRD is installed", "resource", resource.GroupResource())
		}
	})
}

// Of returns a Source of an informer that has not started. transform is applied to each object before it is stored.
func Of[T any](informer cache.SharedIndexInformer, resource schema.GroupVersionResource, transform cache.TransformFunc, changed func()) (*Source[T], error) {
	if err := informer.SetTransform(transform); err != nil {
		return nil, fmt.Errorf("watch %s: %w", resource.GroupResource(), err)
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", resource.GroupResource(), err)
	}
	return &Source[T]{informer, resource}, nil
}

// Index makes objects available by ByIndex under the keys that the function returns; before Run only.
func (s *Source[T]) Index(name string, keys func(*T) []string) error {
	err := s.informer.AddIndexers(cache.Indexers{name: func(object any) ([]string, error) {
		if typed, ok := object.(*T); ok {
			return keys(typed), nil
		}
		return nil, nil
	}})
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.resource.GroupResource(), err)
	}
	return nil
}

// Run watches until ctx ends.
func (s *Source[T]) Run(ctx context.Context) { s.informer.RunWithContext(ctx) }

// Synced returns an error that names the resource while it is not read yet.
func (s *Source[T]) Synced() error {
	if !s.informer.HasSynced() {
		return fmt.Errorf("%s are not read yet", s.resource.GroupResource())
	}
	return nil
}

// List returns all objects that can be read, in the order of Namespaces and names. They must not be changed.
func (s *Source[T]) List() []*T {
	objects, _ := split[T](s.informer.GetStore().List())
	return objects
}

// Unreadable returns the names of the objects that do not have the form of their kind.
func (s *Source[T]) Unreadable() []string {
	var names []string
	for _, object := range s.Malformed() {
		names = append(names, object.GetName())
	}
	return names
}

// Malformed returns the objects that do not have the form of their kind.
func (s *Source[T]) Malformed() []metav1.Object {
	_, malformed := split[T](s.informer.GetStore().List())
	return malformed
}

// Get returns the object with a Namespace (empty for objects of the cluster) and a name, or nil.
func (s *Source[T]) Get(namespace, name string) *T {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	stored, _, _ := s.informer.GetStore().GetByKey(key)
	object, _ := stored.(*T)
	return object
}

// ByIndex returns the objects that have the key, in the order of Namespaces and names.
func (s *Source[T]) ByIndex(name, key string) []*T {
	found, err := s.informer.GetIndexer().ByIndex(name, key)
	if err != nil {
		panic(err) // There is no such index.
	}
	objects, _ := split[T](found)
	return objects
}

func split[T any](stored []any) (objects []*T, malformed []metav1.Object) {
	slices.SortFunc(stored, func(a, b any) int { return strings.Compare(keyOf(a), keyOf(b)) })
	for _, object := range stored {
		if typed, ok := object.(*T); ok {
			objects = append(objects, typed)
		} else if u, ok := object.(metav1.Object); ok {
			malformed = append(malformed, u)
		}
	}
	return objects, malformed
}

func keyOf(object any) string {
	key, _ := cache.MetaNamespaceKeyFunc(object)
	return key
}

// Runner is a Source, whatever its type.
type Runner interface {
	Run(ctx context.Context)
	Synced() error
}

// RunAll runs sources until ctx ends.
func RunAll(ctx context.Context, sources ...Runner) {
	var running sync.WaitGroup
	for _, s := range sources {
		running.Go(func() { s.Run(ctx) })
	}
	running.Wait()
}
