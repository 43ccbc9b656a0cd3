// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy makes random worlds of Pods and NetworkPolicies, and says what the specification of NetworkPolicy
// (k8s.io/api/networking/v1) allows in them. It shares no code with what it is compared with: world.go are the objects,
// oracle.go the specification, and the program truthtable compares. Worlds are made at random: generate.go makes them, pods.go
// their Pods, policies.go their policies, probes.go the connections to try.
//
// Two other checks are about this package. hack/check-policy.sh shows that the random worlds find faults that are put into the
// controller and the agent. The module in the directory cyclonus compares the oracle with the matcher of another project.
package policy

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Pod is a Pod of a World.
type Pod struct {
	Namespace, Name, Node string
	// Life tells Pods apart that have the same name one after the other.
	Life       int
	Labels     map[string]string
	IPv4, IPv6 netip.Addr
	// HostNetwork tells that the Pod has the network and the addresses of its Node.
	HostNetwork bool
	// Phase is empty for a Pod that runs.
	Phase corev1.PodPhase
	// Ports are the named ports of its container, SidecarPorts those of an init container that runs as long as the Pod does, and
	// InitPorts those of an init container that has ended.
	Ports, SidecarPorts, InitPorts []corev1.ContainerPort
}

// World is what decides about connections.
type World struct {
	// Namespaces are the labels of each.
	Namespaces map[string]map[string]string
	// Pods are connected to the network.
	Pods []*Pod
	// Hosts are in the network of their Node.
	Hosts []*Pod
	// Ended have ended, but their objects remain, with addresses that Pods have now.
	Ended    []*Pod
	Policies []*networkingv1.NetworkPolicy
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

// UID is the Pod's.
func (p *Pod) UID() types.UID {
	uid := p.Namespace + "-" + p.Name
	if p.Life > 0 {
		uid += fmt.Sprint("-", p.Life)
	}
	return types.UID(uid)
}

// Object is the Pod as the Kubernetes API has it.
func (p *Pod) Object() *corev1.Pod {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID(), Labels: p.Labels},
		Spec:       corev1.PodSpec{NodeName: p.Node, HostNetwork: p.HostNetwork, Containers: []corev1.Container{{Name: "main", Ports: p.Ports}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: p.IPv4.String(), PodIPs: []corev1.PodIP{{IP: p.IPv4.String()}, {IP: p.IPv6.String()}},
		},
	}
	if p.Phase != "" {
		object.Status.Phase = p.Phase
	}
	if p.InitPorts != nil {
		object.Spec.InitContainers = append(object.Spec.InitContainers, corev1.Container{Name: "init", Ports: p.InitPorts})
	}
	if p.SidecarPorts != nil {
		object.Spec.InitContainers = append(object.Spec.InitContainers, corev1.Container{
			Name: "sidecar", Ports: p.SidecarPorts, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		})
	}
	return object
}
