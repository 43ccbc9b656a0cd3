// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Opinion contains the permitted results of a connection. It has several bits where a rule that drops and one that rejects have the same place, and
// while a change is under way.
type Opinion uint8

// The bits of an Opinion.
const (
	MayAllow Opinion = 1 << iota
	MayDrop
	MayReject
	mayPass
)

func (o Opinion) String() string {
	var all []string
	for i, name := range []string{"allowed", "dropped", "rejected", "passed"} {
		if o&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return strings.Join(all, " or ")
}

// MayDeny is the Opinion that the connection is not possible.
const MayDeny = MayDrop | MayReject

// baselinePriority is the first tier priority that comes after Kubernetes' policies, unknownTier the priority of a tier that does not exist: the
// rules of its policies that deny or pass come first and deny, the others have no effect.
const (
	baselinePriority = 253
	unknownTier      = 0
)

// systemTiers are the tiers that exist in every cluster.
var systemTiers = map[string]int32{
	crd.EmergencyTier: 50, crd.SecurityOpsTier: 100, crd.NetworkOpsTier: 150, crd.PlatformTier: 200, crd.ApplicationTier: 250, crd.BaselineTier: 253,
}

var opinions = map[crd.RuleAction]Opinion{
	crd.RuleActionAllow: MayAllow, crd.RuleActionDrop: MayDrop, crd.RuleActionReject: MayReject, crd.RuleActionPass: mayPass,
}

// ordered is a rule that matches, with its place in the order and what it decides.
type ordered struct {
	tier     int32
	priority float64
	index    int
	action   Opinion
}

func (o ordered) compare(other ordered) int {
	return cmp.Or(cmp.Compare(o.tier, other.tier), cmp.Compare(o.priority, other.priority), cmp.Compare(o.index, other.index))
}

// antreaPolicy is a policy of either kind. Namespace is empty for a ClusterNetworkPolicy.
type antreaPolicy struct {
	namespace string
	spec      *crd.NetworkPolicySpec
}

func (w *World) antreaPolicies() (all []antreaPolicy) {
	for _, p := range w.ClusterNetworkPolicies {
		all = append(all, antreaPolicy{"", &p.Spec})
	}
	for _, p := range w.AntreaNetworkPolicies {
		all = append(all, antreaPolicy{p.Namespace, &p.Spec})
	}
	return all
}

// tierPriority returns the priority of a tier, and whether it exists.
func (w *World) tierPriority(name string) (priority int32, exists bool) {
	if name == "" {
		name = crd.ApplicationTier
	}
	if priority, ok := systemTiers[name]; ok {
		return priority, true
	}
	for _, tier := range w.Tiers {
		if tier.Name == name {
			return tier.Spec.Priority, true
		}
	}
	return unknownTier, false
}

// Opinion returns what may happen: egress rules at the source and ingress rules at the destination are two decisions, and
// both must allow. Labels are taken from this World, even if the probe was made for another one.
func (w *World) Opinion(p *Probe) Opinion {
	return Between(w, w, p)
}

// Between returns what may happen while one World becomes another by a change that each Node realizes at once.
func Between(before, after *World, p *Probe) Opinion {
	if p.Dialed != "" {
		return before.nodePortOpinion(p) | after.nodePortOpinion(p)
	}
	of := func(end networkingv1.PolicyType) Opinion { return before.OpinionOf(p, end) | after.OpinionOf(p, end) }
	egress, ingress := of(networkingv1.PolicyTypeEgress), of(networkingv1.PolicyTypeIngress)
	denied := egress & MayDeny
	if egress&MayAllow == 0 {
		return denied
	}
	return denied | ingress
}

// OpinionOf returns what the policies of one end decide: of the connection's source (egress) or of its destination
// (ingress). Tiers before baseline come first, then Kubernetes' policies, then the baseline tier; the first rule that
// matches decides. Pass continues with Kubernetes' policies.
func (w *World) OpinionOf(p *Probe, direction networkingv1.PolicyType) Opinion {
	here := *p
	here.From, here.To = w.pod(p.From), w.pod(p.To)
	subject, peer := here.To, here.From
	if direction == networkingv1.PolicyTypeEgress {
		subject, peer = here.From, here.To
	}
	if subject.HostNetwork || direction == networkingv1.PolicyTypeIngress && peer.HostNetwork && peer.Node == subject.Node {
		return MayAllow
	}
	first := w.antreaOpinion(&here, direction, subject, peer, func(tier int32) bool { return tier < baselinePriority })
	if first != 0 && first&mayPass == 0 {
		return first
	}
	return first&^mayPass | w.afterTiers(&here, direction, subject, peer)
}

func (w *World) afterTiers(p *Probe, direction networkingv1.PolicyType, subject, peer *Pod) Opinion {
	if isolated, allowed := w.kubernetesOpinion(p, direction, subject, peer); allowed {
		return MayAllow
	} else if isolated {
		return MayDrop
	}
	last := w.antreaOpinion(p, direction, subject, peer, func(tier int32) bool { return tier >= baselinePriority })
	if last == 0 || last == mayPass {
		return MayAllow
	}
	return last
}

// antreaOpinion returns the action of the first rule that matches. Antrea's documentation leaves open which one of several with the same place
// decides; in this project rules that deny come first, then rules that pass. Of Drop and Reject it may be either.
func (w *World) antreaOpinion(p *Probe, direction networkingv1.PolicyType, subject, peer *Pod, counts func(tier int32) bool) (opinion Opinion) {
	matching := slices.DeleteFunc(w.adminMatching(p, direction, subject, peer), func(o ordered) bool { return !counts(o.tier) })
	for _, policy := range w.antreaPolicies() {
		tier, exists := w.tierPriority(policy.spec.Tier)
		rules := policy.spec.Ingress
		if direction == networkingv1.PolicyTypeEgress {
			rules = policy.spec.Egress
		}
		if !counts(tier) {
			continue
		}
		for i := range rules {
			action := opinions[*rules[i].Action]
			if !exists && action == MayAllow {
				continue
			} else if !exists && action == mayPass {
				action = MayDrop
			}
			if action == mayPass && direction == networkingv1.PolicyTypeEgress && w.namesPortsOfAddresses(policy.namespace, &rules[i]) {
				action = MayDrop
			}
			matches := w.appliesTo(policy, &rules[i], subject) && w.antreaRuleMatches(policy.namespace, &rules[i], direction, subject, peer, p)
			if !matches && appliesToNodePort(policy, &rules[i], p) {
				action, matches = w.atPort(&rules[i], action, subject, peer, p)
			}
			if matches {
				matching = append(matching, ordered{tier, policy.spec.Priority, i, action})
			}
		}
	}
	if len(matching) == 0 {
		return 0
	}
	first := slices.MinFunc(matching, ordered.compare)
	for _, rule := range matching {
		if rule.compare(first) == 0 {
			opinion |= rule.action
		}
	}
	for _, strictest := range []Opinion{MayDeny, mayPass} {
		if opinion&strictest != 0 {
			return opinion & strictest
		}
	}
	return opinion
}

// namesPortsOfAddresses reports whether an egress rule has a name of a port although some of its peers are addresses or names. It cannot be realized as
// it is: one that denies means all ports of these peers, one that passes denies, one that allows does without the name there.
func (w *World) namesPortsOfAddresses(namespace string, rule *crd.Rule) bool {
	return slices.ContainsFunc(rule.Ports, isNamed) && slices.ContainsFunc(rule.To, func(peer crd.NetworkPolicyPeer) bool {
		ofGroup := func(source *crd.GroupSpec) bool { return len(source.IPBlocks) > 0 }
		return peer.IPBlock != nil || peer.FQDN != "" || peer.Group != "" && slices.ContainsFunc(w.sources(namespace, peer.Group), ofGroup)
	})
}

// Realizable reports whether a policy can be realized as it is: its tier exists, no Group that it is applied to has Pods of other Namespaces, and
// names of ports have a meaning.
// Namespace is empty for a ClusterNetworkPolicy.
func (w *World) Realizable(namespace string, spec *crd.NetworkPolicySpec) bool {
	foreign := func(entry crd.AppliedTo) bool {
		return namespace != "" && entry.Group != "" && slices.ContainsFunc(w.Pods, func(pod *Pod) bool {
			return pod.Namespace != namespace && w.groupHas(namespace, entry.Group, pod)
		})
	}
	_, exists := w.tierPriority(spec.Tier)
	names := func(rule crd.Rule) bool { return w.namesPortsOfAddresses(namespace, &rule) }
	return exists && !slices.ContainsFunc(spec.Egress, names) && !w.damagedGroups(namespace, spec) && !slices.ContainsFunc(allAppliedTo(spec), foreign)
}

// IsOfNodes reports whether a ClusterNetworkPolicy is also applied to Nodes, by a ClusterGroup.
func (w *World) IsOfNodes(spec *crd.NetworkPolicySpec) bool {
	return slices.ContainsFunc(allAppliedTo(spec), func(entry crd.AppliedTo) bool {
		return slices.ContainsFunc(w.sources("", entry.Group), func(group *crd.GroupSpec) bool { return group.NodeSelector != nil })
	})
}

// allAppliedTo returns the entries of a policy and of its rules.
func allAppliedTo(spec *crd.NetworkPolicySpec) []crd.AppliedTo {
	entries := spec.AppliedTo
	for _, rule := range slices.Concat(spec.Ingress, spec.Egress) {
		entries = slices.Concat(entries, rule.AppliedTo)
	}
	return entries
}

// appliesTo reports whether a rule applies to a Pod: the policy says to which, or each of its rules does.
func (w *World) appliesTo(policy antreaPolicy, rule *crd.Rule, pod *Pod) bool {
	entries := policy.spec.AppliedTo
	if len(entries) == 0 {
		entries = rule.AppliedTo
	}
	return slices.ContainsFunc(entries, func(entry crd.AppliedTo) bool {
		switch {
		case entry.Group != "":
			own := policy.namespace == "" || policy.namespace == pod.Namespace
			return own && w.groupHas(policy.namespace, entry.Group, pod)
		case entry.ServiceAccount != nil:
			return isOfAccount(entry.ServiceAccount, pod)
		case entry.Service != nil:
			return false
		}
		return w.selected(policy.namespace, entry.NamespaceSelector, entry.PodSelector, pod)
	})
}

func isOfAccount(account *crd.NamespacedName, pod *Pod) bool {
	return !pod.HostNetwork && pod.Namespace == account.Namespace && pod.account() == account.Name
}

// selected evaluates a pair of selectors. Without selector of Namespaces, they are the policy's own, or all of them for an
// object of the cluster.
func (w *World) selected(namespace string, namespaces, pods *metav1.LabelSelector, pod *Pod) bool {
	inNamespace := namespace == "" || pod.Namespace == namespace
	if namespaces != nil {
		inNamespace = matches(namespaces, w.Namespaces[pod.Namespace])
	}
	return !pod.HostNetwork && inNamespace && (pods == nil || matches(pods, pod.Labels))
}

// antreaRuleMatches reports whether one of the peers and one of the ports or protocols match.
func (w *World) antreaRuleMatches(namespace string, rule *crd.Rule, direction networkingv1.PolicyType, subject, peer *Pod, p *Probe) bool {
	peers := rule.From
	if direction == networkingv1.PolicyTypeEgress {
		peers = rule.To
	}
	if direction == networkingv1.PolicyTypeEgress && len(rule.ToServices) > 0 {
		return p.Via.isAmong(rule.ToServices, namespace)
	}
	if len(peers) == 0 {
		return antreaPortMatches(rule, p, true)
	}
	egress := direction == networkingv1.PolicyTypeEgress
	closes := egress && *rule.Action != crd.RuleActionAllow && w.namesPortsOfAddresses(namespace, rule)
	for i := range peers {
		byObject, byAddress := w.antreaPeerMatches(namespace, &peers[i], subject, peer, p)
		// Addresses have no names of ports.
		if byObject && antreaPortMatches(rule, p, true) || byAddress && (closes || antreaPortMatches(rule, p, !egress)) {
			return true
		}
	}
	return false
}

// antreaPeerMatches reports whether a peer selects a Pod or Node as an object, and whether it contains its address. Of names, Pods under rules with
// them have been told all addresses.
func (w *World) antreaPeerMatches(namespace string, peer *crd.NetworkPolicyPeer, subject, pod *Pod, p *Probe) (byObject, byAddress bool) {
	switch {
	case peer.IPBlock != nil:
		return false, inAntreaBlock(peer.IPBlock, pod, p)
	case peer.FQDN != "":
		return false, w.hasName(peer.FQDN, pod)
	case peer.Group != "":
		return w.groupHas(namespace, peer.Group, pod) || w.groupHasNode(namespace, peer.Group, pod), w.groupContains(namespace, peer.Group, pod, p)
	case peer.ServiceAccount != nil:
		return isOfAccount(peer.ServiceAccount, pod), false
	case peer.NodeSelector != nil:
		return w.isNode(peer.NodeSelector, pod), false
	case peer.Namespaces != nil:
		return w.related(peer.Namespaces, subject, pod) && w.selected("", nil, peer.PodSelector, pod), false
	}
	return w.selected(namespace, peer.NamespaceSelector, peer.PodSelector, pod), false
}

// related reports whether the Namespaces of two Pods are the same, or have the same values of labels that both have.
func (w *World) related(by *crd.PeerNamespaces, subject, pod *Pod) bool {
	if by.Match == crd.NamespaceMatchSelf {
		return subject.Namespace == pod.Namespace
	}
	for _, key := range by.SameLabels {
		a, ok := w.Namespaces[subject.Namespace][key]
		b, both := w.Namespaces[pod.Namespace][key]
		if !ok || !both || a != b {
			return false
		}
	}
	return true
}

// isNode reports whether a Pod in the network of its Node has the address of a selected Node.
func (w *World) isNode(selector *metav1.LabelSelector, pod *Pod) bool {
	return pod.HostNetwork && pod.Node != "" && matches(selector, w.NodeLabels[pod.Node])
}

func inAntreaBlock(block *crd.IPBlock, pod *Pod, p *Probe) bool {
	return inBlock(&networkingv1.IPBlock{CIDR: block.CIDR, Except: block.Except}, pod, p)
}
