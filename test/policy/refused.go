// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// RefusedPort is a port of TCP, which no probe has. Open vSwitch refuses rules with it.
const RefusedPort = 4242

// AddRefused returns a World with one policy more, which Open vSwitch refuses on the Nodes of its Pods. Of Kubernetes' kind, it isolates its Pods in its
// directions. A ClusterNetworkPolicy denies all that its rules may deny, which here is everything in both directions.
func (g *Generator) AddRefused(w *World) *World {
	next := *w
	g.set++
	tcp, port := corev1.ProtocolTCP, intstr.FromInt32(RefusedPort)
	if g.chance(50) {
		p := g.policy(0)
		p.Name, p.UID = fmt.Sprint("refused", g.set), types.UID(fmt.Sprint("refused-", g.set))
		ports := []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}}
		if isOf(p, networkingv1.PolicyTypeIngress) {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{Ports: ports})
		} else {
			p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{Ports: ports})
		}
		next.Policies, next.Refused = append(slices.Clone(w.Policies), p), map[types.UID]bool{p.UID: true}
		return &next
	}
	allow, drop := ptr.To(crd.RuleActionAllow), ptr.To(crd.RuleActionDrop)
	rules := func(direction string) []crd.Rule {
		return []crd.Rule{
			{Name: direction + "-refused", Action: allow, Ports: []crd.NetworkPolicyPort{{Protocol: &tcp, Port: &port}}},
			{Name: direction + "-others", Action: drop},
		}
	}
	p := &crd.ClusterNetworkPolicy{ObjectMeta: g.meta("cnp", "", fmt.Sprint("refused", g.set)), Spec: crd.NetworkPolicySpec{
		AppliedTo: []crd.AppliedTo{{PodSelector: ptr.To(g.selector())}}, Ingress: rules("in"), Egress: rules("out"),
	}}
	if g.chance(50) {
		p.Spec.AppliedTo[0].NamespaceSelector = &metav1.LabelSelector{}
	}
	g.placeSpec(&p.Spec)
	p.Spec.Tier = next.knownTier(p.Spec.Tier)
	next.ClusterNetworkPolicies, next.Refused = append(slices.Clone(w.ClusterNetworkPolicies), p), map[types.UID]bool{p.UID: true}
	return &next
}

// WithoutRefused returns a World without the policies that Open vSwitch refuses.
func (w *World) WithoutRefused() *World {
	next := *w
	next.Policies = slices.DeleteFunc(slices.Clone(w.Policies), func(p *networkingv1.NetworkPolicy) bool { return w.Refused[p.UID] })
	next.ClusterNetworkPolicies = slices.DeleteFunc(slices.Clone(w.ClusterNetworkPolicies), func(p *crd.ClusterNetworkPolicy) bool { return w.Refused[p.UID] })
	next.Refused = nil
	return &next
}
