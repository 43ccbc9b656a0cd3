// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// ClusterIP is a Service that is dialed: a port of it, with one Endpoint. It has no object that groups name.
type ClusterIP struct {
	Namespace, Name string
	IPv4, IPv6      netip.Addr
	Protocol        corev1.Protocol
	Port            uint16
	// Place is the number of the place of the Pod that serves it, at TargetPort.
	Place      int
	TargetPort uint16
	// NodePort is its port at all Nodes; with Local, only Pods of the Node that is dialed serve it (externalTrafficPolicy).
	NodePort uint16
	Local    bool
}

// clusterIPs are the Services that Worlds have; most Worlds have some of them at other Pods.
var clusterIPs = []*ClusterIP{
	newClusterIP(0, corev1.ProtocolTCP, 80, 80), newClusterIP(3, corev1.ProtocolUDP, 443, 8080), newClusterIP(6, corev1.ProtocolTCP, 8080, 81),
	newClusterIP(9, corev1.ProtocolUDP, 80, 80),
}

func newClusterIP(place int, protocol corev1.Protocol, port, target uint16) *ClusterIP {
	return &ClusterIP{
		Namespace: namespaceName(place / podsPerNamespace), Name: fmt.Sprint("dial", place), Protocol: protocol, Port: port, Place: place, TargetPort: target, NodePort: uint16(30000 + place),
		IPv4: netip.AddrFrom4([4]byte{10, 96, 0, byte(10 + place)}), IPv6: netip.MustParseAddr(fmt.Sprintf("fd00:10:96::%x", 10+place)),
	}
}

// nextClusterIPs returns the Services of a World: each one is gone, at another Pod, or as it was.
func (g *Generator) nextClusterIPs() (all []*ClusterIP) {
	for i, service := range clusterIPs {
		if g.chance(15) {
			continue
		}
		if g.last != nil {
			if last := slices.IndexFunc(g.last.ClusterIPs, func(c *ClusterIP) bool { return c.Name == service.Name }); last >= 0 {
				service = g.last.ClusterIPs[last]
			}
		}
		if g.chance(30) {
			moved := *clusterIPs[i]
			moved.Place = g.rng.IntN(namespaces * podsPerNamespace)
			service = &moved
		}
		all = append(all, service)
	}
	return all
}

// isAmong reports whether a rule names the Service. An object of a Namespace means its own without another one.
func (c *ClusterIP) isAmong(services []crd.PeerService, namespace string) bool {
	return c != nil && slices.ContainsFunc(services, func(s crd.PeerService) bool {
		if s.Namespace == "" {
			s.Namespace = namespace
		}
		return s.Namespace == c.Namespace && s.Name == c.Name
	})
}

// constantNames are the names of all Worlds.
var constantNames = map[string][]int{"a.test": {1, 6}, "b.test": {3}, "x.sub.test": {8, 3}, "y.sub.test": {5}}

// fqdns are names and patterns that rules have.
var fqdns = []string{"a.test", "B.test.", "*.test", "*.sub.test", "x.*", "nothing.test", "test"}

// freshName is a name that no World before this one has: no agent has resolved it.
func (g *Generator) freshName() string { return fmt.Sprintf("n%d.fresh", g.set) }

// fqdn returns a name or a pattern, in half of the cases or more of the fresh name alone.
func (g *Generator) fqdn() string {
	fresh := g.freshName()
	return pick(g.rng, append(fqdns[:len(fqdns):len(fqdns)], fresh, fresh, fresh, strings.ToUpper(fresh)+".", strings.TrimSuffix(fresh, "fresh")+"*", "*"+fresh, "n*"+fresh[1:]+"*"))
}

// addNames gives a World the constant names, its fresh one, and names of earlier Worlds that policies still have; most of these have other places.
func (g *Generator) addNames(w *World) {
	w.Names = maps.Clone(constantNames)
	if g.last != nil {
		for _, name := range slices.Sorted(maps.Keys(g.last.Names)) {
			if constantNames[name] != nil || !w.hasRuleWith(name) {
				continue
			}
			if w.Names[name] = g.last.Names[name]; g.chance(75) {
				w.Names[name] = g.places(w)
			}
		}
	}
	w.Names[g.freshName()] = g.places(w)
}

func (g *Generator) places(w *World) []int {
	return []int{g.rng.IntN(len(w.Pods)), g.rng.IntN(len(w.Pods)), g.rng.IntN(len(w.Pods))}
}

// TTL returns the TTL in seconds of a name's addresses. The addresses of names that change expire at once: the next answer replaces them.
func TTL(name string) uint32 {
	if constantNames[name] == nil {
		return 0
	}
	return 3600
}

// hasRuleWith reports whether a rule stands for a name.
func (w *World) hasRuleWith(name string) bool {
	is := func(pattern string) bool { return nameMatches(pattern, name) }
	for _, p := range w.antreaPolicies() {
		for _, rule := range p.spec.Egress {
			if slices.ContainsFunc(rule.To, func(peer crd.NetworkPolicyPeer) bool { return is(peer.FQDN) }) {
				return true
			}
		}
	}
	for _, p := range w.AdminPolicies {
		for _, rule := range p.Egress {
			if slices.ContainsFunc(rule.Peers, func(peer AdminPeer) bool { return slices.ContainsFunc(peer.Names, is) }) {
				return true
			}
		}
	}
	return false
}

// hasName reports whether one of the names that a pattern stands for has the address of a Pod. '*' is any text.
func (w *World) hasName(pattern string, pod *Pod) bool {
	for name, places := range w.Names {
		if !nameMatches(pattern, name) {
			continue
		}
		if slices.ContainsFunc(places, func(place int) bool { return place < len(w.Pods) && w.Pods[place].IPv4 == pod.IPv4 }) {
			return true
		}
	}
	return false
}

// nameMatches compares without case and without a dot at the end of the pattern.
func nameMatches(pattern, name string) bool {
	before, after, wild := strings.Cut(strings.TrimSuffix(strings.ToLower(pattern), "."), "*")
	if !wild {
		return before == name
	}
	if !strings.HasPrefix(name, before) {
		return false
	}
	for rest := name[len(before):]; ; rest = rest[1:] {
		if nameMatches(after, rest) {
			return true
		}
		if rest == "" {
			return false
		}
	}
}

// Askers returns the Pods to which an egress rule with a name is applied: they learn addresses from DNS.
func (w *World) Askers() (pods []*Pod) {
	for _, pod := range w.Pods {
		for _, p := range w.antreaPolicies() {
			if slices.ContainsFunc(p.spec.Egress, func(rule crd.Rule) bool { return hasNames(&rule) && w.mayMatch(p, &rule) && w.appliesTo(p, &rule, pod) }) {
				pods = append(pods, pod)
				break
			}
		}
		if slices.ContainsFunc(w.AdminPolicies, func(p *AdminPolicy) bool { return p.hasNames() && w.isAmong(&p.Subject, pod) }) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// mayMatch reports whether an egress rule is more than one that allows and has nothing but names of ports where there are only addresses: no agent
// has such a rule.
func (w *World) mayMatch(policy antreaPolicy, rule *crd.Rule) bool {
	onlyNames := len(rule.Protocols) == 0 && !slices.ContainsFunc(rule.Ports, func(port crd.NetworkPolicyPort) bool { return !isNamed(port) })
	return *rule.Action != crd.RuleActionAllow || !onlyNames || !w.namesPortsOfAddresses(policy.namespace, rule)
}

func hasNames(rule *crd.Rule) bool {
	return slices.ContainsFunc(rule.To, func(peer crd.NetworkPolicyPeer) bool { return peer.FQDN != "" })
}

// NamedAddresses is the number of addresses, of both IP versions, that the names in the policy of WithNames have.
const NamedAddresses = 2 * (2 + 1)

// WithNames returns a World with another policy, which is before all others and denies connections to names. It is the same in all Worlds.
func (w *World) WithNames() *World {
	next := *w
	drop, reject := crd.RuleActionDrop, crd.RuleActionReject
	next.Names = constantNames
	next.ClusterNetworkPolicies = append(slices.Clone(w.ClusterNetworkPolicies), &crd.ClusterNetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "names", UID: "names"},
		Spec: crd.NetworkPolicySpec{Tier: "t0", Priority: 0.5, AppliedTo: []crd.AppliedTo{{NamespaceSelector: &metav1.LabelSelector{}}}, Egress: []crd.Rule{
			{Name: "name", Action: &drop, To: []crd.NetworkPolicyPeer{{FQDN: "a.test"}}},
			{Name: "pattern", Action: &reject, To: []crd.NetworkPolicyPeer{{FQDN: "y.*"}}},
		}},
	})
	return &next
}

// DNSPort is the port of DNS servers, which every Pod may ask.
const DNSPort = 53

const queriesName = "queries"

// queries is the policy that lets all Pods ask the servers of DNS, which are in the network of the Nodes. Nothing precedes it.
func (g *Generator) queries() *crd.ClusterNetworkPolicy {
	allow, udp := crd.RuleActionAllow, corev1.ProtocolUDP
	return &crd.ClusterNetworkPolicy{ObjectMeta: g.meta("", "", queriesName), Spec: crd.NetworkPolicySpec{
		Tier: "t0", Priority: 0.5, AppliedTo: []crd.AppliedTo{{NamespaceSelector: &metav1.LabelSelector{}}},
		Egress: []crd.Rule{{Name: "queries", Action: &allow, To: []crd.NetworkPolicyPeer{{IPBlock: &crd.IPBlock{CIDR: "192.168.77.0/24"}}},
			Ports: []crd.NetworkPolicyPort{{Protocol: &udp, Port: ptr.To(intstr.FromInt32(DNSPort))}}}},
	}}
}
