// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rewriteport

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// peerDelay is the time that other Nodes may take to learn that the annotation of this one has changed.
const peerDelay = 10 * time.Second

// ForgetFormerPorts lets Pods use the former ports for rewritten packets again when no other Node can know a key for one of them that it
// has told this Node. Others tell keys as long as they see the former annotation, which has just changed.
func ForgetFormerPorts(ctx context.Context, forget func(context.Context) error) {
	if retry.Sleep(ctx, peerDelay+datapath.KeyRest) != nil {
		return
	}
	if err := forget(ctx); err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Could not remove the rules for former ports for rewritten packets yet")
	}
}

// PeerHandler tells the cache what Nodes say about rewritten packets.
func PeerHandler(manager *oncache.Manager) cache.ResourceEventHandler {
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
