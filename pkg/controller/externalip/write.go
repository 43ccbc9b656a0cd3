// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// services are written with the client for statuses: the general client is slower.
var services = corev1.SchemeGroupVersion.WithResource("services")

// write makes the changes of a plan. A change of an object that has changed since is left out; the Controller hears of it.
func (c *Controller) write(ctx context.Context, plan plan) error {
	var errs []error
	var late []addressChange
	for _, change := range plan.addresses {
		if change.service != nil {
			late = append(late, change)
		}
	}
	c.services.set(late)
	for _, change := range plan.addresses {
		if change.egress != nil {
			errs = append(errs, c.writeAddress(ctx, change))
		}
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
	for _, refusal := range plan.refusals {
		c.recorder.refuse(refusal.claimant, refusal.message)
	}
	return errors.Join(errs...)
}

// writeAddress writes an address, or none, into the version of the Egress that the informer has shown.
func (c *Controller) writeAddress(ctx context.Context, change addressChange) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := c.writeEgress(ctx, change.egress, change.addr)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // The informer will show it.
	}
	if err != nil {
		return fmt.Errorf("writing the address %v of Egress %s: %w", change.addr, change.name, err)
	}
	klog.InfoS("Changed the address of an Egress", "egress", change.name, "address", change.addr, "former", change.shows, "pool", change.pool)
	return nil
}

// writeService writes an address, or none, into the version of the Service that the informer has shown.
func (c *Controller) writeService(ctx context.Context, change addressChange) error {
	if err := c.Serving(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s := change.service.DeepCopy()
	s.Status.LoadBalancer = loadBalancer(change.addr)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return fmt.Errorf("encoding Service %s: %w", change.name, err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	_, err = c.Client.Resource(services).Namespace(s.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return err
}

// loadBalancer is the status of a Service with an address; an invalid address is none.
func loadBalancer(addr netip.Addr) (status corev1.LoadBalancerStatus) {
	if addr.IsValid() {
		status.Ingress = []corev1.LoadBalancerIngress{{IP: addr.String()}}
	}
	return status
}

// writeStatus writes the status in content, as the status of the version that the informer has shown.
func (c *Controller) writeStatus(ctx context.Context, resource schema.GroupVersionResource, kind string, meta metav1.Object, content any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object := crd.New(kind, meta.GetName())
	object.SetUID(meta.GetUID())
	object.SetResourceVersion(meta.GetResourceVersion())
	if err := crd.Fill(object, content); err != nil {
		return err
	}
	_, err := c.Client.Resource(resource).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status of %s %s: %w", kind, meta.GetName(), err)
	}
	return nil
}
