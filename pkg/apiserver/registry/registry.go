// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry has the REST resources. registry.go serves the results of the NetworkPolicy controller: get, list and watch.
// policystatus.go and reports.go take the agents' reports, stats.go serves their sums. groups.go and evaluation.go answer questions of users about
// groups and policies. agents.go knows on which Node an agent runs, readiness.go whether this controller may answer.
package registry

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
)

// Resources returns the storage of what agents watch for policies, by name. It serves nothing before readiness allows it, and it serves agents
// only the objects of their Nodes.
func Resources(store *networkpolicy.Store, readiness Readiness, agents Agents) map[string]rest.Storage {
	storage := map[string]rest.Storage{}
	for _, r := range []*resource{
		{
			kind: networkpolicy.NetworkPolicies, singular: "networkpolicy", shortNames: []string{"netpol"},
			newObject: func() runtime.Object { return &controlplane.NetworkPolicy{} },
			newList:   func() runtime.Object { return &controlplane.NetworkPolicyList{} },
		},
		{
			kind: networkpolicy.AddressGroups, singular: "addressgroup", shortNames: []string{"ag"},
			newObject: func() runtime.Object { return &controlplane.AddressGroup{} },
			newList:   func() runtime.Object { return &controlplane.AddressGroupList{} },
		},
		{
			kind: networkpolicy.AppliedToGroups, singular: "appliedtogroup", shortNames: []string{"atg"},
			newObject: func() runtime.Object { return &controlplane.AppliedToGroup{} },
			newList:   func() runtime.Object { return &controlplane.AppliedToGroupList{} },
		},
	} {
		storage[r.kind.String()] = r.with(store, readiness, agents)
	}
	return storage
}

// EgressGroups returns the storage of egressgroups, and its name.
func EgressGroups(store *networkpolicy.Store, readiness Readiness, agents Agents) (string, rest.Storage) {
	r := &resource{
		kind: networkpolicy.EgressGroups, singular: "egressgroup",
		newObject: func() runtime.Object { return &controlplane.EgressGroup{} },
		newList:   func() runtime.Object { return &controlplane.EgressGroupList{} },
	}
	return r.kind.String(), r.with(store, readiness, agents)
}

func (r *resource) with(store *networkpolicy.Store, readiness Readiness, agents Agents) *resource {
	r.store, r.Readiness, r.agents = store, readiness, agents
	r.TableConvertor = rest.NewDefaultTableConvertor(controlplane.Resource(r.kind.String()))
	return r
}

// resource is the storage of one resource.
type resource struct {
	rest.TableConvertor
	Readiness
	kind       networkpolicy.Resource
	singular   string
	shortNames []string
	newObject  func() runtime.Object
	newList    func() runtime.Object
	store      *networkpolicy.Store
	agents     Agents
}

var (
	_ rest.Getter               = (*resource)(nil)
	_ rest.Lister               = (*resource)(nil)
	_ rest.Watcher              = (*resource)(nil)
	_ rest.Scoper               = (*resource)(nil)
	_ rest.SingularNameProvider = (*resource)(nil)
	_ rest.ShortNamesProvider   = (*resource)(nil)
)

func (r *resource) New() runtime.Object     { return r.newObject() }
func (r *resource) NewList() runtime.Object { return r.newList() }
func (r *resource) Destroy()                {}
func (r *resource) NamespaceScoped() bool   { return false }
func (r *resource) GetSingularName() string { return r.singular }
func (r *resource) ShortNames() []string    { return r.shortNames }

// Get returns one object; an agent gets the part that concerns its Node.
func (r *resource) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if err := r.wait(ctx); err != nil {
		return nil, err
	}
	node, err := r.agents.nodeOf(ctx)
	if err != nil {
		return nil, r.forbidden(name, err)
	}
	var object runtime.Object
	if node == "" {
		object = r.store.Get(r.kind, name)
	} else if objects, _ := r.store.List(r.kind, networkpolicy.Selection{Node: node, Name: name}); len(objects) == 1 {
		object = objects[0]
	}
	if object == nil {
		return nil, apierrors.NewNotFound(controlplane.Resource(r.kind.String()), name)
	}
	return object, nil
}

// List returns the selected objects.
func (r *resource) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	selected, err := r.selection(ctx, options)
	if err != nil {
		return nil, err
	}
	objects, version := r.store.List(r.kind, selected)
	list := r.newList()
	if err := meta.SetList(list, objects); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	accessor.SetResourceVersion(version)
	return list, nil
}

// Watch begins with all selected objects, regardless of the resource version that the client names.
func (r *resource) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	selected, err := r.selection(ctx, options)
	if err != nil {
		return nil, err
	}
	// This is the API machinery's condition for a watch list; otherwise it does not expect the annotation. It sets
	// SendInitialEvents by itself for clients that do not know it.
	asked := options != nil && options.SendInitialEvents != nil && *options.SendInitialEvents && options.AllowWatchBookmarks
	selected.Marked = options != nil && options.AllowWatchBookmarks
	w := r.store.Watch(r.kind, selected, func(version string) runtime.Object {
		bookmark := r.newObject()
		object := bookmark.(metav1.Object)
		object.SetResourceVersion(version)
		if asked {
			object.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
			asked = false // of the first one
		}
		return bookmark
	})
	// Serving may have ended after the last check, and all watches before this one existed.
	if err := r.refuseOnStandby(); err != nil {
		w.Stop()
		return nil, err
	}
	return w, nil
}

// selection waits until there are objects to select from, and returns what this request's client selects and may see.
func (r *resource) selection(ctx context.Context, options *internalversion.ListOptions) (networkpolicy.Selection, error) {
	selected, err := selectionOf(options)
	if err != nil {
		return selected, err
	}
	if err := r.wait(ctx); err != nil {
		return selected, err
	}
	node, err := r.agents.nodeOf(ctx)
	if err != nil {
		return selected, r.forbidden("", err)
	}
	if node != "" && selected.Node != node {
		return selected, r.forbidden("", fmt.Errorf("the agent of Node %q asks for %s=%q; allowed: %s=%s",
			node, v1beta2.NodeNameField, selected.Node, v1beta2.NodeNameField, node))
	}
	return selected, nil
}

func (r *resource) forbidden(name string, reason error) error {
	return apierrors.NewForbidden(controlplane.Resource(r.kind.String()), name, reason)
}

// selectionOf parses the field selector.
func selectionOf(options *internalversion.ListOptions) (networkpolicy.Selection, error) {
	var selected networkpolicy.Selection
	if options == nil {
		return selected, nil
	}
	if options.LabelSelector != nil && !options.LabelSelector.Empty() {
		return selected, apierrors.NewBadRequest(fmt.Sprintf("label selector %q: objects of %s have no labels", options.LabelSelector, controlplane.GroupName))
	}
	if options.FieldSelector == nil {
		return selected, nil
	}
	for _, requirement := range options.FieldSelector.Requirements() {
		target := map[string]*string{v1beta2.NodeNameField: &selected.Node, metav1.ObjectNameField: &selected.Name}[requirement.Field]
		if target == nil || (requirement.Operator != selection.Equals && requirement.Operator != selection.DoubleEquals) || requirement.Value == "" {
			return selected, apierrors.NewBadRequest(fmt.Sprintf("field selector %q: allowed: %s=<name>, %s=<name>",
				fields.Selector(options.FieldSelector), v1beta2.NodeNameField, metav1.ObjectNameField))
		}
		*target = requirement.Value
	}
	return selected, nil
}
