// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/servicehealth"
)

// healthOf returns the facts about the Node that health checks report, and the functions that they need.
func healthOf(n *node) servicehealth.Node {
	return servicehealth.Node{Forwards: n.flows.ConnectionError, OpenPort: n.host.OpenHealthCheckPort, ClosePort: n.host.CloseHealthCheckPort}
}

// healthHandler passes this Node's object to the health checks.
func healthHandler(health *servicehealth.Server, nodeName string) cache.ResourceEventHandler {
	own := func(object any) (*corev1.Node, bool) {
		node, ok := object.(*corev1.Node)
		return node, ok && node.Name == nodeName
	}
	set := func(object any) {
		if node, ok := own(object); ok {
			health.SetNode(node)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, object any) { set(object) },
		DeleteFunc: func(object any) {
			if gone, unknown := object.(cache.DeletedFinalStateUnknown); unknown {
				object = gone.Obj
			}
			if _, ok := own(object); ok {
				health.SetNode(nil)
			}
		},
	}
}
