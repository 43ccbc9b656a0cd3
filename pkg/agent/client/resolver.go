// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package client

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

	"github.com/antrea-oncache/antrea/pkg/apis"
)

// resolver tracks the address of antrea-controller and the CA of its certificate. It watches and never polls: an agent
// without antrea-controller costs the Kubernetes API three watches and nothing else, however often it looks.
type resolver struct {
	services, endpoints, authorities cache.SharedIndexInformer

	mu sync.Mutex
	// seen is the result of known at the last event.
	seen string
	// changed is closed and replaced when antrea-controller is found elsewhere.
	changed chan struct{}
}

func newResolver(kube kubernetes.Interface) (*resolver, error) {
	named := func(name string) func(*metav1.ListOptions) {
		return func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
	ofService := func(o *metav1.ListOptions) {
		o.LabelSelector = discoveryv1.LabelServiceName + "=" + apis.ControllerService
	}
	r := &resolver{
		services:    coreinformers.NewFilteredServiceInformer(kube, controllerNamespace, 0, nil, named(apis.ControllerService)),
		endpoints:   discoveryinformers.NewFilteredEndpointSliceInformer(kube, controllerNamespace, 0, nil, ofService),
		authorities: coreinformers.NewFilteredConfigMapInformer(kube, controllerNamespace, 0, nil, named(apis.ControllerCA)),
		changed:     make(chan struct{}),
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { r.recheck() }, UpdateFunc: func(any, any) { r.recheck() }, DeleteFunc: func(any) { r.recheck() },
	}
	for _, informer := range r.informers() {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watch the address of antrea-controller: %w", err)
		}
	}
	return r, nil
}

func (r *resolver) informers() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{r.services, r.endpoints, r.authorities}
}

func (r *resolver) run(ctx context.Context) {
	var running sync.WaitGroup
	for _, informer := range r.informers() {
		running.Go(func() { informer.Run(ctx.Done()) })
	}
	running.Wait()
}

func (r *resolver) moved() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// recheck tells waiting callers that antrea-controller is found elsewhere. If it is not found any more, they have nothing to try.
func (r *resolver) recheck() {
	address, ca, err := r.known()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := address + ca; err == nil && now != r.seen {
		r.seen = now
		close(r.changed)
		r.changed = make(chan struct{})
	} else if err != nil {
		r.seen = ""
	}
}

// find returns the address (host and port) of antrea-controller and the CA of its certificate. It waits for the first answers of
// the Kubernetes API, or until ctx ends.
func (r *resolver) find(ctx context.Context) (address, ca string, err error) {
	if !cache.WaitForCacheSync(ctx.Done(), r.services.HasSynced, r.endpoints.HasSynced, r.authorities.HasSynced) {
		return "", "", fmt.Errorf("find antrea-controller: wait for the Kubernetes API: %w", ctx.Err())
	}
	return r.known()
}

// known is find without the wait.
func (r *resolver) known() (address, ca string, err error) {
	if len(r.services.GetStore().ListKeys()) == 0 {
		return "", "", ErrNoController
	}
	if address, err = readyEndpoint(r.endpoints.GetStore().List()); err != nil {
		return "", "", err
	}
	for _, object := range r.authorities.GetStore().List() {
		ca = object.(*corev1.ConfigMap).Data[apis.ControllerCAKey]
	}
	if ca == "" {
		return "", "", fmt.Errorf("there is no ConfigMap %s/%s with %s, want the authority of antrea-controller's certificate there",
			controllerNamespace, apis.ControllerCA, apis.ControllerCAKey)
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
