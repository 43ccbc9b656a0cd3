// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// translation is the content of a NetworkPolicy, in terms of groups.
type translation struct {
	// applied are the groups that the policy applies to, or, if perRule is set, the groups that rules apply to.
	applied []groupReference
	perRule bool
	// peers are all address groups that rules name, without duplicates.
	peers []groupReference
	rules []controlplane.NetworkPolicyRule
	// priority and tierPriority are nil for policies of Kubernetes.
	priority     *float64
	tierPriority *int32
	// unreadable names the parts that could not be read or are not supported.
	unreadable []string
	// uses names the other objects that the translation was made of.
	uses dependencies
}

// noOrder is the priority of rules that have no order.
const noOrder = -1

// everywhere is all addresses of both families.
var everywhere = []controlplane.IPBlock{
	{CIDR: controlplane.IPNet{IP: netip.IPv4Unspecified().AsSlice()}},
	{CIDR: controlplane.IPNet{IP: netip.IPv6Unspecified().AsSlice()}},
}

// translate reads a policy as the API's documentation (networking.k8s.io/v1) defines it. Parts that cannot be read, which
// no API server accepts, allow nothing. The other parts keep their meaning, and the policy still isolates its Pods. The
// error names the parts that could not be read.
func translate(source *networkingv1.NetworkPolicy) (*translation, error) {
	t := &translation{}
	applied, err := newGroupSelector(source.Namespace, nil, &source.Spec.PodSelector)
	if err != nil {
		// Any Pod of the Namespace may be meant. None of them may be left open: other policies may isolate it.
		applied = groupSelector{namespace: source.Namespace, pods: labels.Everything()}
		t.cannotRead("spec.", fmt.Errorf("%w: all Pods of the Namespace are isolated", err))
	}
	t.applied = []groupReference{anonymous(applied)}
	t.checkTypes(source.Spec.PolicyTypes)
	if hasType(source, networkingv1.PolicyTypeIngress) {
		for i, rule := range source.Spec.Ingress {
			t.ingress(fmt.Sprintf("spec.ingress[%d].", i), source.Namespace, rule)
		}
		if len(source.Spec.Ingress) == 0 {
			t.isolate(controlplane.DirectionIn)
		}
	}
	if hasType(source, networkingv1.PolicyTypeEgress) {
		for i, rule := range source.Spec.Egress {
			t.egress(fmt.Sprintf("spec.egress[%d].", i), source.Namespace, rule)
		}
		if len(source.Spec.Egress) == 0 {
			t.isolate(controlplane.DirectionOut)
		}
	}
	if err != nil {
		t.allowNothing()
	}
	if len(t.unreadable) == 0 {
		return t, nil
	}
	return t, fmt.Errorf("NetworkPolicy %s/%s: %s", source.Namespace, source.Name, strings.Join(t.unreadable, "; "))
}

func (t *translation) cannotRead(place string, err error) {
	t.unreadable = append(t.unreadable, place+err.Error())
}

// isolate adds a rule that allows nothing.
func (t *translation) isolate(direction controlplane.Direction) {
	t.rules = append(t.rules, controlplane.NetworkPolicyRule{Direction: direction, Priority: noOrder})
}

// allowNothing reduces the rules to isolation, once for each direction.
func (t *translation) allowNothing() {
	rules := t.rules
	t.rules, t.peers = nil, nil
	for _, rule := range rules {
		if !slices.ContainsFunc(t.rules, func(r controlplane.NetworkPolicyRule) bool { return r.Direction == rule.Direction }) {
			t.isolate(rule.Direction)
		}
	}
}

func (t *translation) ingress(place, namespace string, rule networkingv1.NetworkPolicyIngressRule) {
	services := t.services(place, rule.Ports)
	if len(services) == 0 && len(rule.Ports) > 0 { // Without services it would allow all ports.
		t.isolate(controlplane.DirectionIn)
		return
	}
	from := t.peer(place+"from", namespace, rule.From, false)
	t.rules = append(t.rules, controlplane.NetworkPolicyRule{Direction: controlplane.DirectionIn, From: from, Services: services, Priority: noOrder})
}

func (t *translation) egress(place, namespace string, rule networkingv1.NetworkPolicyEgressRule) {
	services := t.services(place, rule.Ports)
	if len(services) == 0 && len(rule.Ports) > 0 {
		t.isolate(controlplane.DirectionOut)
		return
	}
	to := t.peer(place+"to", namespace, rule.To, hasNamedPort(rule.Ports))
	t.rules = append(t.rules, controlplane.NetworkPolicyRule{Direction: controlplane.DirectionOut, To: to, Services: services, Priority: noOrder})
}

// checkTypes records which policyTypes cannot be read.
func (t *translation) checkTypes(types []networkingv1.PolicyType) {
	for i, policyType := range types {
		if !isType(policyType) {
			t.cannotRead("spec.policyTypes", fmt.Errorf("[%d]: %q: must be Ingress or Egress, taken for both", i, policyType))
		}
	}
}

func isType(policyType networkingv1.PolicyType) bool {
	return policyType == networkingv1.PolicyTypeIngress || policyType == networkingv1.PolicyTypeEgress
}

// hasType reports whether a policy isolates Pods in that direction. Without policyTypes the default is ingress, and egress
// if there are rules for it. A type that cannot be read may be either.
func hasType(source *networkingv1.NetworkPolicy, policyType networkingv1.PolicyType) bool {
	if len(source.Spec.PolicyTypes) > 0 {
		return slices.ContainsFunc(source.Spec.PolicyTypes, func(t networkingv1.PolicyType) bool { return t == policyType || !isType(t) })
	}
	return policyType == networkingv1.PolicyTypeIngress || len(source.Spec.Egress) > 0
}

// peer translates the peers of one rule; none means all. With resolvePorts all includes the Pods among them, because
// their named ports are needed. A peer that cannot be read matches nothing.
func (t *translation) peer(place, namespace string, peers []networkingv1.NetworkPolicyPeer, resolvePorts bool) controlplane.NetworkPolicyPeer {
	var out controlplane.NetworkPolicyPeer
	if len(peers) == 0 {
		out.IPBlocks = everywhere
		if resolvePorts {
			t.addGroup(&out, anonymous(allPods))
		}
		return out
	}
	for i, peer := range peers {
		if err := t.addPeer(&out, namespace, peer); err != nil {
			t.cannotRead(place, fmt.Errorf("[%d]%w", i, err))
		}
	}
	return out
}

func (t *translation) addPeer(out *controlplane.NetworkPolicyPeer, namespace string, peer networkingv1.NetworkPolicyPeer) error {
	selects := peer.PodSelector != nil || peer.NamespaceSelector != nil
	if (peer.IPBlock != nil) == selects {
		return errors.New(": must have either an ipBlock or selectors")
	}
	if peer.IPBlock != nil {
		block, err := parseIPBlock(peer.IPBlock.CIDR, peer.IPBlock.Except)
		if err != nil {
			return fmt.Errorf(".ipBlock: %w", err)
		}
		out.IPBlocks = append(out.IPBlocks, block)
		return nil
	}
	selector, err := newGroupSelector(namespace, peer.NamespaceSelector, peer.PodSelector)
	if err != nil {
		return fmt.Errorf(".%w", err)
	}
	t.addGroup(out, anonymous(selector))
	return nil
}

func (t *translation) addGroup(peer *controlplane.NetworkPolicyPeer, ref groupReference) {
	if !slices.Contains(peer.AddressGroups, ref.name) {
		peer.AddressGroups = append(peer.AddressGroups, ref.name)
	}
	if !slices.ContainsFunc(t.peers, func(known groupReference) bool { return known.key == ref.key }) {
		t.peers = append(t.peers, ref)
	}
}

// parseIPBlock reads a CIDR and what it does not contain.
func parseIPBlock(text string, excepts []string) (controlplane.IPBlock, error) {
	cidr, err := ipNet(text)
	if err != nil {
		return controlplane.IPBlock{}, fmt.Errorf("cidr: %w", err)
	}
	block := controlplane.IPBlock{CIDR: cidr}
	for i, text := range excepts {
		except, err := ipNet(text)
		if err != nil {
			return controlplane.IPBlock{}, fmt.Errorf("except[%d]: %w", i, err)
		}
		block.Except = append(block.Except, except)
	}
	return block, nil
}

// ipNet parses a CIDR like the API server, which once allowed leading zeros, and clears the bits after the prefix.
func ipNet(text string) (controlplane.IPNet, error) {
	_, parsed, err := netutils.ParseCIDRSloppy(text)
	if err != nil {
		return controlplane.IPNet{}, err
	}
	bits, _ := parsed.Mask.Size()
	if ip := parsed.IP.To4(); ip != nil {
		if len(parsed.Mask) == net.IPv6len { // ::ffff:10.0.0.0/104
			bits -= 96
		}
		return controlplane.IPNet{IP: controlplane.IPAddress(ip), PrefixLength: int32(bits)}, nil
	}
	return controlplane.IPNet{IP: controlplane.IPAddress(parsed.IP), PrefixLength: int32(bits)}, nil
}

// services leaves out ports that cannot be read. JSON cannot express other types of port, and an agent could take a lone
// endPort for all ports.
func (t *translation) services(place string, ports []networkingv1.NetworkPolicyPort) []controlplane.Service {
	var out []controlplane.Service
	for i, port := range ports {
		switch {
		case port.Port != nil && port.Port.Type != intstr.Int && port.Port.Type != intstr.String:
			t.cannotRead(place+"ports", fmt.Errorf("[%d].port: must be a number or a name, not of type %d", i, port.Port.Type))
			continue
		case port.Port == nil && port.EndPort != nil:
			t.cannotRead(place+"ports", fmt.Errorf("[%d].endPort: %d: must have a port", i, *port.EndPort))
			continue
		}
		protocol := controlplane.ProtocolTCP
		if port.Protocol != nil {
			protocol = controlplane.Protocol(*port.Protocol)
		}
		out = append(out, controlplane.Service{Protocol: &protocol, Port: port.Port, EndPort: port.EndPort})
	}
	return out
}

func hasNamedPort(ports []networkingv1.NetworkPolicyPort) bool {
	return slices.ContainsFunc(ports, func(port networkingv1.NetworkPolicyPort) bool {
		return port.Port != nil && port.Port.Type == intstr.String
	})
}
