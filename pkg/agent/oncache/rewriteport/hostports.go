// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rewriteport

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// reasonHostPortReserved: a Pod has the port for rewritten packets as its hostPort. The CNI plugin portmap, or the Pod in the network of the
// host, serves hostPorts without asking the agent, so it can only say so.
const reasonHostPortReserved problem.Reason = "HostPortReserved"

// HostPortHandler reports Pods of this Node with a TCP or UDP hostPort that is the port for rewritten packets.
func HostPortHandler(to problem.Reporter, rewritePort uint16) cache.ResourceEventHandler {
	check := func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return
		}
		about := problem.Subject{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
		container := hostPortUser(pod, rewritePort)
		if container == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			to.Resolve(reasonHostPortReserved, about)
			return
		}
		to.Report(reasonHostPortReserved, about, fmt.Sprintf("%s: hostPort %d of container %s is the port of rewritten packets, so that connections to it fail: "+
			"use another one, or another oncache.rewritePort on all Nodes", about, rewritePort, container))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    check,
		UpdateFunc: func(_, object any) { check(object) },
		DeleteFunc: func(object any) {
			if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
				to.Resolve(reasonHostPortReserved, problem.Subject{Kind: "Pod", Namespace: name.Namespace, Name: name.Name})
			}
		},
	}
}

// hostPortUser is the container of a Pod that has the hostPort, empty if none has.
func hostPortUser(pod *corev1.Pod, number uint16) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
			return p.HostPort == int32(number) && p.Protocol != corev1.ProtocolSCTP
		}) {
			return c.Name
		}
	}
	return ""
}
