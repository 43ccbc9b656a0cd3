// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cyclonus

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/mattfenwick/cyclonus/pkg/matcher"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/policy"
)

var (
	sets = flag.Int("sets", 1000, "number of sets of policies")
	seed = flag.Uint64("seed", 0, "seed of the random sets; 0 chooses one")
)

var directions = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}

// Oracle and matcher agree about all random connections except those that leftOut excludes.
func TestSameAnswers(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()>>1 + 1
	}
	generator := policy.NewGeneratorWithTurnover(rand.New(rand.NewPCG(*seed, 0)))
	compared, forbidden, left := 0, 0, map[string]int{}
	for set := range *sets {
		w := generator.Next()
		second := matcherOf(w)
		for _, p := range generator.Probes(w) {
			for _, direction := range directions {
				if reason := leftOut(w, p, direction); reason != "" {
					left[reason]++
					continue
				}
				compared++
				want, got := w.AllowedBy(p, direction), second.allows(w, p, direction)
				if !want {
					forbidden++
				}
				if want != got {
					t.Errorf("set %d, seed %d: %s of %s/%s to %s/%s, %s port %d: oracle allowed=%t, cyclonus allowed=%t\n%s", set+1, *seed, direction,
						p.From.Namespace, p.From.Name, p.To.Namespace, p.To.Name, p.Protocol, p.Port, want, got, describe(w, p))
				}
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	fmt.Fprintf(os.Stdout, "cyclonus: sets=%d compared=%d forbidden=%d wrong=0 seed=%d\n", *sets, compared, forbidden, *seed)
	for _, reason := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(os.Stdout, "cyclonus: not compared: %s: %d\n", reason, left[reason])
	}
	if forbidden == 0 || forbidden == compared {
		t.Errorf("%d of %d connections are forbidden: the comparison proves nothing", forbidden, compared)
	}
}

// secondOpinion is the matcher with the policies of a world.
type secondOpinion struct{ policies *matcher.Policy }

func matcherOf(w *policy.World) secondOpinion {
	var policies []*networkingv1.NetworkPolicy
	for _, np := range w.Policies {
		policies = append(policies, withTypes(np))
	}
	return secondOpinion{matcher.BuildNetworkPolicies(false, policies)}
}

// withTypes is the policy with the types that the API server fills in.
func withTypes(np *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
	if len(np.Spec.PolicyTypes) > 0 {
		return np
	}
	np = np.DeepCopy()
	np.Spec.PolicyTypes = directions[:1]
	if len(np.Spec.Egress) > 0 {
		np.Spec.PolicyTypes = directions
	}
	return np
}

// allows asks the matcher once for each name of the port, because the matcher accepts only one.
func (s secondOpinion) allows(w *policy.World, p *policy.Probe, direction networkingv1.PolicyType) bool {
	from, to := p.Addresses()
	traffic := matcher.Traffic{Protocol: p.Protocol, ResolvedPort: int(p.Port)}
	traffic.Source, traffic.Destination = peerOf(w, p.From, from.String()), peerOf(w, p.To, to.String())
	return slices.ContainsFunc(portNames(p), func(name string) bool {
		traffic.ResolvedPortName = name
		return s.policies.IsIngressOrEgressAllowed(&traffic, direction == networkingv1.PolicyTypeIngress).IsAllowed()
	})
}

// peerOf is one end of a connection. A Pod in the network of its Node is an address outside the cluster.
func peerOf(w *policy.World, pod *policy.Pod, ip string) *matcher.TrafficPeer {
	peer := &matcher.TrafficPeer{IP: ip}
	if !pod.HostNetwork {
		peer.Internal = &matcher.InternalPeer{PodLabels: pod.Labels, NamespaceLabels: w.Namespaces[pod.Namespace], Namespace: pod.Namespace}
	}
	return peer
}

// portNames returns the names of the destination's port, and a name that no port has.
func portNames(p *policy.Probe) []string {
	found := []string{""}
	for _, port := range slices.Concat(p.To.Ports, p.To.SidecarPorts) {
		if !p.To.HostNetwork && port.Protocol == p.Protocol && port.ContainerPort == int32(p.Port) {
			found = append(found, port.Name)
		}
	}
	return found
}

// describe prints the objects that a wrong answer concerns.
func describe(w *policy.World, p *policy.Probe) string {
	text := fmt.Sprintln("# Namespaces", w.Namespaces, "labels", p.From.Labels, p.To.Labels, "ports", portNames(p))
	for _, np := range w.Policies {
		content, err := yaml.Marshal(np)
		if err != nil {
			content = []byte(err.Error())
		}
		text += fmt.Sprintf("---\n%s", content)
	}
	return text
}

// The matcher is wrong although the specification is clear. When this test fails, leftOut excludes too much.
func TestKnownFaults(t *testing.T) {
	for _, test := range []struct {
		name     string
		selector metav1.LabelSelector
		want     bool
	}{
		{notInWithoutLabel, metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}},
		}}, true},
		{emptyValue, metav1.LabelSelector{MatchLabels: map[string]string{"app": ""}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, server := &policy.Pod{Namespace: "ns", Name: "client"}, &policy.Pod{Namespace: "ns", Name: "server"}
			np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: networkingv1.NetworkPolicySpec{
				Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &test.selector}}}},
			}}
			w := &policy.World{Namespaces: map[string]map[string]string{"ns": {}}, Pods: []*policy.Pod{client, server}, Policies: []*networkingv1.NetworkPolicy{np}}
			p := &policy.Probe{From: client, To: server, Protocol: corev1.ProtocolTCP, Port: 80}
			if got := w.AllowedBy(p, networkingv1.PolicyTypeIngress); got != test.want {
				t.Errorf("oracle: allowed=%t", got)
			}
			if matcherOf(w).allows(w, p, networkingv1.PolicyTypeIngress) == test.want {
				t.Error("cyclonus is right about it")
			}
			if leftOut(w, p, networkingv1.PolicyTypeIngress) != test.name {
				t.Error("it is compared")
			}
		})
	}
}
