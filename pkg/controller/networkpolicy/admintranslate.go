// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// translate reads a policy of the Kubernetes network policy API. As the API demands of a peer that cannot be read, parts that
// cannot be read close: a rule that allows loses the part, any other rule denies all that the part may mean. Pass becomes
// Deny, because without it a lower rule might allow what the next tier would deny.
func (a *adminPolicy) translate() *translation {
	priority, tier := float64(a.priority), a.tier
	t := &translation{priority: &priority, tierPriority: &tier}
	t.doubt(a.doubts)
	if a.misplaced != nil {
		t.cannotRead("spec.tier: ", a.misplaced)
	}
	subject, err := a.subjectSelector()
	if err != nil {
		subject = allPods
		t.cannotRead("spec.subject: ", fmt.Errorf("%w: the rules that deny apply to all Pods", err))
	}
	t.applied = []groupReference{anonymous(subject)}
	doubtful := a.misplaced != nil || err != nil
	if a.ofAll() && len(a.rules) == 0 {
		// The rules may be in what could not be read.
		t.denyAll(controlplane.DirectionIn)
		t.denyAll(controlplane.DirectionOut)
	}
	for i := range a.rules {
		r := adminReader{adminRule: &a.rules[i], out: t, portsField: a.portsField}
		r.incomplete = a.ofRule(r.side(), r.index)
		r.doubtful = doubtful || r.incomplete
		r.read()
	}
	return t
}

// denyAll adds a rule that denies everything.
func (t *translation) denyAll(direction controlplane.Direction) {
	drop := controlplane.RuleActionDrop
	rule := controlplane.NetworkPolicyRule{Direction: direction, Action: &drop}
	*peersOf(&rule) = controlplane.NetworkPolicyPeer{IPBlocks: everywhere}
	t.rules = append(t.rules, rule)
}

// peersOf returns the peers of a rule.
func peersOf(rule *controlplane.NetworkPolicyRule) *controlplane.NetworkPolicyPeer {
	if rule.Direction == controlplane.DirectionOut {
		return &rule.To
	}
	return &rule.From
}

func (a *adminPolicy) subjectSelector() (groupSelector, error) {
	switch {
	case a.subject.Namespaces != nil && a.subject.Pods != nil:
		return groupSelector{}, errOneField
	case a.subject.Namespaces != nil:
		return podsOfNamespaces(a.subject.Namespaces)
	case a.subject.Pods != nil:
		return newGroupSelector("", &a.subject.Pods.NamespaceSelector, &a.subject.Pods.PodSelector)
	}
	return groupSelector{}, errNoKnownField
}

// adminReader reads one rule.
type adminReader struct {
	*adminRule
	out *translation
	// doubtful means that the policy's place or subject, or the rule, is not known; incomplete that any field of the rule may lack a part.
	doubtful, incomplete bool
	portsField           string
}

// side is the field of the spec with the rule.
func (r *adminRule) side() string {
	if r.direction == controlplane.DirectionOut {
		return "egress"
	}
	return "ingress"
}

func (r *adminReader) read() {
	place := fmt.Sprintf("spec.%s[%d].", r.side(), r.index)
	if r.noAction != nil {
		r.out.cannotRead(place+"action: ", r.noAction)
	}
	allows := r.action == controlplane.RuleActionAllow
	services, err := r.services(place)
	unknownPorts := err != nil || r.incomplete
	if unknownPorts && !allows {
		services = nil
	}
	peer, err := r.peer(place)
	unknownPeers := err != nil || r.incomplete
	action := r.action
	if unknownPeers && !allows {
		peer = r.out.everything(r.direction, services)
	}
	if (unknownPeers || unknownPorts || r.doubtful) && action == controlplane.RuleActionPass {
		action = controlplane.RuleActionDrop
	}
	if allows && (r.doubtful || emptyPeer(&peer) || unknownPorts && len(services) == 0) {
		return
	}
	rule := controlplane.NetworkPolicyRule{Direction: r.direction, Services: services, Priority: int32(r.index), Action: &action, Name: r.name}
	*peersOf(&rule) = peer
	r.out.rules = append(r.out.rules, rule)
}

// services returns the ports that can be read; with an error, these are not all.
func (r *adminReader) services(place string) (services []controlplane.Service, err error) {
	for i := range r.ports {
		if port := &r.ports[i]; port.err == nil {
			services = append(services, port.service)
		} else {
			err = port.err
			r.out.cannotRead(fmt.Sprintf("%s%s[%d]: ", place, r.portsField, i), err)
		}
	}
	return services, err
}

// peer returns the peers that can be read; with an error, these are not all.
func (r *adminReader) peer(place string) (out controlplane.NetworkPolicyPeer, err error) {
	field := "from"
	if r.direction == controlplane.DirectionOut {
		field = "to"
	}
	if len(r.peers) == 0 {
		err = errors.New("must have at least one peer")
		r.out.cannotRead(place+field+": ", err)
	}
	for i := range r.peers {
		if failure := r.out.addAdminPeer(&out, &r.peers[i]); failure != nil {
			err = failure
			r.out.cannotRead(fmt.Sprintf("%s%s[%d]: ", place, field, i), err)
		}
	}
	return out, err
}

// addAdminPeer adds a peer. After an error, what it may mean is not known.
func (t *translation) addAdminPeer(out *controlplane.NetworkPolicyPeer, peer *v1alpha2.ClusterNetworkPolicyEgressPeer) error {
	if count(peer.Namespaces != nil, peer.Pods != nil, peer.Nodes != nil, len(peer.Networks) > 0, len(peer.DomainNames) > 0) > 1 {
		return errOneField
	}
	var selector groupSelector
	var err error
	switch {
	case peer.Namespaces != nil:
		selector, err = podsOfNamespaces(peer.Namespaces)
	case peer.Pods != nil:
		selector, err = newGroupSelector("", &peer.Pods.NamespaceSelector, &peer.Pods.PodSelector)
	case peer.Nodes != nil:
		selector.pods, err = labelSelector("nodes", peer.Nodes)
	case len(peer.Networks) > 0:
		return addNetworks(out, peer.Networks)
	case len(peer.DomainNames) > 0:
		for _, name := range peer.DomainNames {
			if text := strings.TrimSuffix(string(name), "."); !slices.Contains(out.FQDNs, text) {
				out.FQDNs = append(out.FQDNs, text)
			}
		}
		return nil
	default:
		return errNoKnownField
	}
	if err != nil {
		return err
	}
	t.addGroup(out, anonymous(selector))
	return nil
}

// podsOfNamespaces selects all Pods of Namespaces.
func podsOfNamespaces(namespaces *metav1.LabelSelector) (groupSelector, error) {
	selector, err := labelSelector("namespaces", namespaces)
	return groupSelector{namespaces: selector, pods: labels.Everything()}, err
}

// addNetworks adds the networks that can be read.
func addNetworks(out *controlplane.NetworkPolicyPeer, networks []v1alpha2.CIDR) error {
	var failure error
	for i, network := range networks {
		block, err := parseIPBlock(string(network), nil)
		if err != nil {
			failure = fmt.Errorf("networks[%d]: %w", i, err)
			continue
		}
		out.IPBlocks = append(out.IPBlocks, block)
	}
	return failure
}
