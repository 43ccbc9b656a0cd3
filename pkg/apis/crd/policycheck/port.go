// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycheck

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

const maxPort = 65535

// Types of IGMP messages: a query comes in, reports and leave messages go out.
var igmpIngress, igmpEgress = []int32{0x11}, []int32{0x12, 0x16, 0x22}

// protocols checks ICMP and IGMP.
func (p *policy) protocols() string {
	for i := range p.rules {
		r := &p.rules[i]
		var igmp, icmp bool
		for _, protocol := range r.Protocols {
			igmp, icmp = igmp || protocol.IGMP != nil, icmp || protocol.ICMP != nil
			if refusal := messages(r, protocol); refusal != "" {
				return refusal
			}
		}
		switch {
		case !igmp:
		case *r.Action == v1beta1.RuleActionPass || *r.Action == v1beta1.RuleActionReject:
			return "protocol IGMP does not support Pass or Reject"
		case icmp || len(r.Ports) > 0 || len(r.ToServices) > 0 || len(r.From) > 0 || len(r.To) > 0:
			return "protocol IGMP can not be used with `ports`, `toServices`, `from`, `to` or protocol ICMP"
		}
	}
	return ""
}

// messages checks one entry of protocols.
func messages(r *rule, protocol v1beta1.NetworkPolicyProtocol) string {
	if (protocol.ICMP != nil) == (protocol.IGMP != nil) {
		return "each entry of protocols needs exactly one of icmp and igmp"
	}
	if icmp := protocol.ICMP; icmp != nil {
		for _, number := range []*int32{icmp.ICMPType, icmp.ICMPCode} {
			if number != nil && (*number < 0 || *number > 255) {
				return fmt.Sprintf("icmpType and icmpCode are 0 to 255, not %d", *number)
			}
		}
		return ""
	}
	types := igmpIngress
	if r.egress {
		types = igmpEgress
	}
	if t := protocol.IGMP.IGMPType; t != nil && !slices.Contains(types, *t) {
		return fmt.Sprintf("protocol IGMP has igmpType %d; allowed in this direction: %v", *t, types)
	}
	if text := protocol.IGMP.GroupAddress; text != "" {
		if addr, err := netip.ParseAddr(text); err != nil || !addr.IsMulticast() {
			return fmt.Sprintf("protocol IGMP has groupAddress %s, which is not a multicast address", text)
		}
	}
	return ""
}

// l7Protocols checks the protocols of layer 7, which need a feature gate.
func (p *policy) l7Protocols(enabled bool) string {
	for _, r := range p.rules {
		if len(r.L7Protocols) == 0 {
			continue
		}
		http := slices.ContainsFunc(r.L7Protocols, func(l v1beta1.L7Protocol) bool { return l.HTTP != nil })
		otherPort := slices.ContainsFunc(r.Ports, func(p v1beta1.NetworkPolicyPort) bool { return p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP })
		switch {
		case !enabled:
			return "layer 7 protocols can only be used when L7NetworkPolicy is enabled"
		case *r.Action != v1beta1.RuleActionAllow:
			return "layer 7 protocols only support Allow"
		case len(r.ToServices) > 0:
			return "layer 7 protocols can not be used with toServices"
		case http && otherPort:
			return "HTTP protocol can only be used when layer 4 protocol is TCP or unset"
		case http && len(r.Protocols) > 0:
			return "HTTP protocol can not be used with protocol IGMP or ICMP"
		}
	}
	return ""
}

// ports checks the ranges of ports.
func (p *policy) ports() string {
	for _, r := range p.rules {
		for i := range r.Ports {
			if refusal := port(&r.Ports[i]); refusal != "" {
				return refusal
			}
		}
	}
	return ""
}

func port(p *v1beta1.NetworkPolicyPort) string {
	var number *int32
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			return "if `endPort` is specified `port` must be specified"
		}
	case p.Port.Type == intstr.String:
		if p.EndPort != nil {
			return "if `port` is a string `endPort` cannot be specified"
		}
		if p.Port.StrVal == "" {
			return "`port` cannot be an empty name"
		}
	default:
		number = &p.Port.IntVal
		if p.EndPort != nil && *p.EndPort < *number {
			return "`endPort` should be greater than or equal to `port`"
		}
	}
	switch {
	case p.SourceEndPort == nil:
	case p.SourcePort == nil:
		return "if `sourceEndPort` is specified `sourcePort` must be specified"
	case *p.SourceEndPort < *p.SourcePort:
		return "`sourceEndPort` should be greater than or equal to `sourcePort`"
	}
	for _, n := range []*int32{number, p.EndPort, p.SourcePort, p.SourceEndPort} {
		if n != nil && (*n < 0 || *n > maxPort) {
			return fmt.Sprintf("ports are 0 to %d, not %d", maxPort, *n)
		}
	}
	return ""
}
