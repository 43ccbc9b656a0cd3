// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// watchNodes keeps m.nodes up to date with the cluster's Nodes until ctx ends. It returns when all are known, or with ctx.
func (m *Monitor) watchNodes(ctx context.Context) (stop func(), err error) {
	factory := informers.NewSharedInformerFactoryWithOptions(m.Kube, 0, informers.WithTransform(nameOnly))
	informer := factory.Core().V1().Nodes().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { m.nodes.nodeAdded(nameOf(object)); m.setNode(object, true) },
		DeleteFunc: func(object any) { m.nodes.nodeDeleted(nameOf(object)); m.setNode(object, false) },
	})
	if err != nil {
		return nil, fmt.Errorf("watching Nodes: %w", err)
	}
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	return factory.Shutdown, nil
}

func (m *Monitor) setNode(object any, exists bool) {
	if m.SetNode != nil {
		m.SetNode(nameOf(object), exists)
	}
	m.changed()
}

// nameOnly drops everything else, so that the informer's cache is small.
func nameOnly(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion}}, nil
	}
	return object, nil
}

// nameOf returns the name of an object, or of one whose deletion was missed.
func nameOf(object any) string {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		klog.ErrorS(err, "Unexpected object from the informer of Nodes")
	}
	return key
}

// toleratedFailures is the number of objects that the API may refuse before that counts as a fault of the API.
const toleratedFailures = 10

// syncAgents creates the missing AntreaAgentInfos and deletes those that have no Node. A name is always a Node's, so no
// other object can be meant. A refused object does not prevent the others.
func (m *Monitor) syncAgents(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			m.nodes.forget()
		}
	}()
	if !m.nodes.known() {
		names, err := m.listAgents(ctx)
		if err != nil {
			return fmt.Errorf("listing AntreaAgentInfos: %w", crd.Missing(err, crd.AgentInfos))
		}
		m.nodes.setObjects(names)
	}
	var failures []error
	each := func(names []string, change func(context.Context, string) error) {
		for _, name := range names {
			if len(failures) == toleratedFailures {
				return
			}
			if err := change(ctx, name); err != nil {
				failures = append(failures, err)
			}
		}
	}
	create, remove := m.nodes.plan()
	each(create, m.createAgent)
	each(remove, m.deleteAgent)
	return errors.Join(failures...)
}

func (m *Monitor) createAgent(ctx context.Context, name string) error {
	_, err := m.Dynamic.Resource(crd.AgentInfos).Create(ctx, crd.New(v1beta1.AntreaAgentInfoKind, name), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating AntreaAgentInfo %s: %w", name, crd.Missing(err, crd.AgentInfos))
	}
	m.nodes.created(name)
	return nil
}

func (m *Monitor) deleteAgent(ctx context.Context, name string) error {
	if err := m.Dynamic.Resource(crd.AgentInfos).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting AntreaAgentInfo %s: %w", name, err)
	}
	m.nodes.deleted(name)
	return nil
}

// listAgents returns the names of all AntreaAgentInfos.
func (m *Monitor) listAgents(ctx context.Context) (names []string, err error) {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return m.Dynamic.Resource(crd.AgentInfos).List(ctx, options)
	})
	err = pages.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		names = append(names, nameOf(object))
		return nil
	})
	return names, err
}
