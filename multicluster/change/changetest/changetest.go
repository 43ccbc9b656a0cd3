// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changetest is a Kubernetes API in memory for tests of cores: it makes changes as the real one does, with versions, finalizers and merge
// patches, but validates nothing.
package changetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

type place struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// API has objects.
type API struct {
	// Now is the time of creations and deletions.
	Now     time.Time
	objects map[place]*unstructured.Unstructured
	version int
}

// New returns an API without objects.
func New() *API { return &API{objects: map[place]*unstructured.Unstructured{}} }

func placeOf(c change.Change) place { return place{c.Type.Resource, c.Namespace, c.Name} }

// Copy returns an API with the same objects: what a watch shows that falls behind from now on.
func (a *API) Copy() *API {
	out := &API{Now: a.Now, objects: map[place]*unstructured.Unstructured{}, version: a.version}
	for p, o := range a.objects {
		out.objects[p] = o.DeepCopy()
	}
	return out
}

func (a *API) next() string {
	a.version++
	return fmt.Sprint(a.version)
}

// Make makes a change, or returns the error of the Kubernetes API.
func (a *API) Make(c change.Change) error {
	p := placeOf(c)
	object, resource := a.objects[p], c.Type.Resource.GroupResource()
	if c.Verb == change.Create {
		if object != nil {
			return apierrors.NewAlreadyExists(resource, c.Name)
		}
		object = copyOf(c.Content)
		object.SetUID(types.UID("uid-" + a.next()))
		object.SetResourceVersion(a.next())
		object.SetCreationTimestamp(metav1.NewTime(a.Now))
		a.objects[p] = object
		return nil
	}
	if object == nil {
		return apierrors.NewNotFound(resource, c.Name)
	}
	if object.GetUID() != c.UID || object.GetResourceVersion() != c.Version {
		return apierrors.NewConflict(resource, c.Name, fmt.Errorf("version %s, want %s", c.Version, object.GetResourceVersion()))
	}
	if c.Verb == change.Delete {
		a.delete(p)
		return nil
	}
	merge(object.Object, copyOf(c.Content).Object)
	object.SetResourceVersion(a.next())
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		delete(a.objects, p)
	}
	return nil
}

func (a *API) delete(p place) {
	object := a.objects[p]
	if len(object.GetFinalizers()) == 0 {
		delete(a.objects, p)
	} else if object.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(a.Now)
		object.SetDeletionTimestamp(&now)
		object.SetResourceVersion(a.next())
	}
}

func copyOf(content map[string]any) *unstructured.Unstructured {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &out.Object); err != nil {
		panic(err)
	}
	return out
}

// merge applies a merge patch.
func merge(object, patch map[string]any) {
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		outer, wasObject := object[key].(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isObject && wasObject:
			merge(outer, inner)
		default:
			object[key] = value
		}
	}
}

// Put creates an object, or replaces one, as a user does. Its status is kept.
func (a *API) Put(t change.Type, object metav1.Object, status any) {
	c := change.ToCreate(t, object)
	if status != nil {
		c.Content["status"] = copyOf(map[string]any{"status": status}).Object["status"]
	}
	old := a.objects[placeOf(c)]
	created := a.Now
	if old != nil {
		created = old.GetCreationTimestamp().Time
		c.Content["status"] = cmp.Or[any](c.Content["status"], old.Object["status"])
		delete(a.objects, placeOf(c))
	}
	if err := a.Make(c); err != nil {
		panic(err)
	}
	made := a.objects[placeOf(c)]
	made.SetCreationTimestamp(metav1.NewTime(created))
	if old != nil {
		made.SetUID(old.GetUID())
	}
}

// Remove deletes an object as a user does, if it exists.
func (a *API) Remove(t change.Type, namespace, name string) {
	if p := (place{t.Resource, namespace, name}); a.objects[p] != nil {
		a.delete(p)
	}
}

// Len returns the number of objects of a kind.
func (a *API) Len(t change.Type) int {
	n := 0
	for p := range a.objects {
		if p.resource == t.Resource {
			n++
		}
	}
	return n
}

// List returns the objects of a kind in the order of Namespaces and names.
func List[T any](a *API, t change.Type) (out []*T) {
	var places []place
	for p := range a.objects {
		if p.resource == t.Resource {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(x, y place) int {
		return cmp.Or(cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.name, y.name))
	})
	for _, p := range places {
		object, err := crd.Read[T](a.objects[p].DeepCopy())
		if err != nil {
			panic(err)
		}
		out = append(out, object)
	}
	return out
}
