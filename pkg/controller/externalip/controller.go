// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
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

// Config contains what a Controller needs. The informers run elsewhere.
type Config struct {
	Client dynamic.Interface
	Kube   kubernetes.Interface
	// Objects are the informers of Egresses and pools, Services is the one of Services.
	Objects  *crd.EgressObjects
	Services cache.SharedIndexInformer
	// Egress and ServiceExternalIP are the feature gates. Without its gate, an object keeps the address that it has, and gets none.
	Egress, ServiceExternalIP bool
	// Serving returns an error while this controller must not write.
	Serving func() error
}

// Controller allocates addresses.
type Controller struct {
	Config
	now      func() metav1.Time
	wake     chan struct{}
	recorder *recorder
	services *serviceWrites

	core core
	// restored is set when the informers show what any former controller has written.
	restored bool
}

// New returns a Controller that does nothing before Run, and nothing while Serving returns an error.
func New(config Config) (*Controller, error) {
	c := &Controller{Config: config, now: metav1.Now, wake: make(chan struct{}, 1), core: newCore(), recorder: newRecorder(config.Kube)}
	c.services = newServiceWrites(c.writeService, time.Now)
	poke := func() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke() }, UpdateFunc: func(any, any) { poke() }, DeleteFunc: func(any) { poke() },
	}
	for _, informer := range []cache.SharedIndexInformer{c.Objects.Egresses, c.Objects.ExternalIPPools} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watch ExternalIPPools and Egresses: %w", err)
		}
	}
	if _, err := c.Services.AddEventHandler(cache.FilteringResourceEventHandler{FilterFunc: concerns, Handler: handler}); err != nil {
		return nil, fmt.Errorf("watch Services: %w", err)
	}
	return c, nil
}

// concerns reports whether an object is a Service that has an address or wants one: most Services of a cluster do not, and change all the time.
func concerns(object any) bool {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	s, ok := object.(*corev1.Service)
	return ok && (externalip.Pool(s) != "" || len(s.Status.LoadBalancer.Ingress) > 0)
}

func (c *Controller) informers() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{c.Objects.Egresses, c.Objects.ExternalIPPools, c.Services}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	for _, informer := range c.informers() {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return
		}
	}
	var running sync.WaitGroup
	running.Go(func() { c.recorder.run(ctx) })
	running.Go(func() { c.services.run(ctx) })
	defer running.Wait()
	task := retry.NewTask("The allocation of addresses of ExternalIPPools", checkInterval, backoff)
	for {
		delay := backoff.Min
		if c.Serving() == nil {
			delay = task.Done(c.sync(ctx))
		} else {
			c.core, c.restored = newCore(), false
			c.services.set(nil)
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
	return c.write(ctx, c.core.plan(c.claimants(), crd.Stored[v1beta1.ExternalIPPool](c.Objects.ExternalIPPools)))
}

func (c *Controller) claimants() (all []*claimant) {
	for _, e := range crd.Stored[v1beta1.Egress](c.Objects.Egresses) {
		all = append(all, egressClaimant(e, c.Egress))
	}
	for _, stored := range c.Services.GetStore().List() {
		if s, ok := stored.(*corev1.Service); ok {
			all = append(all, serviceClaimant(s, c.ServiceExternalIP))
		}
	}
	return all
}

// restore returns an error while an informer does not show the addresses that the Kubernetes API has.
func (c *Controller) restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := c.Client.Resource(crd.Egresses).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the addresses that Egresses have: %w", crd.Missing(err, crd.Egresses))
	}
	for i := range list.Items {
		written, err := crd.Read[v1beta1.Egress](&list.Items[i])
		if err != nil {
			continue // no informer shows more of it
		}
		stored, _, _ := c.Objects.Egresses.GetStore().GetByKey(written.Name)
		shown, ok := stored.(*v1beta1.Egress)
		if !ok || shown.UID != written.UID || shown.Spec.EgressIP != written.Spec.EgressIP || shown.Spec.ExternalIPPool != written.Spec.ExternalIPPool {
			return fmt.Errorf("the watch of Egresses does not show the present Egress %s yet", written.Name)
		}
	}
	return c.restoreServices(ctx)
}

func (c *Controller) restoreServices(ctx context.Context) error {
	services, err := c.Kube.CoreV1().Services(corev1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the addresses that Services have: %w", err)
	}
	for i := range services.Items {
		written := serviceClaimant(&services.Items[i], c.ServiceExternalIP)
		if written.pool == "" && !written.shows.IsValid() {
			continue // It has no address. Other Services come and go all the time.
		}
		stored, _, _ := c.Services.GetStore().GetByKey(written.name)
		service, ok := stored.(*corev1.Service)
		if !ok {
			return fmt.Errorf("the watch of Services does not show Service %s yet", written.name)
		}
		if shown := serviceClaimant(service, c.ServiceExternalIP); shown.GetUID() != written.GetUID() || shown.shows != written.shows || shown.pool != written.pool {
			return fmt.Errorf("the watch of Services does not show the present Service %s yet", written.name)
		}
	}
	return nil
}
