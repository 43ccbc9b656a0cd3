// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The size of a World.
const (
	namespaces       = 3
	podsPerNamespace = 4
	nodes            = 2
	maxPolicies      = 6
)

// Generator makes Worlds one after the other. Pods keep their places and addresses; labels and policies change.
type Generator struct {
	rng *rand.Rand
	set int
}

// NewGenerator makes a Generator: the same numbers make the same Worlds.
func NewGenerator(rng *rand.Rand) *Generator { return &Generator{rng: rng} }

var (
	protocols = []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	// numbers are ports around those that policies name.
	numbers = []uint16{79, 80, 81, 443, 8080, 8083}
	names   = []string{"web", "api", "nothing"}
)

// Next makes a World.
func (g *Generator) Next() *World {
	g.set++
	w := &World{Namespaces: map[string]map[string]string{}}
	for n := range namespaces {
		name := fmt.Sprintf("ns%d", n)
		w.Namespaces[name] = g.labels("team", "red", "blue")
		for p := range podsPerNamespace {
			i := n*podsPerNamespace + p
			w.Pods = append(w.Pods, &Pod{
				Namespace: name, Name: fmt.Sprintf("pod%d", p), Node: fmt.Sprintf("node-%d", 1+i%nodes), Labels: g.podLabels(),
				IPv4: netip.AddrFrom4([4]byte{10, 10, byte(1 + i%nodes), byte(10 + i)}),
				IPv6: netip.MustParseAddr(fmt.Sprintf("fd00:10:10:%d::%x", 1+i%nodes, 10+i)),
				// Named ports do not change while a Pod lives; they differ between Pods.
				Ports: []corev1.ContainerPort{
					{Name: "web", Protocol: corev1.ProtocolTCP, ContainerPort: int32(80 + i%2)},
					{Name: "api", Protocol: protocols[i%3], ContainerPort: 8080},
				},
			})
		}
	}
	for i := range g.rng.IntN(maxPolicies + 1) {
		w.Policies = append(w.Policies, g.policy(i))
	}
	return w
}

// Probes are all ordered pairs of Pods, each with several ports, protocols and IP versions.
func (g *Generator) Probes(w *World) []*Probe {
	var probes []*Probe
	for _, from := range w.Pods {
		for _, to := range w.Pods {
			if from == to {
				continue // A Pod reaches itself without leaving it.
			}
			for _, six := range []bool{false, true} {
				for range 2 {
					probes = append(probes, &Probe{From: from, To: to, IPv6: six, Protocol: pick(g.rng, protocols), Port: pick(g.rng, numbers)})
				}
			}
		}
	}
	return probes
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func (g *Generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// labels has the key with one of the values, or not at all.
func (g *Generator) labels(key string, values ...string) map[string]string {
	if g.chance(25) {
		return map[string]string{}
	}
	return map[string]string{key: pick(g.rng, values)}
}

func (g *Generator) podLabels() map[string]string {
	labels := g.labels("app", "a", "b", "c")
	for key, value := range g.labels("tier", "x", "y") {
		labels[key] = value
	}
	return labels
}

func (g *Generator) policy(i int) *networkingv1.NetworkPolicy {
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprintf("ns%d", g.rng.IntN(namespaces)), Name: fmt.Sprintf("np%d", i), UID: types.UID(fmt.Sprintf("uid-%d-%d", g.set, i)),
	}}
	policy.Spec.PodSelector = g.selector()
	for _, t := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
		if g.chance(60) {
			policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, t)
		}
	}
	for range g.rng.IntN(3) {
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: g.peers(), Ports: g.ports()})
	}
	for range g.rng.IntN(3) {
		policy.Spec.Egress = append(policy.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: g.peers(), Ports: g.ports()})
	}
	return policy
}

func (g *Generator) selector() metav1.LabelSelector {
	switch g.rng.IntN(5) {
	case 0:
		return metav1.LabelSelector{}
	case 1:
		return metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g.rng, []string{"a", "b"}), "tier": "x"}}
	case 2:
		operator := pick(g.rng, []metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist})
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: operator}}}
	case 3:
		operator := pick(g.rng, []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn})
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: operator, Values: []string{"a", "c"}}}}
	default:
		return metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g.rng, []string{"a", "b", "c"})}}
	}
}

func (g *Generator) namespaceSelector() *metav1.LabelSelector {
	if g.chance(30) {
		return &metav1.LabelSelector{}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(g.rng, []string{"red", "blue"})}}
}

func (g *Generator) peers() []networkingv1.NetworkPolicyPeer {
	var peers []networkingv1.NetworkPolicyPeer
	for range g.rng.IntN(3) {
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
	blocks := []networkingv1.IPBlock{
		{CIDR: "0.0.0.0/0"}, {CIDR: "::/0"}, {CIDR: "10.10.1.0/24"}, {CIDR: "fd00:10:10:1::/64"}, {CIDR: "192.0.2.0/24"},
		{CIDR: "10.10.0.0/16", Except: []string{"10.10.1.0/28", "10.10.2.13/32"}}, {CIDR: "fd00:10:10::/48", Except: []string{"fd00:10:10:2::/64"}},
		{CIDR: "10.10.1.16/32"},
	}
	return &blocks[g.rng.IntN(len(blocks))]
}

func (g *Generator) ports() []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for range g.rng.IntN(3) {
		var port networkingv1.NetworkPolicyPort
		if g.chance(80) {
			protocol := pick(g.rng, protocols)
			port.Protocol = &protocol
		}
		switch g.rng.IntN(4) {
		case 0:
		case 1:
			name := intstr.FromString(pick(g.rng, names))
			port.Port = &name
		case 2:
			first, last := intstr.FromInt32(int32(pick(g.rng, []int{79, 80, 400}))), int32(pick(g.rng, []int{443, 8081}))
			port.Port, port.EndPort = &first, &last
		default:
			number := intstr.FromInt32(int32(pick(g.rng, numbers)))
			port.Port = &number
		}
		ports = append(ports, port)
	}
	return ports
}
