// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// hearsay is how long other Nodes may take to learn that the annotation of this one has changed.
const hearsay = 10 * time.Second

// rewritePort is the port of packets that are rewritten instead of encapsulated, 0 without the gate. The rules that keep Pods out of it are
// there on Nodes that encapsulate, too: their Pods could send to Nodes that restore.
func (o *options) rewritePort() uint16 {
	if !o.gates.Enabled(features.ONCache) {
		return 0
	}
	return uint16(o.config.ONCache.RewritePort)
}

// forgetFormerPorts lets Pods use the former ports for rewritten packets again when no other Node can know a key for one of them that it
// has told this Node. Others tell keys as long as they see the former annotation.
func forgetFormerPorts(ctx context.Context, a *announcer, forget func(context.Context) error) {
	if !waitFor(ctx, a.settled) || retry.Sleep(ctx, hearsay+datapath.KeyRest) != nil {
		return
	}
	if err := forget(ctx); err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Could not remove the rules for former ports for rewritten packets yet")
	}
}

// rewriterHandler tells the cache what Nodes say about rewritten packets.
func rewriterHandler(manager *oncache.Manager) cache.ResourceEventHandler {
	tell := func(object any) {
		if node, ok := object.(metav1.Object); ok {
			manager.SetNodeAnnotation(node.GetName(), node.GetAnnotations()[oncache.RewritePortAnnotation])
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    tell,
		UpdateFunc: func(_, object any) { tell(object) },
		DeleteFunc: func(object any) {
			if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
				manager.SetNodeAnnotation(name.Name, "")
			}
		},
	}
}
