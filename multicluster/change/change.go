// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package change has writes to a Kubernetes API as values: the cores of the controllers decide on them without I/O, and a Writer makes them.
//
// change.go makes changes, writer.go writes them.
package change

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Type is a kind of objects.
type Type struct {
	Resource schema.GroupVersionResource
	Kind     string
	// Strict objects are refused by an API that does not know all of their fields, instead of stored without these.
	Strict bool
}

// fieldValidation is the option of writes for what Strict says; empty for what the API does by itself.
func (t Type) fieldValidation() string {
	if t.Strict {
		return metav1.FieldValidationStrict
	}
	return ""
}

// Verb says what a Change does.
type Verb string

// The verbs.
const (
	Create      Verb = "create"
	Patch       Verb = "patch"
	PatchStatus Verb = "patch the status of"
	Delete      Verb = "delete"
)

// Change is one write. All but Create apply to the version of the object on which they were decided only.
type Change struct {
	Verb            Verb
	Type            Type
	Namespace, Name string
	UID             types.UID
	Version         string
	// Content is an object to create, or a merge patch (RFC 7396).
	Content map[string]any
}

func (c Change) String() string {
	name := c.Name
	if c.Namespace != "" {
		name = c.Namespace + "/" + c.Name
	}
	return fmt.Sprintf("%s %s %s", c.Verb, c.Type.Kind, name)
}

// ToCreate returns the change that creates object, a pointer to a struct of an API. Its status is left out.
func ToCreate(t Type, object metav1.Object) Change {
	content := fields(object)
	delete(content, "status")
	metadata, _ := content["metadata"].(map[string]any)
	delete(metadata, "creationTimestamp")
	content["apiVersion"], content["kind"] = t.Resource.GroupVersion().String(), t.Kind
	return Change{Verb: Create, Type: t, Namespace: object.GetNamespace(), Name: object.GetName(), Content: content}
}

// ToDelete returns the change that deletes object.
func ToDelete(t Type, object metav1.Object) Change { return about(Delete, t, object) }

// ToUpdate returns the changes that turn an object into another one of its type, apart from the status: one, or none if they are equal. Fields
// that the type does not have stay as they are.
func ToUpdate(t Type, from, to metav1.Object) []Change {
	before, after := fields(from), fields(to)
	for _, content := range []map[string]any{before, after} {
		delete(content, "status")
		metadata, _ := content["metadata"].(map[string]any)
		kept := map[string]any{}
		for _, key := range []string{"labels", "annotations", "finalizers"} {
			if value, ok := metadata[key]; ok {
				kept[key] = value
			}
		}
		content["metadata"] = kept
	}
	return patch(Patch, t, from, difference(before, after))
}

// ToUpdateStatus returns the changes that give an object the status of another one: one, or none if they are equal.
func ToUpdateStatus(t Type, from, to metav1.Object) []Change {
	status := func(object any) map[string]any {
		if content, ok := fields(object)["status"]; ok {
			return map[string]any{"status": content}
		}
		return map[string]any{}
	}
	return patch(PatchStatus, t, from, difference(status(from), status(to)))
}

func patch(verb Verb, t Type, object metav1.Object, content map[string]any) []Change {
	if len(content) == 0 {
		return nil
	}
	c := about(verb, t, object)
	c.Content = content
	return []Change{c}
}

func about(verb Verb, t Type, object metav1.Object) Change {
	return Change{
		Verb: verb, Type: t, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Version: object.GetResourceVersion(),
	}
}

// fields returns the fields of an Unstructured, or of a pointer to a struct of an API, as JSON has them. The object keeps its own.
func fields(object any) map[string]any {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.DeepCopy().Object
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(fmt.Sprintf("%T cannot be written as JSON: %v", object, err)) // A type that no API has.
	}
	return content
}

// difference returns the merge patch that turns one object into another.
func difference(before, after map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range before {
		if _, ok := after[key]; !ok && value != nil {
			out[key] = nil
		}
	}
	for key, value := range after {
		former, ok := before[key]
		if ok && reflect.DeepEqual(former, value) {
			continue
		}
		inner, isObject := value.(map[string]any)
		outer, wasObject := former.(map[string]any)
		if isObject && wasObject {
			out[key] = difference(outer, inner)
		} else if value != nil || ok {
			out[key] = value
		}
	}
	return out
}
