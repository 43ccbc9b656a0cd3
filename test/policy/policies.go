// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// policies returns new policies and, with turnover, some of the last World's, unchanged or edited.
func (g *Generator) policies() []*networkingv1.NetworkPolicy {
	var policies []*networkingv1.NetworkPolicy
	taken := map[string]bool{}
	if g.turnover && g.last != nil {
		for _, p := range g.last.Policies {
			switch n := g.rng.IntN(100); {
			case n < 40:
				p = g.edit(p)
			case n < 50:
			default:
				continue // A new policy may get its name.
			}
			policies, taken[p.Name] = append(policies, p), true
		}
	}
	for i := range g.rng.IntN(maxPolicies + 1) {
		if p := g.policy(i); !taken[p.Name] {
			policies = append(policies, p)
		}
	}
	return policies
}

func (g *Generator) policy(i int) *networkingv1.NetworkPolicy {
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespaceName(g.rng.IntN(namespaces)), Name: fmt.Sprintf("np%d", i), UID: types.UID(fmt.Sprintf("uid-%d-%d", g.set, i)),
	}}
	if g.chance(75) {
		policy.Spec.PodSelector = g.selector()
	}
	policy.Spec.PolicyTypes = g.policyTypes()
	for range g.rng.IntN(3) {
		policy.Spec.Ingress = append(policy.Spec.Ingress, g.ingress())
	}
	policy.Spec.Egress = g.egresses()
	return policy
}

// policyTypes returns one or both directions, or none: then the rules decide.
func (g *Generator) policyTypes() []networkingv1.PolicyType {
	both := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	return [][]networkingv1.PolicyType{nil, nil, both[:1], both[1:], both}[g.rng.IntN(5)]
}

func (g *Generator) ingress() networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{From: g.peers(), Ports: g.ports()}
}

func (g *Generator) egress() networkingv1.NetworkPolicyEgressRule {
	if g.chance(20) {
		// A name of a port, of all Pods.
		name := intstr.FromString(pick(g.rng, names))
		return networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{{Port: &name}}}
	}
	return networkingv1.NetworkPolicyEgressRule{To: g.peers(), Ports: g.ports()}
}

// egresses returns up to two rules. Without rules the list is nil or empty, which mean the same.
func (g *Generator) egresses() []networkingv1.NetworkPolicyEgressRule {
	rules := []networkingv1.NetworkPolicyEgressRule{}
	if g.chance(25) {
		rules = nil
	}
	for range pick(g.rng, []int{0, 0, 1, 1, 2}) {
		rules = append(rules, g.egress())
	}
	return rules
}

// edit returns the policy with one part changed, under the same UID.
func (g *Generator) edit(p *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
	p = p.DeepCopy()
	p.Generation++
	spec := &p.Spec
	switch part := g.rng.IntN(8); {
	case part == 0:
		spec.PodSelector = g.selector()
	case part == 1:
		spec.PolicyTypes = g.policyTypes()
	case part == 2:
		spec.Ingress = append(spec.Ingress, g.ingress())
	case part == 3:
		spec.Egress = append(spec.Egress, g.egress())
	case part < 6 && len(spec.Ingress) > 0:
		i := g.rng.IntN(len(spec.Ingress))
		if part == 4 {
			spec.Ingress = slices.Delete(spec.Ingress, i, i+1)
		} else {
			spec.Ingress[i].From = g.peers()
		}
	case len(spec.Egress) > 0:
		i := g.rng.IntN(len(spec.Egress))
		if part == 6 {
			spec.Egress = slices.Delete(spec.Egress, i, i+1)
		} else {
			spec.Egress[i].Ports = g.ports()
		}
	default:
		spec.Ingress = []networkingv1.NetworkPolicyIngressRule{g.ingress()}
	}
	return p
}

func matchLabels(labels ...string) metav1.LabelSelector {
	s := metav1.LabelSelector{MatchLabels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		s.MatchLabels[labels[i]] = labels[i+1]
	}
	return s
}

// requirement returns a random requirement about a label that, where it exists, has one of the values.
func (g *Generator) requirement(key string, values ...string) metav1.LabelSelectorRequirement {
	r := metav1.LabelSelectorRequirement{Key: key, Operator: pick(g.rng, []metav1.LabelSelectorOperator{
		metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
	})}
	if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
		r.Values = values
	}
	return r
}

func (g *Generator) selector() metav1.LabelSelector {
	switch g.rng.IntN(8) {
	case 0:
		return metav1.LabelSelector{}
	case 1, 2:
		return matchLabels("app", pick(g.rng, []string{"a", "b"}), "tier", "x")
	case 3:
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{g.requirement("tier", "x")}}
	case 4:
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{g.requirement("app", "a", "c")}}
	case 5:
		s := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{g.requirement("app", "a", "b", ""), g.requirement("tier", "y")}}
		if g.chance(30) {
			s.MatchLabels = map[string]string{"tier": "y"}
		}
		return s
	default:
		return matchLabels("app", pick(g.rng, []string{"a", "b", "c", ""}))
	}
}

func (g *Generator) namespaceSelector() *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	switch g.rng.IntN(10) {
	case 0, 1, 2:
	case 3, 4, 5:
		s.MatchExpressions = []metav1.LabelSelectorRequirement{g.requirement("team", "red", "")}
	default:
		*s = matchLabels("team", pick(g.rng, []string{"red", "blue"}))
	}
	return s
}

func (g *Generator) peers() []networkingv1.NetworkPolicyPeer {
	var peers []networkingv1.NetworkPolicyPeer
	for range pick(g.rng, []int{0, 1, 1, 2, 2, 3}) {
		var peer networkingv1.NetworkPolicyPeer
		switch g.rng.IntN(4) {
		case 0:
			peer.IPBlock = g.block()
		case 1:
			peer.NamespaceSelector = g.namespaceSelector()
		case 2:
			peer.NamespaceSelector = g.namespaceSelector()
			fallthrough
		default:
			selector := g.selector()
			peer.PodSelector = &selector
		}
		peers = append(peers, peer)
	}
	return peers
}

func (g *Generator) block() *networkingv1.IPBlock {
	second := "10.10.2.0/24"
	if g.turnover {
		second = "10.10.2.77/24" // Later API servers refuse it, but keep what earlier ones have accepted.
	}
	blocks := []networkingv1.IPBlock{
		{CIDR: "0.0.0.0/0"}, {CIDR: "::/0"}, {CIDR: "10.10.1.0/24"}, {CIDR: "fd00:10:10:1::/64"}, {CIDR: "192.0.2.0/24"},
		{CIDR: "10.10.0.0/16", Except: []string{"10.10.1.0/28", "10.10.2.13/32"}}, {CIDR: "fd00:10:10::/48", Except: []string{"fd00:10:10:2::/64"}},
		{CIDR: "10.10.1.16/32"},
		// With nested exceptions.
		{CIDR: second}, {CIDR: "0.0.0.0/0", Except: []string{"10.10.0.0/17", "10.10.1.0/24", "192.168.77.1/32"}},
		// The Nodes.
		{CIDR: "192.168.77.0/24", Except: []string{"192.168.77.2/32"}}, {CIDR: "fd00:192:168:77::/64"},
	}
	return &blocks[g.rng.IntN(len(blocks))]
}

// ranges are pairs of a first and a last port.
var ranges = [][2]int32{
	{79, 443}, {80, 8081}, {80, 80}, {400, 443}, {400, 8081}, {1, 65535}, {1, 80}, {443, 65534}, {443, 65535}, {8080, 65535}, {32769, 65535}, {65535, 65535},
}

func (g *Generator) ports() []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for range g.rng.IntN(3) {
		var port networkingv1.NetworkPolicyPort
		if g.chance(70) {
			protocol := pick(g.rng, protocols)
			port.Protocol = &protocol
		}
		switch g.rng.IntN(7) {
		case 0:
		case 1, 2, 3:
			if g.chance(60) {
				port.Protocol = nil // as most named ports have
			}
			name := intstr.FromString(pick(g.rng, names))
			port.Port = &name
		case 4, 5:
			r := pick(g.rng, ranges)
			first, last := intstr.FromInt32(r[0]), r[1]
			port.Port, port.EndPort = &first, &last
		default:
			number := intstr.FromInt32(int32(pick(g.rng, numbers)))
			port.Port = &number
		}
		ports = append(ports, port)
	}
	return ports
}
