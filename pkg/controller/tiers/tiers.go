// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tiers keeps the default tiers: policies name them, and the controller creates them. Names and
// priorities are Antrea's.
package tiers

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
	// checkInterval is the time between two checks without a change of a tier.
	checkInterval  = time.Minute
	requestTimeout = 10 * time.Second
)

// backoff is short at first: the tiers are created through the controller's own webhook, which the Kubernetes API cannot
// call before it has the controller's CA.
var backoff = retry.Backoff{Min: time.Second, Max: time.Minute}

// defaults are the tiers, the first to be evaluated first. Kubernetes' policies are between the last two.
var defaults = []struct {
	name        string
	priority    int32
	description string
}{
	{v1beta1.EmergencyTier, 50, "[READ-ONLY]: Created by Antrea; the first default tier"},
	{v1beta1.SecurityOpsTier, 100, "[READ-ONLY]: Created by Antrea; for security operations"},
	{v1beta1.NetworkOpsTier, 150, "[READ-ONLY]: Created by Antrea; for network operations"},
	{v1beta1.PlatformTier, 200, "[READ-ONLY]: Created by Antrea; for the platform"},
	{v1beta1.ApplicationTier, 250, "[READ-ONLY]: Created by Antrea; for applications, and for policies that name no tier"},
	{v1beta1.BaselineTier, 253, "[READ-ONLY]: Created by Antrea; after the NetworkPolicies of Kubernetes"},
}

// Default returns the priority of the default tier of that name; ok is false if there is none.
func Default(name string) (priority int32, ok bool) {
	for _, d := range defaults {
		if d.name == name {
			return d.priority, true
		}
	}
	return 0, false
}

// Controller creates and corrects the default tiers.
type Controller struct {
	client   dynamic.ResourceInterface
	informer cache.SharedIndexInformer
	serving  func() error
	wake     chan struct{}
}

// New returns a Controller that does nothing before Run, and nothing while serving returns an error. The informer is of tiers
// and runs elsewhere.
func New(client dynamic.Interface, informer cache.SharedIndexInformer, serving func() error) (*Controller, error) {
	c := &Controller{client: client.Resource(crd.Tiers), informer: informer, serving: serving, wake: make(chan struct{}, 1)}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.poke() }, UpdateFunc: func(any, any) { c.poke() }, DeleteFunc: func(any) { c.poke() },
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watch Tiers: %w", err)
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
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return
	}
	task := retry.NewTask("The creation of default tiers", checkInterval, backoff)
	for {
		delay := backoff.Min
		if c.serving() == nil {
			delay = task.Done(c.sync(ctx))
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// sync creates and corrects what is not as it should be.
func (c *Controller) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var errs []error
	for _, d := range defaults {
		object := crd.New(v1beta1.TierKind, d.name)
		if err := crd.Fill(object, &v1beta1.Tier{Spec: v1beta1.TierSpec{Priority: d.priority, Description: d.description}}); err != nil {
			return err
		}
		stored, found, err := c.informer.GetStore().GetByKey(d.name)
		if err != nil {
			return fmt.Errorf("finding Tier %s: %w", d.name, err)
		}
		if found {
			err = c.correct(ctx, object, stored, d.priority)
		} else {
			_, err = c.client.Create(ctx, object, metav1.CreateOptions{})
		}
		// The informer is late; its event wakes the Controller.
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("writing Tier %s: %w", d.name, crd.Missing(err, crd.Tiers)))
		}
	}
	return errors.Join(errs...)
}

// correct replaces the spec of the stored tier by the spec of object if the priority is another one.
func (c *Controller) correct(ctx context.Context, object *unstructured.Unstructured, stored any, priority int32) error {
	current, err := crd.Object[v1beta1.Tier](stored)
	if err == nil && current.Spec.Priority == priority {
		return nil
	}
	meta, ok := stored.(metav1.Object)
	if !ok {
		return fmt.Errorf("a %T is stored", stored)
	}
	object.SetResourceVersion(meta.GetResourceVersion())
	object.SetLabels(meta.GetLabels())
	object.SetAnnotations(meta.GetAnnotations())
	klog.InfoS("Correcting the priority of a default tier", "tier", object.GetName(), "priority", priority)
	_, err = c.client.Update(ctx, object, metav1.UpdateOptions{})
	return err
}
