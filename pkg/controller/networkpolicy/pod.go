// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"maps"
	"net/netip"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// pod has the relevant parts of a Pod.
type pod struct {
	key   types.NamespacedName
	class *class
	// node is empty until the Pod is scheduled.
	node string
	// address is the Pod as a member of AddressGroups. It is nil while the Pod cannot be one: without addresses, in the
	// network of its Node, or ended.
	address *controlplane.GroupMember
	// applied is the Pod as a member of AppliedToGroups. It is nil while the Pod cannot be one: before it is scheduled, in
	// its Node's network, or when it has ended.
	applied *controlplane.GroupMember
}

// newPod makes a pod without its class.
func newPod(source *corev1.Pod) *pod {
	p := &pod{key: types.NamespacedName{Namespace: source.Namespace, Name: source.Name}, node: source.Spec.NodeName}
	if source.Spec.HostNetwork || source.Status.Phase == corev1.PodSucceeded || source.Status.Phase == corev1.PodFailed {
		return p
	}
	reference := &controlplane.PodReference{Name: source.Name, Namespace: source.Namespace}
	ports := namedPorts(source)
	if p.node != "" {
		p.applied = &controlplane.GroupMember{Pod: reference, Ports: ports}
	}
	if ips := podIPs(source); len(ips) > 0 {
		p.address = &controlplane.GroupMember{Pod: reference, IPs: ips, Ports: ports}
	}
	return p
}

// serviceAccountLabel is a label that every Pod with a service account has here.
const serviceAccountLabel = "internal.antrea.io/service-account"

// podLabels returns the labels by which a Pod is selected.
func podLabels(source *corev1.Pod) labels.Set {
	account := source.Spec.ServiceAccountName
	if _, spoofed := source.Labels[serviceAccountLabel]; account == "" && !spoofed {
		return source.Labels
	}
	set := make(labels.Set, len(source.Labels)+1)
	maps.Copy(set, source.Labels)
	if set[serviceAccountLabel] = account; account == "" {
		delete(set, serviceAccountLabel)
	}
	return set
}

// podIPs returns the Pod's addresses, of one family or both.
func podIPs(source *corev1.Pod) []controlplane.IPAddress {
	texts := source.Status.PodIPs
	if len(texts) == 0 && source.Status.PodIP != "" {
		texts = []corev1.PodIP{{IP: source.Status.PodIP}}
	}
	var ips []controlplane.IPAddress
	for _, text := range texts {
		// The Kubernetes API accepts only addresses.
		if addr, err := netip.ParseAddr(text.IP); err == nil {
			ips = append(ips, addr.Unmap().AsSlice())
		}
	}
	return ips
}

// namedPorts returns the ports with names, of the containers that live as long as the Pod.
func namedPorts(source *corev1.Pod) []controlplane.NamedPort {
	var ports []controlplane.NamedPort
	add := func(container *corev1.Container) {
		for _, port := range container.Ports {
			if port.Name == "" {
				continue
			}
			protocol := controlplane.Protocol(port.Protocol)
			if protocol == "" {
				protocol = controlplane.ProtocolTCP
			}
			ports = append(ports, controlplane.NamedPort{Port: port.ContainerPort, Name: port.Name, Protocol: protocol})
		}
	}
	for i := range source.Spec.Containers {
		add(&source.Spec.Containers[i])
	}
	for i := range source.Spec.InitContainers {
		container := &source.Spec.InitContainers[i]
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(container)
		}
	}
	return ports
}

func sameMember(a, b *controlplane.GroupMember) bool {
	return a == b || a != nil && b != nil && reflect.DeepEqual(a, b)
}

// same compares everything except the class.
func (p *pod) same(other *pod) bool {
	return p.node == other.node && sameMember(p.address, other.address) && sameMember(p.applied, other.applied)
}
