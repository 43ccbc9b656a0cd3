// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// The resources of Egress.
var (
	Egresses        = v1beta1.SchemeGroupVersion.WithResource("egresses")
	ExternalIPPools = v1beta1.SchemeGroupVersion.WithResource("externalippools")
)

// EgressObjects are the informers of Egress. Their stores have typed objects; the API server leaves out unknown fields.
type EgressObjects struct {
	Egresses        cache.SharedIndexInformer // of v1beta1.Egress
	ExternalIPPools cache.SharedIndexInformer // of v1beta1.ExternalIPPool
}

// NewEgressObjects returns informers that do nothing before Run.
func NewEgressObjects(client dynamic.Interface) (*EgressObjects, error) {
	const consequence = "No Egress has an effect until this CRD is installed"
	egresses, err := TypedInformer[v1beta1.Egress](client, Egresses, metav1.NamespaceAll, consequence, nil)
	if err != nil {
		return nil, err
	}
	pools, err := TypedInformer[v1beta1.ExternalIPPool](client, ExternalIPPools, metav1.NamespaceAll, consequence, nil)
	if err != nil {
		return nil, err
	}
	return &EgressObjects{Egresses: egresses, ExternalIPPools: pools}, nil
}

// Run watches until ctx ends. While a CRD is missing, its informer has not synced.
func (o *EgressObjects) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, informer := range []cache.SharedIndexInformer{o.Egresses, o.ExternalIPPools} {
		running.Go(func() { informer.Run(ctx.Done()) })
	}
	running.Wait()
}

// Synced returns an error that names what is not read yet.
func (o *EgressObjects) Synced() error {
	for _, i := range []struct {
		informer cache.SharedIndexInformer
		resource schema.GroupVersionResource
	}{{o.Egresses, Egresses}, {o.ExternalIPPools, ExternalIPPools}} {
		if !i.informer.HasSynced() {
			return fmt.Errorf("%s are not read yet; is their CRD installed?", i.resource.GroupResource())
		}
	}
	return nil
}
