// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// checkInterval is the time between two plans without an event, settle the time in which events are collected for one plan.
	checkInterval  = time.Minute
	settle         = 50 * time.Millisecond
	requestTimeout = 10 * time.Second
)

var backoff = retry.Backoff{Min: time.Second, Max: time.Minute}

// Controller allocates addresses.
type Controller struct {
	client  dynamic.Interface
	objects *crd.EgressObjects
	serving func() error
	now     func() metav1.Time
	wake    chan struct{}

	core core
	// restored is set when the informer shows what any former controller has written.
	restored bool
}

// New returns a Controller that does nothing before Run, and nothing while serving returns an error. The informers run elsewhere.
func New(client dynamic.Interface, objects *crd.EgressObjects, serving func() error) (*Controller, error) {
	c := &Controller{client: client, objects: objects, serving: serving, now: metav1.Now, wake: make(chan struct{}, 1), core: newCore()}
	poke := func() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke() }, UpdateFunc: func(any, any) { poke() }, DeleteFunc: func(any) { poke() },
	}
	for _, informer := range []cache.SharedIndexInformer{objects.Egresses, objects.ExternalIPPools} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watch Egresses: %w", err)
		}
	}
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.objects.Egresses.HasSynced, c.objects.ExternalIPPools.HasSynced) {
		return
	}
	task := retry.NewTask("The allocation of addresses for Egresses", checkInterval, backoff)
	for {
		delay := backoff.Min
		if c.serving() == nil {
			delay = task.Done(c.sync(ctx))
		} else {
			c.core, c.restored = newCore(), false
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
		if retry.Sleep(ctx, settle) != nil {
			return
		}
	}
}

// sync writes what is due. Writes of what has changed since fail; the change wakes the Controller.
func (c *Controller) sync(ctx context.Context) error {
	if !c.restored {
		if err := c.restore(ctx); err != nil {
			return err
		}
		c.restored = true
	}
	plan := c.core.plan(crd.Stored[v1beta1.Egress](c.objects.Egresses), crd.Stored[v1beta1.ExternalIPPool](c.objects.ExternalIPPools))
	var errs []error
	for _, change := range plan.addresses {
		errs = append(errs, c.writeAddress(ctx, change))
	}
	for _, change := range plan.statuses {
		for i := range change.conditions {
			if change.conditions[i].LastTransitionTime.IsZero() {
				change.conditions[i].LastTransitionTime = c.now()
			}
		}
		status := v1beta1.EgressStatus{EgressNode: change.egress.Status.EgressNode, EgressIP: change.egress.Status.EgressIP, Conditions: change.conditions}
		content := &v1beta1.Egress{Spec: change.egress.Spec, Status: status}
		errs = append(errs, c.writeStatus(ctx, crd.Egresses, v1beta1.EgressKind, change.egress, content))
	}
	for _, change := range plan.usages {
		content := &v1beta1.ExternalIPPool{Spec: change.pool.Spec, Status: v1beta1.ExternalIPPoolStatus{Usage: change.usage}}
		errs = append(errs, c.writeStatus(ctx, crd.ExternalIPPools, v1beta1.ExternalIPPoolKind, change.pool, content))
	}
	return errors.Join(errs...)
}

// restore returns an error while the informer does not show the addresses that the Kubernetes API has.
func (c *Controller) restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := c.client.Resource(crd.Egresses).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the addresses that Egresses have: %w", crd.Missing(err, crd.Egresses))
	}
	for i := range list.Items {
		written, err := crd.Read[v1beta1.Egress](&list.Items[i])
		if err != nil {
			continue // no informer shows more of it
		}
		stored, _, _ := c.objects.Egresses.GetStore().GetByKey(written.Name)
		shown, ok := stored.(*v1beta1.Egress)
		if !ok || shown.UID != written.UID || shown.Spec.EgressIP != written.Spec.EgressIP || shown.Spec.ExternalIPPool != written.Spec.ExternalIPPool {
			return fmt.Errorf("the watch of Egresses does not show the present Egress %s yet", written.Name)
		}
	}
	return nil
}

func (c *Controller) writeAddress(ctx context.Context, change addressChange) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var addr any
	if change.addr.IsValid() {
		addr = change.addr.String()
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": change.egress.UID, "resourceVersion": change.egress.ResourceVersion}, "spec": map[string]any{"egressIP": addr},
	})
	if err != nil {
		return fmt.Errorf("encoding the address of Egress %s: %w", change.egress.Name, err)
	}
	_, err = c.client.Resource(crd.Egresses).Patch(ctx, change.egress.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // The informer will show it.
	}
	if err != nil {
		return fmt.Errorf("writing the address %v of Egress %s: %w", addr, change.egress.Name, err)
	}
	klog.InfoS("Changed the address of an Egress", "egress", change.egress.Name, "address", addr, "former", change.egress.Spec.EgressIP,
		"pool", change.egress.Spec.ExternalIPPool)
	return nil
}
