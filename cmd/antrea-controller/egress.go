// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"

	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/controller/externalip"
	"github.com/antrea-oncache/antrea/pkg/controller/gossipkey"
	"github.com/antrea-oncache/antrea/pkg/controller/leadership"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// egresses has the informers of Egresses and their pools. read is closed once agents may be told of their Pods; nil without the feature gate.
type egresses struct {
	objects *crd.EgressObjects
	read    <-chan struct{}
}

// newEgress returns the informers of Egresses and their pools, which policies follows, and the functions that have to run for them and for
// Services with addresses of pools: none without the feature gates.
func newEgress(
	o *options, clients *kubernetes.Clients, leader *leadership.Leadership, policies *networkpolicy.Controller,
) (*egresses, []func(context.Context), error) {
	objects, err := crd.NewEgressObjects(clients.Dynamic)
	all := &egresses{objects: objects}
	egress, services := o.gates.Enabled(features.Egress), o.gates.Enabled(features.ServiceExternalIP)
	if err != nil || !egress && !services {
		return all, nil, err
	}
	if egress {
		if all.read, err = policies.FollowEgresses(objects); err != nil {
			return nil, nil, err
		}
	}
	addresses := coreinformers.NewServiceInformer(clients.Kube, corev1.NamespaceAll, 0, nil)
	allocator, err := externalip.New(externalip.Config{
		Client: clients.Statuses, Kube: clients.Kube, Objects: objects, Services: addresses, Egress: egress, ServiceExternalIP: services, Serving: leader.Serving,
	})
	if err != nil {
		return nil, nil, err
	}
	watch := func(ctx context.Context) { addresses.Run(ctx.Done()) }
	key := func(ctx context.Context) { gossipkey.Run(ctx, clients.Kube, o.namespace, leader.Serving) }
	return all, []func(context.Context){objects.Run, watch, key, allocator.Run}, nil
}

// egressWebhooks returns the webhooks of Egresses and pools.
func egressWebhooks(o *options, objects *crd.EgressObjects) webhook.Webhooks {
	all := webhook.Webhooks{}
	for path, validate := range externalip.Validators(objects, o.gates.Enabled(features.Egress), o.gates.Enabled(features.ServiceExternalIP)) {
		all[path] = webhook.Refusing(validate)
	}
	return all
}
