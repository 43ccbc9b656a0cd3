// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/test/policy"
)

// elsewhere is a network without good Pods: the valid parts of bad policies allow only this.
const elsewhere = "203.0.113.0/24"

// badPolicy is a policy that selects good Pods. However it is read, it allows nothing between them.
func badPolicy(rng *rand.Rand, i int, world *policy.World) *bad {
	np := &networkingv1.NetworkPolicy{ObjectMeta: badMeta("policy", i)}
	np.Namespace = world.Pods[rng.IntN(len(world.Pods))].Namespace
	np.Spec.PodSelector = pick(rng, metav1.LabelSelector{}, metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(rng, "a", "b", "c")}})
	np.Spec.PolicyTypes = pick(rng, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		[]networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, nil)
	b := &bad{Kind: "NetworkPolicy"}
	spoilers := []func(*rand.Rand, *networkingv1.NetworkPolicy) string{
		spoilSelector, spoilPeer, spoilBlock, spoilPort, spoilPort, spoilTypes, spoilNamespace, manyPeers, manyPorts, refusedBySwitch, refusedBySwitch,
	}
	// This case takes as long as all others together.
	if rng.IntN(30) == 0 {
		spoilers = append(spoilers[:0], manyRules)
	}
	b.What = pick(rng, spoilers...)(rng, np)
	b.selects = selectsLike(np)
	b.versions = []runtime.Object{np}
	return b
}

// rules makes rules in both directions.
func rules(np *networkingv1.NetworkPolicy, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) {
	np.Spec.Ingress = append(np.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: peers, Ports: ports})
	np.Spec.Egress = append(np.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: peers, Ports: ports})
}

func block(cidr string, except ...string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
}

func oddSelector(rng *rand.Rand) metav1.LabelSelector {
	return pick(rng,
		metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like", Values: []string{"a"}}}},
		metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn}}},
		metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists, Values: []string{"a"}}}},
		metav1.LabelSelector{MatchLabels: map[string]string{"": "x\n"}},
		metav1.LabelSelector{MatchLabels: map[string]string{strings.Repeat("k", 400): strings.Repeat("v", 400)}},
	)
}

func spoilSelector(rng *rand.Rand, np *networkingv1.NetworkPolicy) string {
	np.Spec.PodSelector = oddSelector(rng)
	rules(np, []networkingv1.NetworkPolicyPeer{block(elsewhere)}, nil)
	return fmt.Sprintf("with the Pod selector %.80s", np.Spec.PodSelector.String())
}

func spoilPeer(rng *rand.Rand, np *networkingv1.NetworkPolicy) string {
	selector := oddSelector(rng)
	peer := pick(rng, networkingv1.NetworkPolicyPeer{PodSelector: &selector}, networkingv1.NetworkPolicyPeer{NamespaceSelector: &selector}, networkingv1.NetworkPolicyPeer{})
	rules(np, []networkingv1.NetworkPolicyPeer{peer, block(elsewhere)}, nil)
	return fmt.Sprintf("with the peer %.80s", peer.String())
}

func spoilBlock(rng *rand.Rand, np *networkingv1.NetworkPolicy) string {
	peer := pick(rng,
		block("10.10.0.0/33"), block(""), block("300.1.1.1/8"), block("10.10.1.10"), block("2001:db8::/129"), block("::ffff:203.0.113.0/120"), block("fe80::%eth0/64"),
		block(elsewhere, "10.10.1.0/24"), block(elsewhere, elsewhere), block(elsewhere, "0.0.0.0/0"), block(elsewhere, "x"), block("10.10.0.0/16", ""),
		block("10.10.0.0/16", "10.10.0.0/33"), block(elsewhere, "::/0"), block("0.0.0.0/0", "0.0.0.0/0"), block("10.10.0.0/16", "0.0.0.0/0"),
	)
	rules(np, []networkingv1.NetworkPolicyPeer{block(elsewhere), peer}, nil)
	return fmt.Sprintf("with the block %s except %q", peer.IPBlock.CIDR, peer.IPBlock.Except)
}

func spoilPort(rng *rand.Rand, np *networkingv1.NetworkPolicy) string {
	port := func(protocol corev1.Protocol, port intstr.IntOrString, end *int32) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &port, EndPort: end}
	}
	number := intstr.FromInt32
	p := pick(rng,
		port("TCP", number(0), nil), port("TCP", number(-1), nil), port("TCP", number(65536), nil), port("TCP", number(65536+80), nil), port("TCP", number(1<<31-1), nil),
		port("TCP", number(80), ptr.To[int32](79)), port("TCP", number(443), ptr.To[int32](80)), port("TCP", number(65536), ptr.To[int32](1<<31-1)),
		port("TCP", number(-5), ptr.To[int32](-1)), port("TCP", number(9000), ptr.To[int32](-1)),
		port("ICMP", number(80), nil), port("tcp", number(9000), nil), port("", number(9000), nil),
		port("TCP", intstr.FromString(strings.Repeat("p", 300)), nil), port("TCP", intstr.FromString(""), nil), port("TCP", intstr.FromString("9000"), nil),
		port("TCP", intstr.IntOrString{Type: 7, IntVal: 9000, StrVal: "x"}, nil),
	)
	rules(np, pick(rng, nil, []networkingv1.NetworkPolicyPeer{block(elsewhere)}), []networkingv1.NetworkPolicyPort{p})
	return fmt.Sprintf("with the port %.80s of type %d", p.String(), p.Port.Type)
}

func spoilTypes(rng *rand.Rand, np *networkingv1.NetworkPolicy) string {
	np.Spec.PolicyTypes = pick(rng, []networkingv1.PolicyType{"Sideways"}, []networkingv1.PolicyType{"ingress"}, []networkingv1.PolicyType{"Ingress", "Ingress", ""})
	rules(np, []networkingv1.NetworkPolicyPeer{block(elsewhere)}, nil)
	return fmt.Sprintf("of the types %q", np.Spec.PolicyTypes)
}

func spoilNamespace(rng *rand.Rand, np *networkingv1.NetworkPolicy) string {
	np.Namespace = pick(rng, "absent", "", "..", strings.Repeat("n", 400))
	np.Name = pick(rng, np.Name, "", "a/b", strings.Repeat("p", 5000))
	np.UID = pick(rng, np.UID, "", "../../escape", ".hidden", "x.tmp")
	rules(np, nil, nil)
	return fmt.Sprintf("%.20q in the Namespace %.20q with the UID %q", np.Name, np.Namespace, np.UID)
}

func manyPeers(_ *rand.Rand, np *networkingv1.NetworkPolicy) string {
	var peers []networkingv1.NetworkPolicyPeer
	for n := range 2000 {
		peers = append(peers, block(fmt.Sprintf("198.19.%d.%d/32", n/256, n%256)))
	}
	rules(np, peers, nil)
	return "with 2000 peers"
}

func manyPorts(_ *rand.Rand, np *networkingv1.NetworkPolicy) string {
	var ports []networkingv1.NetworkPolicyPort
	for n := range 2000 {
		ports = append(ports, networkingv1.NetworkPolicyPort{Port: ptr.To(intstr.FromInt32(int32(20000 + 2*n)))})
	}
	rules(np, []networkingv1.NetworkPolicyPeer{block(elsewhere)}, ports)
	return "with 2000 ports"
}

// manyRules makes flows that no OpenFlow message can hold.
func manyRules(_ *rand.Rand, np *networkingv1.NetworkPolicy) string {
	np.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	for n := range 4200 {
		np.Spec.Ingress = append(np.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{
			From: []networkingv1.NetworkPolicyPeer{block(fmt.Sprintf("198.19.%d.%d/32", n/256, n%256))},
		})
	}
	return "with 4200 rules"
}

func refusedBySwitch(_ *rand.Rand, np *networkingv1.NetworkPolicy) string {
	rules(np, []networkingv1.NetworkPolicyPeer{block(elsewhere)}, []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(refusedPort))}})
	return "that the switch has no room for"
}
