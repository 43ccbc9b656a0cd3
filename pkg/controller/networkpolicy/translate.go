// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// translation is what a NetworkPolicy says, in terms of groups.
type translation struct {
	applied groupSelector
	// peers are the selectors of all address groups that rules name, each once.
	peers []groupSelector
	rules []controlplane.NetworkPolicyRule
}

// noOrder is the priority of rules that have no order.
const noOrder = -1

// everywhere are all addresses of both families.
var everywhere = []controlplane.IPBlock{
	{CIDR: controlplane.IPNet{IP: netip.IPv4Unspecified().AsSlice()}},
	{CIDR: controlplane.IPNet{IP: netip.IPv6Unspecified().AsSlice()}},
}

// translate reads a policy as the API's documentation (networking.k8s.io/v1) defines it.
func translate(source *networkingv1.NetworkPolicy) (*translation, error) {
	t := &translation{}
	var err error
	if t.applied, err = newGroupSelector(source.Namespace, nil, &source.Spec.PodSelector); err != nil {
		return nil, fmt.Errorf("NetworkPolicy %s/%s: spec.%w", source.Namespace, source.Name, err)
	}
	if hasType(source, networkingv1.PolicyTypeIngress) {
		for i, rule := range source.Spec.Ingress {
			from, err := t.peer(source.Namespace, rule.From, false)
			if err != nil {
				return nil, fmt.Errorf("NetworkPolicy %s/%s: spec.ingress[%d].from%w", source.Namespace, source.Name, i, err)
			}
			t.rules = append(t.rules, controlplane.NetworkPolicyRule{
				Direction: controlplane.DirectionIn, From: from, Services: services(rule.Ports), Priority: noOrder,
			})
		}
		if len(source.Spec.Ingress) == 0 {
			t.rules = append(t.rules, controlplane.NetworkPolicyRule{Direction: controlplane.DirectionIn, Priority: noOrder})
		}
	}
	if hasType(source, networkingv1.PolicyTypeEgress) {
		for i, rule := range source.Spec.Egress {
			to, err := t.peer(source.Namespace, rule.To, hasNamedPort(rule.Ports))
			if err != nil {
				return nil, fmt.Errorf("NetworkPolicy %s/%s: spec.egress[%d].to%w", source.Namespace, source.Name, i, err)
			}
			t.rules = append(t.rules, controlplane.NetworkPolicyRule{
				Direction: controlplane.DirectionOut, To: to, Services: services(rule.Ports), Priority: noOrder,
			})
		}
		if len(source.Spec.Egress) == 0 {
			t.rules = append(t.rules, controlplane.NetworkPolicyRule{Direction: controlplane.DirectionOut, Priority: noOrder})
		}
	}
	return t, nil
}

// hasType says whether a policy isolates Pods in that direction. Without policyTypes it is ingress, and egress if there are
// rules for it.
func hasType(source *networkingv1.NetworkPolicy, policyType networkingv1.PolicyType) bool {
	if len(source.Spec.PolicyTypes) > 0 {
		return slices.Contains(source.Spec.PolicyTypes, policyType)
	}
	return policyType == networkingv1.PolicyTypeIngress || len(source.Spec.Egress) > 0
}

// peer translates the peers of one rule; none means all. resolvePorts asks for the Pods among all, whose named ports are
// needed.
func (t *translation) peer(namespace string, peers []networkingv1.NetworkPolicyPeer, resolvePorts bool) (controlplane.NetworkPolicyPeer, error) {
	var out controlplane.NetworkPolicyPeer
	if len(peers) == 0 {
		out.IPBlocks = everywhere
		if resolvePorts {
			t.addGroup(&out, allPods)
		}
		return out, nil
	}
	for i, peer := range peers {
		if peer.IPBlock != nil {
			block, err := ipBlock(peer.IPBlock)
			if err != nil {
				return out, fmt.Errorf("[%d].ipBlock: %w", i, err)
			}
			out.IPBlocks = append(out.IPBlocks, block)
			continue
		}
		selector, err := newGroupSelector(namespace, peer.NamespaceSelector, peer.PodSelector)
		if err != nil {
			return out, fmt.Errorf("[%d].%w", i, err)
		}
		t.addGroup(&out, selector)
	}
	return out, nil
}

func (t *translation) addGroup(peer *controlplane.NetworkPolicyPeer, selector groupSelector) {
	name := selector.name()
	if !slices.Contains(peer.AddressGroups, name) {
		peer.AddressGroups = append(peer.AddressGroups, name)
	}
	if !slices.ContainsFunc(t.peers, func(s groupSelector) bool { return s.name() == name }) {
		t.peers = append(t.peers, selector)
	}
}

func ipBlock(source *networkingv1.IPBlock) (controlplane.IPBlock, error) {
	cidr, err := ipNet(source.CIDR)
	if err != nil {
		return controlplane.IPBlock{}, fmt.Errorf("cidr: %w", err)
	}
	block := controlplane.IPBlock{CIDR: cidr}
	for i, text := range source.Except {
		except, err := ipNet(text)
		if err != nil {
			return controlplane.IPBlock{}, fmt.Errorf("except[%d]: %w", i, err)
		}
		block.Except = append(block.Except, except)
	}
	return block, nil
}

// ipNet parses a CIDR as the API server does, which once allowed leading zeros, and clears the bits after the prefix.
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

func services(ports []networkingv1.NetworkPolicyPort) []controlplane.Service {
	var out []controlplane.Service
	for _, port := range ports {
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
