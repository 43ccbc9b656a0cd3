// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// annotateInterval is how long the agent waits after the Kubernetes API has refused the annotation.
const annotateInterval = 5 * time.Second

// rewritePort is the port of packets that are rewritten instead of encapsulated, 0 without the gate. The rules that keep Pods out of it are
// there on Nodes that encapsulate, too: their Pods could send to Nodes that restore.
func (o *options) rewritePort() uint16 {
	if !o.gates.Enabled(features.ONCache) {
		return 0
	}
	return uint16(o.config.ONCache.RewritePort)
}

// announceRewriting keeps trying to give this Node the annotation by which others know that they may tell it keys, or to remove it for "".
// Nobody is told keys before: programs that do not understand them leave such packets to Open vSwitch.
func announceRewriting(ctx context.Context, n *node, value string) {
	for {
		object, err := n.clients.Kube.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err == nil && object.Annotations[oncache.RewritePortAnnotation] == value {
			return
		}
		if err == nil {
			err = agent.AnnotateNode(ctx, n.clients.Kube, n.name, oncache.RewritePortAnnotation, value)
		}
		if err == nil {
			return
		}
		klog.ErrorS(err, "Could not tell the other Nodes whether this one understands rewritten packets, trying again")
		select {
		case <-ctx.Done():
			return
		case <-time.After(annotateInterval):
		}
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
