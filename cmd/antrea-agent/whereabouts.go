// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
)

// whereabouts follows where antrea-controller is and what its certificate is trusted by. It watches and never polls: an agent
// without antrea-controller costs the Kubernetes API three watches and nothing else, however often it looks.
type whereabouts struct {
	services, endpoints, authorities cache.SharedIndexInformer

	mu sync.Mutex
	// seen is what find has found at the last event.
	seen string
	// changed is closed and replaced when that is something else.
	changed chan struct{}
}

func newWhereabouts(kube kubernetes.Interface) (*whereabouts, error) {
	named := func(name string) func(*metav1.ListOptions) {
		return func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
	ofService := func(o *metav1.ListOptions) { o.LabelSelector = discoveryv1.LabelServiceName + "=" + controllerService }
	w := &whereabouts{
		services:    coreinformers.NewFilteredServiceInformer(kube, controllerNamespace, 0, nil, named(controllerService)),
		endpoints:   discoveryinformers.NewFilteredEndpointSliceInformer(kube, controllerNamespace, 0, nil, ofService),
		authorities: coreinformers.NewFilteredConfigMapInformer(kube, controllerNamespace, 0, nil, named(controllerCA)),
		changed:     make(chan struct{}),
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { w.look() }, UpdateFunc: func(any, any) { w.look() }, DeleteFunc: func(any) { w.look() },
	}
	for _, informer := range w.informers() {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watch where antrea-controller is: %w", err)
		}
	}
	return w, nil
}

func (w *whereabouts) informers() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{w.services, w.endpoints, w.authorities}
}

func (w *whereabouts) run(ctx context.Context) {
	var running sync.WaitGroup
	for _, informer := range w.informers() {
		running.Go(func() { informer.Run(ctx.Done()) })
	}
	running.Wait()
}

func (w *whereabouts) moved() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// look tells who waits for it that antrea-controller can be found elsewhere. When it cannot be found any more there is
// nothing to try.
func (w *whereabouts) look() {
	address, ca, err := w.known()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := address + ca; err == nil && now != w.seen {
		w.seen = now
		close(w.changed)
		w.changed = make(chan struct{})
	} else if err != nil {
		w.seen = ""
	}
}

// find returns the address (host and port) of antrea-controller and the authority of its certificate. It waits until that is
// known to the Kubernetes API's first answer, or ctx ends.
func (w *whereabouts) find(ctx context.Context) (address, ca string, err error) {
	if !cache.WaitForCacheSync(ctx.Done(), w.services.HasSynced, w.endpoints.HasSynced, w.authorities.HasSynced) {
		return "", "", fmt.Errorf("find antrea-controller: wait for the Kubernetes API: %w", ctx.Err())
	}
	return w.known()
}

// known is find from what has been received so far.
func (w *whereabouts) known() (address, ca string, err error) {
	if len(w.services.GetStore().ListKeys()) == 0 {
		return "", "", networkpolicy.ErrNoController
	}
	if address, err = readyEndpoint(w.endpoints.GetStore().List()); err != nil {
		return "", "", err
	}
	for _, object := range w.authorities.GetStore().List() {
		ca = object.(*corev1.ConfigMap).Data[controllerCAKey]
	}
	if ca == "" {
		return "", "", fmt.Errorf("there is no ConfigMap %s/%s with %s, want the authority of antrea-controller's certificate there",
			controllerNamespace, controllerCA, controllerCAKey)
	}
	return address, ca, nil
}

// readyEndpoint returns host and port of an Endpoint that is ready: the same one each time, if there are several.
func readyEndpoint(objects []any) (string, error) {
	slices.SortFunc(objects, func(a, b any) int {
		return strings.Compare(a.(*discoveryv1.EndpointSlice).Name, b.(*discoveryv1.EndpointSlice).Name)
	})
	for _, object := range objects {
		slice := object.(*discoveryv1.EndpointSlice)
		for _, endpoint := range slice.Endpoints {
			ready := endpoint.Conditions.Ready
			if (ready == nil || *ready) && len(endpoint.Addresses) > 0 && len(slice.Ports) > 0 && slice.Ports[0].Port != nil {
				return net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port))), nil
			}
		}
	}
	return "", errors.New("no antrea-controller is ready")
}
