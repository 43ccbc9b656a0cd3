// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy makes random worlds of Pods and NetworkPolicies, and says what the specification of NetworkPolicy
// (k8s.io/api/networking/v1) allows in them. It shares no code with what it is compared with: world.go are the objects,
// oracle.go the specification, generate.go makes worlds at random, and the program truthtable compares.
package policy

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is a Pod that is connected.
type Pod struct {
	Namespace, Name, Node string
	Labels                map[string]string
	IPv4, IPv6            netip.Addr
	// Ports are the named ports of its container.
	Ports []corev1.ContainerPort
}

// World is what decides about connections.
type World struct {
	// Namespaces are the labels of each.
	Namespaces map[string]map[string]string
	Pods       []*Pod
	Policies   []*networkingv1.NetworkPolicy
}

// Probe is a connection that may be possible.
type Probe struct {
	From, To *Pod
	IPv6     bool
	Protocol corev1.Protocol
	Port     uint16
}

// Addresses are those of both ends.
func (p *Probe) Addresses() (from, to netip.Addr) {
	if p.IPv6 {
		return p.From.IPv6, p.To.IPv6
	}
	return p.From.IPv4, p.To.IPv4
}

// Object is the Pod as the Kubernetes API has it.
func (p *Pod) Object() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.Namespace + "-" + p.Name), Labels: p.Labels},
		Spec:       corev1.PodSpec{NodeName: p.Node, Containers: []corev1.Container{{Name: "main", Ports: p.Ports}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: p.IPv4.String(), PodIPs: []corev1.PodIP{{IP: p.IPv4.String()}, {IP: p.IPv6.String()}},
		},
	}
}
