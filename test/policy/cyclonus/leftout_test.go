// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cyclonus

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/test/policy"
)

// The reasons for which the answers about one direction of a connection are not compared.
const (
	notInWithoutLabel = "NotIn without the label"
	emptyValue        = "empty value without the label"
	nameForAddresses  = "name of a port for an ipBlock"
)

// leftOut is the reason why the matcher's answer does not count, or empty. It excludes every connection that a doubtful policy may
// concern, which is more than the matcher gets wrong.
func leftOut(w *policy.World, p *policy.Probe, direction networkingv1.PolicyType) string {
	subject, peer := p.To, p.From
	if direction == networkingv1.PolicyTypeEgress {
		subject, peer = p.From, p.To
	}
	for _, np := range w.Policies {
		if np.Namespace != subject.Namespace {
			continue
		}
		if reason := doubtful(&np.Spec.PodSelector, subject.Labels); reason != "" {
			return reason
		}
		for _, rule := range rulesOf(np, direction) {
			for _, to := range rule.peers {
				if to.IPBlock != nil && direction == networkingv1.PolicyTypeEgress && rule.named {
					return nameForAddresses
				}
				if reason := doubtful(to.PodSelector, peer.Labels); reason != "" {
					return reason
				}
				if reason := doubtful(to.NamespaceSelector, w.Namespaces[peer.Namespace]); reason != "" {
					return reason
				}
			}
		}
	}
	return ""
}

// rule holds the parts that rules of both directions have. named tells whether a port is given by name.
type rule struct {
	peers []networkingv1.NetworkPolicyPeer
	named bool
}

func rulesOf(np *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) []rule {
	named := func(ports []networkingv1.NetworkPolicyPort) bool {
		return slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port != nil && p.Port.Type == intstr.String })
	}
	var rules []rule
	if direction == networkingv1.PolicyTypeIngress {
		for _, r := range np.Spec.Ingress {
			rules = append(rules, rule{r.From, named(r.Ports)})
		}
		return rules
	}
	for _, r := range np.Spec.Egress {
		rules = append(rules, rule{r.To, named(r.Ports)})
	}
	return rules
}

// doubtful is the reason why the matcher may be wrong about this selector (nil for none) and these labels, or empty.
func doubtful(s *metav1.LabelSelector, labels map[string]string) string {
	if s == nil {
		return ""
	}
	for key, value := range s.MatchLabels {
		if _, ok := labels[key]; !ok && value == "" {
			return emptyValue
		}
	}
	for _, e := range s.MatchExpressions {
		if _, ok := labels[e.Key]; !ok && e.Operator == metav1.LabelSelectorOpNotIn {
			return notInWithoutLabel
		}
	}
	return ""
}
