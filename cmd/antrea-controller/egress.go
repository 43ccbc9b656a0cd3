// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/controller/egress"
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

// newEgress returns the informers of Egresses and their pools, which policies follows, and the functions that have to run for them: none without the feature gate.
func newEgress(
	o *options, clients *kubernetes.Clients, leader *leadership.Leadership, policies *networkpolicy.Controller,
) (*egresses, []func(context.Context), error) {
	objects, err := crd.NewEgressObjects(clients.Dynamic)
	if err != nil || !o.gates.Enabled(features.Egress) {
		return &egresses{objects: objects}, nil, err
	}
	read, err := policies.FollowEgresses(objects)
	if err != nil {
		return nil, nil, err
	}
	allocator, err := egress.New(clients.Statuses, objects, leader.Serving)
	if err != nil {
		return nil, nil, err
	}
	key := func(ctx context.Context) { gossipkey.Run(ctx, clients.Kube, o.namespace, leader.Serving) }
	return &egresses{objects, read}, []func(context.Context){objects.Run, allocator.Run, key}, nil
}

// egressWebhooks returns the webhooks of Egress.
func egressWebhooks(o *options, objects *crd.EgressObjects) webhook.Webhooks {
	all := webhook.Webhooks{}
	for path, validate := range egress.Validators(objects, o.gates.Enabled(features.Egress)) {
		all[path] = webhook.Refusing(validate)
	}
	return all
}
