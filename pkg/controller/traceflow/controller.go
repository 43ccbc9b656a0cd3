// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// interval is the time between two checks for expired traces.
	interval       = time.Second
	requestTimeout = 10 * time.Second
)

// Controller begins and ends traces.
type Controller struct {
	client  dynamic.Interface
	pods    Pods
	serving func() error

	core     core
	informer cache.SharedIndexInformer
	wake     chan struct{}
}

// New returns a Controller that does nothing before Run, and nothing while serving returns an error.
func New(client dynamic.Interface, pods Pods, serving func() error) (*Controller, error) {
	informer, err := crd.Informer(client, crd.Traceflows)
	if err != nil {
		return nil, err
	}
	c := &Controller{client: client, pods: pods, serving: serving, wake: make(chan struct{}, 1), informer: informer}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.poke() }, UpdateFunc: func(any, any) { c.poke() }, DeleteFunc: func(any) { c.poke() },
	}
	if _, err := c.informer.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watch Traceflows: %w", err)
	}
	return c, nil
}

func (c *Controller) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	go c.informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return
	}
	task := retry.NewTask("The update of Traceflows", interval, retry.Backoff{Min: interval, Max: time.Minute})
	for ctx.Err() == nil {
		var err error
		if c.serving() == nil {
			err = c.sync(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		timer := time.NewTimer(task.Done(err))
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// sync makes the changes that are due. Changes fail if an informer is behind; they are repeated.
func (c *Controller) sync(ctx context.Context) error {
	objects := map[string]*unstructured.Unstructured{}
	var traces []*v1beta1.Traceflow
	for _, object := range c.informer.GetStore().List() {
		u := object.(*unstructured.Unstructured)
		t, err := crd.Read[v1beta1.Traceflow](u)
		if err != nil {
			klog.V(2).ErrorS(err, "Ignoring a Traceflow")
			continue
		}
		objects[t.Name] = u
		traces = append(traces, t)
	}
	var errs []error
	for _, change := range c.core.plan(traces, c.pods, time.Now()) {
		errs = append(errs, c.write(ctx, objects[change.name], change))
	}
	return errors.Join(errs...)
}

func (c *Controller) write(ctx context.Context, object *unstructured.Unstructured, change change) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	t, err := crd.Read[v1beta1.Traceflow](object)
	if err != nil {
		return err
	}
	t.Status = change.status
	object = object.DeepCopy()
	if err := crd.Fill(object, t); err != nil {
		return err
	}
	_, err = c.client.Resource(crd.Traceflows).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // An agent was faster, or the user: the informer will show it.
	}
	if err != nil {
		return fmt.Errorf("writing the status of Traceflow %s: %w", change.name, err)
	}
	klog.V(2).InfoS("Changed a trace", "traceflow", change.name, "phase", change.status.Phase, "tag", change.status.DataplaneTag, "reason", change.status.Reason)
	return nil
}
