// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Rules of ClusterNetworkPolicies that are applied to a Service decide, at the Node whose NodePort a client outside of the cluster dials, about
// its own address, wherever the Endpoint is. If that is on another Node, its policies see the gateway of the first one: the client's address is
// translated on the way.

// outside are clients outside of the cluster.
var outside = []*Pod{
	{Name: "outside-0", HostNetwork: true, IPv4: netip.MustParseAddr("198.51.100.7"), IPv6: netip.MustParseAddr("2001:db8::7")},
	{Name: "outside-1", HostNetwork: true, IPv4: netip.MustParseAddr("203.0.113.9"), IPv6: netip.MustParseAddr("2001:db8:1::9")},
}

// outsideBlocks divide them. The last two have the addresses that clients are translated to.
var outsideBlocks = []crd.IPBlock{
	{CIDR: "198.51.100.0/24"}, {CIDR: "2001:db8::/48"}, {CIDR: "203.0.113.9/32"}, {CIDR: "2001:db8:1::9/128"}, {CIDR: "0.0.0.0/0"}, {CIDR: "::/0"},
	{CIDR: "0.0.0.0/0", Except: []string{"198.51.100.0/25"}}, {CIDR: "2001:db8::/32", Except: []string{"2001:db8:1::/48"}},
	{CIDR: "10.10.0.0/16"}, {CIDR: "fd00:10:10::/48"},
}

// nodePortPolicy begins the names of policies that are applied to Services.
const nodePortPolicy = "nodeport"

// WithNodePorts makes the Services of Worlds have NodePorts, with clients outside of the cluster, and policies that are applied to them. They have
// random numbers of their own.
func (g *Generator) WithNodePorts(rng *rand.Rand) *Generator {
	g.nodePorts = &nodePortGenerator{rng}
	return g
}

type nodePortGenerator struct{ *rand.Rand }

// add adds NodePorts and policies to a World that follows another one, or nil.
func (g *nodePortGenerator) add(set int, w, last *World) {
	for i, service := range w.ClusterIPs {
		if g.IntN(10) == 0 {
			changed := *service
			changed.Local = !changed.Local
			w.ClusterIPs[i] = &changed
		}
	}
	for i := range 3 {
		name := fmt.Sprint(nodePortPolicy, i)
		var policy *crd.ClusterNetworkPolicy
		if last != nil {
			for _, p := range last.ClusterNetworkPolicies {
				if p.Name == name {
					policy = p
				}
			}
		}
		switch n := g.IntN(10); {
		case policy == nil && n < 3 || n == 9:
			continue
		case policy == nil || n < 2:
			policy = &crd.ClusterNetworkPolicy{Spec: g.spec()}
			policy.Name, policy.UID = name, groupUID(fmt.Sprint(nodePortPolicy, set), name)
		case n < 5:
			policy = copied(policy)
			policy.Generation++
			policy.Spec.Ingress[g.IntN(len(policy.Spec.Ingress))].Action = g.action(policy.Spec.Tier)
		case n < 7:
			edited := copied(policy)
			edited.Generation++
			edited.Spec = g.spec()
			policy = edited
		}
		w.ClusterNetworkPolicies = append(w.ClusterNetworkPolicies, policy)
	}
}

func (g *nodePortGenerator) action(tier string) *crd.RuleAction {
	actions := []crd.RuleAction{crd.RuleActionAllow, crd.RuleActionDrop, crd.RuleActionReject, crd.RuleActionReject, crd.RuleActionPass}
	if tier == crd.BaselineTier {
		actions = actions[:len(actions)-1]
	}
	action := pick(g.Rand, actions)
	return &action
}

// spec returns a policy for Services, which may also name one that does not exist.
func (g *nodePortGenerator) spec() crd.NetworkPolicySpec {
	spec := crd.NetworkPolicySpec{
		Tier:     pick(g.Rand, []string{crd.EmergencyTier, crd.ApplicationTier, crd.ApplicationTier, crd.BaselineTier}),
		Priority: pick(g.Rand, []float64{1, 1.001, 5, 10000}),
	}
	services := func() (entries []crd.AppliedTo) {
		for range 1 + g.IntN(2) {
			s := pick(g.Rand, clusterIPs)
			entries = append(entries, crd.AppliedTo{Service: &crd.NamespacedName{Namespace: s.Namespace, Name: s.Name}})
		}
		if g.IntN(5) == 0 {
			entries[0].Service.Name = "nothing"
		}
		return entries
	}
	perRule := g.IntN(3) == 0
	if !perRule {
		spec.AppliedTo = services()
	}
	for i := range 1 + g.IntN(3) {
		rule := crd.Rule{Name: fmt.Sprint("external", i), Action: g.action(spec.Tier)}
		for range g.IntN(3) {
			block := pick(g.Rand, outsideBlocks)
			rule.From = append(rule.From, crd.NetworkPolicyPeer{IPBlock: &block})
		}
		g.addPorts(&rule)
		if perRule {
			rule.AppliedTo = services()
		}
		spec.Ingress = append(spec.Ingress, rule)
	}
	return spec
}

// outsidePorts are the ports of Endpoints, which rules are about, of the Services, and one of Nodes.
var outsidePorts = []int32{80, 80, 81, 8080, 8080, 443, 30003}

// addPorts adds ports or protocols to half of the rules.
func (g *nodePortGenerator) addPorts(rule *crd.Rule) {
	if g.IntN(2) == 0 {
		return
	}
	for range 1 + g.IntN(2) {
		var port crd.NetworkPolicyPort
		if g.IntN(4) > 0 {
			port.Protocol = ptr.To(pick(g.Rand, protocols))
		}
		first := intstr.FromInt32(pick(g.Rand, outsidePorts))
		switch port.Port = &first; g.IntN(8) {
		case 0:
			port.Port = nil
		case 1:
			port.Port = ptr.To(intstr.FromString(pick(g.Rand, names)))
		case 2, 3:
			port.EndPort = ptr.To(first.IntVal + pick(g.Rand, []int32{0, 1, 10000}))
		case 4:
			port.SourcePort, port.SourceEndPort = ptr.To(pick(g.Rand, []int32{0, middlePort})), ptr.To[int32](65535)
		}
		rule.Ports = append(rule.Ports, port)
	}
	if g.IntN(6) == 0 {
		rule.Protocols = []crd.NetworkPolicyProtocol{{ICMP: &crd.ICMPProtocol{}}}
	}
}

// probes returns connections from outside, of each IP version, to each Service at the NodePort of each Node.
func (g *nodePortGenerator) probes(w *World) (probes []*Probe) {
	for _, via := range w.ClusterIPs {
		for i := range nodes {
			for _, six := range []bool{false, true} {
				probes = append(probes, &Probe{
					From: pick(g.Rand, outside), To: w.Pods[via.Place], IPv6: six, Protocol: via.Protocol, Port: via.TargetPort, Via: via, Dialed: nodeName(i),
				})
			}
		}
	}
	return probes
}

// IsOfServices reports whether a ClusterNetworkPolicy is applied to Services: it is on all Nodes.
func IsOfServices(spec *crd.NetworkPolicySpec) bool {
	return slices.ContainsFunc(allAppliedTo(spec), func(entry crd.AppliedTo) bool { return entry.Service != nil })
}

func isNodePortPolicy(name string) bool { return strings.HasPrefix(name, nodePortPolicy) }

// appliesToNodePort reports whether a rule applies to the Service whose NodePort is dialed.
func appliesToNodePort(policy antreaPolicy, rule *crd.Rule, p *Probe) bool {
	return p.Dialed != "" && slices.ContainsFunc(slices.Concat(policy.spec.AppliedTo, rule.AppliedTo), func(entry crd.AppliedTo) bool {
		return entry.Service != nil && entry.Service.Namespace == p.Via.Namespace && entry.Service.Name == p.Via.Name
	})
}

// atPort returns what a rule that applies to the Service of a NodePort decides, if it matches. Its ports are ports of Endpoints. Names of ports have
// no meaning there: without these, a rule that allows allows less, and others drop everything.
func (w *World) atPort(rule *crd.Rule, action Opinion, server, client *Pod, p *Probe) (decides Opinion, matches bool) {
	numbers := *rule
	numbers.Ports = slices.DeleteFunc(slices.Clone(rule.Ports), isNamed)
	switch {
	case len(numbers.Ports) == len(rule.Ports):
	case action != MayAllow:
		return MayDrop, true
	case len(numbers.Ports)+len(numbers.Protocols) == 0:
		return action, false
	}
	return action, w.antreaRuleMatches("", &numbers, networkingv1.PolicyTypeIngress, server, client, p)
}

func isNamed(port crd.NetworkPolicyPort) bool {
	return port.Port != nil && port.Port.Type == intstr.String
}

// nodePortOpinion returns what may happen to a connection to a NodePort. A Node without an Endpoint drops it if only its own Endpoints serve it.
func (w *World) nodePortOpinion(p *Probe) Opinion {
	server := w.pod(p.To)
	switch {
	case server.Node == p.Dialed:
		return w.OpinionOf(p, networkingv1.PolicyTypeIngress)
	case p.Via.Local:
		return MayDrop
	}
	first := w.atNodePort(p)
	if first&MayAllow == 0 {
		return first
	}
	there := *p
	there.Dialed, there.From = "", gateway(p.Dialed)
	return first&MayDeny | w.OpinionOf(&there, networkingv1.PolicyTypeIngress)
}

// atNodePort returns what the rules for Services decide where no Pod of the Node serves.
func (w *World) atNodePort(p *Probe) Opinion {
	noPod := &Pod{HostNetwork: true}
	for _, baseline := range []bool{false, true} {
		opinion := w.antreaOpinion(p, networkingv1.PolicyTypeIngress, noPod, p.From, func(tier int32) bool { return baseline == (tier >= baselinePriority) })
		if opinion != 0 && opinion&mayPass == 0 {
			return opinion
		}
	}
	return MayAllow
}

// gateway returns the gateway of a Node, whose addresses are the first ones of the Node's Pods.
func gateway(node string) *Pod {
	number := strings.TrimPrefix(node, "node-")
	return &Pod{
		Name: "gateway", Node: node, HostNetwork: true,
		IPv4: netip.MustParseAddr("10.10." + number + ".1"), IPv6: netip.MustParseAddr("fd00:10:10:" + number + "::1"),
	}
}
