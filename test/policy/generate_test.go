// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

func TestGeneratorIsReproducibleAndVaried(t *testing.T) {
	a, b := NewGenerator(rand.New(rand.NewPCG(2, 2))), NewGenerator(rand.New(rand.NewPCG(2, 2)))
	allowed, denied := 0, 0
	for range 50 {
		w := a.Next()
		require.Equal(t, w, b.Next())
		probes := a.Probes(w)
		require.Len(t, b.Probes(w), len(probes))
		for _, p := range probes {
			if w.Allowed(p) {
				allowed++
			} else {
				denied++
			}
		}
	}
	require.Greater(t, allowed, 100)
	require.Greater(t, denied, 100)
}

// Each feature by which a fault was once missed is so frequent that a few dozen sets have it.
func TestTurnoverIsVaried(t *testing.T) {
	a, b := NewGeneratorWithTurnover(rand.New(rand.NewPCG(2, 2))), NewGeneratorWithTurnover(rand.New(rand.NewPCG(2, 2)))
	seen := map[string]int{}
	var last *World
	for range 40 {
		w := a.Next()
		require.Equal(t, w, b.Next())
		require.LessOrEqual(t, len(w.Policies), maxPolicies)
		addresses := map[any]*Pod{}
		for _, pod := range w.Pods {
			require.NotContains(t, addresses, pod.IPv4)
			addresses[pod.IPv4] = pod
			seen["name with two numbers"] += sameNames(pod.Ports, pod.SidecarPorts)
			seen["ports of init containers"] += len(pod.InitPorts)
		}
		for _, pod := range w.Ended {
			require.NotEqual(t, addresses[pod.IPv4].UID(), pod.UID())
			seen[string(pod.Phase)]++
		}
		seenPolicies(seen, last, w)
		for _, p := range a.Probes(w) {
			if p.Port == 65535 {
				seen["probe of the last port"]++
			}
			if p.To.HostNetwork || p.From.HostNetwork {
				seen["probe of a Node's Pod"]++
			}
		}
		b.Probes(w)
		last = w
	}
	for _, what := range []string{
		"name with two numbers", "ports of init containers", "Succeeded", "Failed", "edited", "empty egress without types", "endPort 65535",
		"probe of the last port", "probe of a Node's Pod",
	} {
		require.Greater(t, seen[what], 10, what)
	}
}

func sameNames(a, b []corev1.ContainerPort) (n int) {
	for _, port := range a {
		if slices.ContainsFunc(b, func(p corev1.ContainerPort) bool {
			return p.Name == port.Name && p.Protocol == port.Protocol && p.ContainerPort != port.ContainerPort
		}) {
			n++
		}
	}
	return n
}

func seenPolicies(seen map[string]int, last, w *World) {
	for _, p := range w.Policies {
		if last != nil && slices.ContainsFunc(last.Policies, func(o *networkingv1.NetworkPolicy) bool { return o != p && o.UID == p.UID }) {
			seen["edited"]++
		}
		if p.Spec.PolicyTypes == nil && p.Spec.Egress != nil && len(p.Spec.Egress) == 0 {
			seen["empty egress without types"]++
		}
		var ports []networkingv1.NetworkPolicyPort
		for _, rule := range p.Spec.Ingress {
			ports = append(ports, rule.Ports...)
		}
		for _, rule := range p.Spec.Egress {
			ports = append(ports, rule.Ports...)
		}
		for _, port := range ports {
			if port.EndPort != nil && *port.EndPort == 65535 {
				seen["endPort 65535"]++
			}
		}
	}
}

// Worlds with Antrea's policies are reproducible, and 40 of them have each feature often enough, on average of some seeds: of one, it is chance.
func TestAntreaIsVaried(t *testing.T) {
	const seeds = 6
	seen := map[string]int{}
	defer func() { t.Log(seen) }()
	for seed := range uint64(seeds) {
		seenOfSeed(t, seen, seed)
	}
	for _, what := range []string{
		"a name decides", "a fresh name decides", "the second of sameLabels decides", "a policy of the Kubernetes network policy API decides",
		"Pods of child groups decide", "changed exceptions decide", "an edit that cannot be read would decide",
		"Allow", "Drop", "Reject", "Pass", "toServices", "names", "asker", "missing tier", "baseline", "equal places", "allowed", "dropped", "rejected",
		"dialed allowed", "dialed dropped", "dialed rejected",
	} {
		require.Greater(t, seen[what], 7*seeds, what)
	}
	for _, what := range []string{
		"former addresses would decide", "a code of ICMP decides", "a source port of SCTP decides", "a name in such a policy decides", "Pass of an AdminNetworkPolicy decides",
	} {
		require.Greater(t, seen[what], 2*seeds, what)
	}
	rejected := slices.DeleteFunc(slices.Collect(maps.Keys(seen)), func(what string) bool { return !strings.HasPrefix(what, rejectedThere) })
	require.Len(t, rejected, 16, "%v", seen)
	for _, what := range rejected {
		require.Greater(t, seen[what], seeds, what)
	}
}

const rejectedThere = "rejected on the way to a Service"

// rejectedDialed describes how a connection to a Service is rejected.
func rejectedDialed(w *World, p *Probe) string {
	return fmt.Sprintf("%s: by the client's rules %t, one Node %t, %s, IPv6 %t", rejectedThere, w.OpinionOf(p, networkingv1.PolicyTypeEgress)&MayAllow == 0, p.From.Node == p.To.Node, p.Protocol, p.IPv6)
}

func seenOfSeed(t *testing.T, seen map[string]int, seed uint64) {
	newGenerator := func() *Generator {
		return NewAntreaGenerator(NewGeneratorWithTurnover(rand.New(rand.NewPCG(seed, 2))))
	}
	a, b := newGenerator(), newGenerator()
	var last *World
	for range 40 {
		w := a.Next()
		require.Equal(t, w, b.Next())
		seenAntrea(seen, w)
		others := alternatives(last, w)
		for i, p := range a.Probes(w) {
			opinion := w.Opinion(p)
			for bit, name := range map[Opinion]string{MayAllow: "allowed", MayDrop: "dropped", MayReject: "rejected"} {
				if opinion == bit {
					seen[name]++
				}
			}
			if i%3 == 0 { // because it judges each probe a dozen times
				for what, other := range others {
					if other.Opinion(p)&opinion == 0 {
						seen[what]++
					}
				}
			}
			if p.Via != nil {
				seen["dialed "+opinion.String()]++
				if opinion == MayReject {
					seen[rejectedDialed(w, p)]++
				}
			}
		}
		b.Probes(w)
		last = w
	}
}

// alternatives returns what a World would be without something: a probe that is then treated differently depends on it.
func alternatives(last, w *World) map[string]*World {
	others := map[string]*World{}
	for what, without := range map[string]func(*World){
		"a name decides":       func(w *World) { w.Names = nil },
		"a fresh name decides": func(w *World) { w.Names = constantNames },
		"a policy of the Kubernetes network policy API decides": func(w *World) { w.AdminPolicies = nil },
		"the second of sameLabels decides":                      firstOfSameLabels,
		"Pods of child groups decide":                           withoutPodsOfChildren,
		"changed exceptions decide":                             func(w *World) { formerExceptions(last, w) },
		"an edit that cannot be read would decide":              withoutDamaged,
		"former addresses would decide":                         func(w *World) { formerAddresses(last, w) },
		"a code of ICMP decides":                                func(w *World) { w.editRules(withoutCodes) },
		"a source port of SCTP decides":                         func(w *World) { w.editRules(withoutSourcesOfSCTP) },
		"a name in such a policy decides":                       func(w *World) { w.editAdmin(withoutNames) },
		"Pass of an AdminNetworkPolicy decides":                 func(w *World) { w.editAdmin(allowForPass) },
	} {
		other := *w
		without(&other)
		others[what] = &other
	}
	return others
}

// formerAddresses adds to names the addresses that they had in the last World.
func formerAddresses(last, w *World) {
	if last == nil {
		return
	}
	w.Names = maps.Clone(w.Names)
	for name, places := range w.Names {
		w.Names[name] = slices.Concat(places, last.Names[name])
	}
}

// editRules replaces the rules of Antrea's policies.
func (w *World) editRules(edit func(*crd.Rule)) {
	each := func(spec *crd.NetworkPolicySpec) {
		for _, rules := range [][]crd.Rule{spec.Ingress, spec.Egress} {
			for i := range rules {
				edit(&rules[i])
			}
		}
	}
	w.ClusterNetworkPolicies, w.AntreaNetworkPolicies = slices.Clone(w.ClusterNetworkPolicies), slices.Clone(w.AntreaNetworkPolicies)
	for i, p := range w.ClusterNetworkPolicies {
		w.ClusterNetworkPolicies[i] = copied(p)
		each(&w.ClusterNetworkPolicies[i].Spec)
	}
	for i, p := range w.AntreaNetworkPolicies {
		w.AntreaNetworkPolicies[i] = copied(p)
		each(&w.AntreaNetworkPolicies[i].Spec)
	}
}

func withoutCodes(rule *crd.Rule) {
	for _, protocol := range rule.Protocols {
		protocol.ICMP.ICMPCode = nil
	}
}

func withoutSourcesOfSCTP(rule *crd.Rule) {
	for i := range rule.Ports {
		if port := &rule.Ports[i]; port.Protocol != nil && *port.Protocol == corev1.ProtocolSCTP {
			port.SourcePort = nil
		}
	}
}

// editAdmin replaces the rules of the Kubernetes network policy API.
func (w *World) editAdmin(edit func(kind string, rule *AdminRule)) {
	w.AdminPolicies = slices.Clone(w.AdminPolicies)
	for i, p := range w.AdminPolicies {
		next := copied(p)
		for _, rules := range [][]AdminRule{next.Ingress, next.Egress} {
			for i := range rules {
				edit(p.Kind, &rules[i])
			}
		}
		w.AdminPolicies[i] = next
	}
}

func withoutNames(_ string, rule *AdminRule) {
	for i := range rule.Peers {
		rule.Peers[i].Names = nil
	}
}

func allowForPass(kind string, rule *AdminRule) {
	if kind == AdminKind && rule.Action == mayPass {
		rule.Action = MayAllow
	}
}

// withoutPodsOfChildren takes the children that select Pods out of all groups.
func withoutPodsOfChildren(w *World) {
	w.ClusterGroups, w.Groups = slices.Clone(w.ClusterGroups), slices.Clone(w.Groups)
	for i, group := range w.ClusterGroups {
		w.ClusterGroups[i] = copied(group)
		w.ClusterGroups[i].Spec.ChildGroups = w.childrenWithoutPods("", group.Spec.ChildGroups)
	}
	for i, group := range w.Groups {
		w.Groups[i] = copied(group)
		w.Groups[i].Spec.ChildGroups = w.childrenWithoutPods(group.Namespace, group.Spec.ChildGroups)
	}
}

func (w *World) childrenWithoutPods(namespace string, children []crd.ClusterGroupReference) (left []crd.ClusterGroupReference) {
	for _, child := range children {
		if spec := w.group(namespace, string(child)); spec == nil || spec.IPBlocks != nil || spec.NodeSelector != nil {
			left = append(left, child)
		}
	}
	if len(children) > 0 && len(left) == 0 {
		left = []crd.ClusterGroupReference{"none"}
	}
	return left
}

// formerExceptions gives groups whose blocks differ from the last World's in their exceptions only the last World's.
func formerExceptions(last, w *World) {
	if last == nil {
		return
	}
	former := func(namespace, name string, blocks []crd.IPBlock) []crd.IPBlock {
		if spec := last.group(namespace, name); spec != nil && slices.EqualFunc(spec.IPBlocks, blocks, func(a, b crd.IPBlock) bool { return a.CIDR == b.CIDR }) {
			return spec.IPBlocks
		}
		return blocks
	}
	w.ClusterGroups, w.Groups = slices.Clone(w.ClusterGroups), slices.Clone(w.Groups)
	for i, group := range w.ClusterGroups {
		w.ClusterGroups[i] = copied(group)
		w.ClusterGroups[i].Spec.IPBlocks = former("", group.Name, group.Spec.IPBlocks)
	}
	for i, group := range w.Groups {
		w.Groups[i] = copied(group)
		w.Groups[i].Spec.IPBlocks = former(group.Namespace, group.Name, group.Spec.IPBlocks)
	}
}

// withoutDamaged takes out the policies and groups whose last edit cannot be read.
func withoutDamaged(w *World) {
	damaged := func(uid types.UID) bool { return w.Damaged[uid] != 0 }
	w.ClusterNetworkPolicies = slices.DeleteFunc(slices.Clone(w.ClusterNetworkPolicies), func(p *crd.ClusterNetworkPolicy) bool { return damaged(p.UID) })
	w.AntreaNetworkPolicies = slices.DeleteFunc(slices.Clone(w.AntreaNetworkPolicies), func(p *crd.NetworkPolicy) bool { return damaged(p.UID) })
	w.ClusterGroups = slices.DeleteFunc(slices.Clone(w.ClusterGroups), func(g *crd.ClusterGroup) bool { return damaged(g.UID) })
	w.Groups = slices.DeleteFunc(slices.Clone(w.Groups), func(g *crd.Group) bool { return damaged(g.UID) })
}

func firstOfSameLabels(w *World) {
	policies := w.ClusterNetworkPolicies
	w.ClusterNetworkPolicies = nil
	for _, p := range policies {
		p := copied(p)
		for _, rule := range slices.Concat(p.Spec.Ingress, p.Spec.Egress) {
			for _, peer := range slices.Concat(rule.From, rule.To) {
				if peer.Namespaces != nil && len(peer.Namespaces.SameLabels) > 0 {
					peer.Namespaces.SameLabels = []string{slices.Min(peer.Namespaces.SameLabels)}
				}
			}
		}
		w.ClusterNetworkPolicies = append(w.ClusterNetworkPolicies, p)
	}
}

func seenAntrea(seen map[string]int, w *World) {
	seen["asker"] += len(w.Askers())
	places := map[[2]any]bool{}
	for _, p := range w.antreaPolicies() {
		tier, exists := w.tierPriority(p.spec.Tier)
		if !exists {
			seen["missing tier"]++
		}
		if tier >= baselinePriority {
			seen["baseline"]++
		}
		place := [2]any{tier, p.spec.Priority}
		if places[place] {
			seen["equal places"]++
		}
		places[place] = true
		for _, rule := range slices.Concat(p.spec.Ingress, p.spec.Egress) {
			seen[string(*rule.Action)]++
			seen["toServices"] += len(rule.ToServices)
			if hasNames(&rule) {
				seen["names"]++
			}
		}
	}
}
