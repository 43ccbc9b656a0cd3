// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Allowed reports whether the connection may be opened: egress of the source and ingress of the destination both allow
// it. Labels are taken from this World, even if the probe was made for another one.
func (w *World) Allowed(p *Probe) bool { return w.Opinion(p)&MayAllow != 0 }

// AllowedBy reports whether the policies of one end allow the connection: of its source (egress) or of its destination
// (ingress). Pods that are not in the World may be the other end.
func (w *World) AllowedBy(p *Probe, direction networkingv1.PolicyType) bool {
	return w.OpinionOf(p, direction)&MayAllow != 0
}

// pod returns this World's Pod with the name of a Pod of another World.
func (w *World) pod(other *Pod) *Pod {
	for _, pods := range [][]*Pod{w.Pods, w.Hosts} {
		for _, p := range pods {
			if p.Namespace == other.Namespace && p.Name == other.Name {
				return p
			}
		}
	}
	return other
}

// kubernetesOpinion follows the specification of Kubernetes' policies: if none selects the Pod in this direction, it is not isolated, else what
// any rule of any selecting policy allows is allowed. Traffic to a Pod from its own Node is always allowed. The behavior of policies for Pods in
// the network of their Node is undefined. The documentation names two, and this is the more common one: selectors do not match these Pods, and
// their addresses are treated like any other address.
func (w *World) kubernetesOpinion(p *Probe, direction networkingv1.PolicyType, subject, peer *Pod) (isolated, allowed bool) {
	for _, policy := range w.Policies {
		if policy.Namespace != subject.Namespace || !matches(&policy.Spec.PodSelector, subject.Labels) || !isOf(policy, direction) {
			continue
		}
		isolated = true
		if w.Refused[policy.UID] {
			continue // It isolates its Pods.
		}
		if direction == networkingv1.PolicyTypeIngress {
			for _, rule := range policy.Spec.Ingress {
				if w.ruleMatches(policy.Namespace, rule.From, rule.Ports, direction, peer, p) {
					return true, true
				}
			}
			continue
		}
		for _, rule := range policy.Spec.Egress {
			if w.ruleMatches(policy.Namespace, rule.To, rule.Ports, direction, peer, p) {
				return true, true
			}
		}
	}
	return isolated, false
}

// isOf reports whether a policy applies to a direction. Without policyTypes it applies to ingress, and to egress if it has egress rules.
func isOf(policy *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) bool {
	if len(policy.Spec.PolicyTypes) == 0 {
		return direction == networkingv1.PolicyTypeIngress || len(policy.Spec.Egress) > 0
	}
	return slices.Contains(policy.Spec.PolicyTypes, direction)
}

// ruleMatches reports whether one of the peers and one of the ports match. The specification leaves open what the name of a port means
// for an egress rule whose destinations are addresses. Here, as in Antrea, it matches nothing: addresses have no port names.
func (w *World) ruleMatches(namespace string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, direction networkingv1.PolicyType, pod *Pod, p *Probe) bool {
	if len(peers) == 0 {
		return portMatches(ports, p, true)
	}
	for _, peer := range peers {
		namesCount := peer.IPBlock == nil || direction == networkingv1.PolicyTypeIngress
		if w.peerMatches(namespace, &peer, pod, p) && portMatches(ports, p, namesCount) {
			return true
		}
	}
	return false
}

func (w *World) peerMatches(namespace string, peer *networkingv1.NetworkPolicyPeer, pod *Pod, p *Probe) bool {
	if peer.IPBlock != nil {
		return inBlock(peer.IPBlock, pod, p)
	}
	if pod.HostNetwork {
		return false
	}
	inNamespace := pod.Namespace == namespace
	if peer.NamespaceSelector != nil {
		inNamespace = matches(peer.NamespaceSelector, w.Namespaces[pod.Namespace])
	}
	return inNamespace && (peer.PodSelector == nil || matches(peer.PodSelector, pod.Labels))
}

func inBlock(block *networkingv1.IPBlock, pod *Pod, p *Probe) bool {
	addr := pod.IPv4
	if p.IPv6 {
		addr = pod.IPv6
	}
	inExcept := slices.ContainsFunc(block.Except, func(e string) bool { return netip.MustParsePrefix(e).Contains(addr) })
	return netip.MustParsePrefix(block.CIDR).Contains(addr) && !inExcept
}

// portMatches reports whether one of the ports is the destination's, by number or, if names count, by name.
func portMatches(ports []networkingv1.NetworkPolicyPort, p *Probe, namesCount bool) bool {
	if len(ports) == 0 {
		return true
	}
	for _, port := range ports {
		protocol := corev1.ProtocolTCP
		if port.Protocol != nil {
			protocol = *port.Protocol
		}
		if protocol != p.Protocol {
			continue
		}
		switch {
		case port.Port == nil:
			return true
		case port.Port.Type == intstr.String:
			if namesCount && p.To.hasPort(port.Port.StrVal, protocol, p.Port) {
				return true
			}
		case port.EndPort != nil:
			if int32(p.Port) >= port.Port.IntVal && int32(p.Port) <= *port.EndPort {
				return true
			}
		case port.Port.IntVal == int32(p.Port):
			return true
		}
	}
	return false
}

// hasPort reports whether a container that lives as long as the Pod has a port with this name, protocol and number.
// Ports of init containers that have ended do not count, nor do ports of a Pod in the network of its Node: they are the
// Node's.
func (p *Pod) hasPort(name string, protocol corev1.Protocol, number uint16) bool {
	return !p.HostNetwork && slices.ContainsFunc(slices.Concat(p.Ports, p.SidecarPorts), func(c corev1.ContainerPort) bool {
		return c.Name == name && c.Protocol == protocol && uint16(c.ContainerPort) == number
	})
}

// matches evaluates a label selector; an empty one matches everything.
func matches(s *metav1.LabelSelector, labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if have, ok := labels[key]; !ok || have != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		value, exists := labels[e.Key]
		ok := false
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			ok = exists && slices.Contains(e.Values, value)
		case metav1.LabelSelectorOpNotIn:
			ok = !exists || !slices.Contains(e.Values, value)
		case metav1.LabelSelectorOpExists:
			ok = exists
		case metav1.LabelSelectorOpDoesNotExist:
			ok = !exists
		}
		if !ok {
			return false
		}
	}
	return true
}
