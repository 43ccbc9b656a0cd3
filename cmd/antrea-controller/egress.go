// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/controller/externalip"
	"github.com/antrea-oncache/antrea/pkg/controller/gossipkey"
	"github.com/antrea-oncache/antrea/pkg/controller/leadership"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// egresses has the informers of Egresses, their pools, and the Services that may have addresses of these. read is closed once agents may be told
// of the Pods of Egresses; nil without the feature gate.
type egresses struct {
	objects  *crd.EgressObjects
	services cache.SharedIndexInformer
	read     <-chan struct{}
}

// newEgress returns the informers, of which policies follows Egresses, and the functions that have to run for them and for the allocation of
// addresses: none without the feature gates.
func newEgress(
	o *options, clients *kubernetes.Clients, leader *leadership.Leadership, policies *networkpolicy.Controller,
) (*egresses, []func(context.Context), error) {
	objects, err := crd.NewEgressObjects(clients.Dynamic)
	all := &egresses{objects: objects, services: coreinformers.NewServiceInformer(clients.Kube, corev1.NamespaceAll, 0, nil)}
	egress, services := o.gates.Enabled(features.Egress), o.gates.Enabled(features.ServiceExternalIP)
	if err != nil || !egress && !services {
		return all, nil, err
	}
	if egress {
		if all.read, err = policies.FollowEgresses(objects); err != nil {
			return nil, nil, err
		}
	}
	allocator, err := externalip.New(externalip.Config{
		Client: clients.Statuses, Kube: clients.Kube, Objects: objects, Services: all.services, Egress: egress, ServiceExternalIP: services, Serving: leader.Serving,
	})
	if err != nil {
		return nil, nil, err
	}
	watch := func(ctx context.Context) { all.services.Run(ctx.Done()) }
	key := func(ctx context.Context) { gossipkey.Run(ctx, clients.Kube, o.namespace, leader.Serving) }
	return all, []func(context.Context){objects.Run, watch, key, allocator.Run}, nil
}

// egressWebhooks returns the webhooks of Egresses and pools.
func egressWebhooks(o *options, e *egresses) webhook.Webhooks {
	all := webhook.Webhooks{}
	egress, services := o.gates.Enabled(features.Egress), o.gates.Enabled(features.ServiceExternalIP)
	for path, validate := range externalip.Validators(e.objects, e.services, egress, services) {
		all[path] = webhook.Refusing(validate)
	}
	return all
}
