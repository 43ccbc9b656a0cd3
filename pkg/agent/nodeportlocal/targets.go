// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podPort is a port of a Pod that Services ask for.
type podPort struct {
	// protocol is tcp or udp.
	protocol string
	number   uint16
}

func (p podPort) compare(o podPort) int {
	return cmp.Or(cmp.Compare(p.number, o.number), cmp.Compare(p.protocol, o.protocol))
}

// unusable returns why a Service that asks for ports of Nodes gets none, or not all; empty if it does not ask or gets them.
func unusable(s *corev1.Service) string {
	value, annotated := s.Annotations[ServiceAnnotation]
	switch {
	case !annotated || value == "false":
		return ""
	case value != "true":
		return fmt.Sprintf("the annotation %s is %q, which asks for nothing; want \"true\"", ServiceAnnotation, value)
	case !servesType(s):
		return fmt.Sprintf("Services of type %s get no ports of Nodes for their Pods; want ClusterIP or LoadBalancer", s.Spec.Type)
	case len(s.Spec.Selector) == 0:
		return "the Service has no selector, so that no Pods get ports of their Nodes; want a selector"
	}
	for _, port := range s.Spec.Ports {
		if protocolOf(port.Protocol) == "" {
			return fmt.Sprintf("port %d has the protocol %s, for which Pods get no ports of their Nodes; want TCP or UDP", port.Port, port.Protocol)
		}
	}
	return ""
}

// asks reports whether the Pods of a Service get ports of their Nodes.
func asks(s *corev1.Service) bool {
	return s.Annotations[ServiceAnnotation] == "true" && servesType(s) && len(s.Spec.Selector) > 0
}

func servesType(s *corev1.Service) bool {
	return s.Spec.Type == "" || s.Spec.Type == corev1.ServiceTypeClusterIP || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// protocolOf returns tcp or udp, empty for other protocols.
func protocolOf(p corev1.Protocol) string {
	switch cmp.Or(p, corev1.ProtocolTCP) {
	case corev1.ProtocolTCP, corev1.ProtocolUDP:
		return strings.ToLower(string(cmp.Or(p, corev1.ProtocolTCP)))
	}
	return ""
}

// hasEnded reports whether the Pod runs no container any more: its addresses may be another Pod's.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// request is a Service that asks for ports of Nodes.
type request struct {
	selector labels.Selector
	ports    []corev1.ServicePort
}

// requests returns what the Services of each Namespace ask for.
func requests(services []*corev1.Service) map[string][]request {
	all := map[string][]request{}
	for _, s := range services {
		if asks(s) {
			all[s.Namespace] = append(all[s.Namespace], request{labels.SelectorFromSet(s.Spec.Selector), s.Spec.Ports})
		}
	}
	return all
}

// wanted returns the ports of a Pod that Services of its Namespace ask for, in order.
func wanted(pod *corev1.Pod, of []request) (ports []podPort) {
	if hasEnded(pod) {
		return nil
	}
	for _, r := range of {
		if !r.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		for _, port := range r.ports {
			protocol := protocolOf(port.Protocol)
			if number := targetOf(pod, port); protocol != "" && number != 0 {
				ports = append(ports, podPort{protocol, number})
			}
		}
	}
	slices.SortFunc(ports, podPort.compare)
	return slices.Compact(ports)
}

// targetOf returns the port of a Pod to which a port of a Service leads; 0 if the Pod has none of that name.
func targetOf(pod *corev1.Pod, port corev1.ServicePort) uint16 {
	if port.TargetPort.Type == intstr.Int {
		number := cmp.Or(port.TargetPort.IntVal, port.Port)
		if number < 1 || number > 65535 {
			return 0
		}
		return uint16(number)
	}
	for _, p := range containerPorts(pod) {
		if p.Name == port.TargetPort.StrVal && protocolOf(p.Protocol) == protocolOf(port.Protocol) {
			return uint16(p.ContainerPort)
		}
	}
	return 0
}

// containerPorts are the ports of containers that run as long as the Pod.
func containerPorts(pod *corev1.Pod) (ports []corev1.ContainerPort) {
	for _, c := range pod.Spec.Containers {
		ports = append(ports, c.Ports...)
	}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			ports = append(ports, c.Ports...)
		}
	}
	return ports
}

// hostPort returns the port of the Node's address by which the Pod's port can be reached anyway; 0 if there is none.
func hostPort(pod *corev1.Pod, want podPort, nodeIP netip.Addr) uint16 {
	if pod.Spec.HostNetwork {
		return want.number
	}
	for _, p := range containerPorts(pod) {
		if p.HostPort < 1 || uint16(p.ContainerPort) != want.number || protocolOf(p.Protocol) != want.protocol {
			continue
		}
		if addr, err := netip.ParseAddr(p.HostIP); p.HostIP == "" || err == nil && (addr == nodeIP || addr.IsUnspecified() && addr.Is4() == nodeIP.Is4()) {
			return uint16(p.HostPort)
		}
	}
	return 0
}
