// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// ICMP is the protocol of a Probe that is an echo request.
const ICMP corev1.Protocol = "ICMP"

// The types of echo requests (RFC 792, RFC 4443); their code is 0.
const (
	echoRequest  = 8
	echoRequest6 = 128
)

// antreaPortMatches reports whether one of a rule's ports or protocols matches; neither means everything.
func antreaPortMatches(rule *crd.Rule, p *Probe, namesCount bool) bool {
	if len(rule.Ports)+len(rule.Protocols) == 0 {
		return true
	}
	for i := range rule.Ports {
		port := &rule.Ports[i]
		destination := networkingv1.NetworkPolicyPort{Protocol: port.Protocol, Port: port.Port, EndPort: port.EndPort}
		if portMatches([]networkingv1.NetworkPolicyPort{destination}, p, namesCount) && sourcePortMatches(port, p.SourcePort) {
			return true
		}
	}
	for _, protocol := range rule.Protocols {
		if protocol.ICMP != nil && p.Protocol == ICMP && icmpMatches(protocol.ICMP, p.IPv6) {
			return true
		}
	}
	return false
}

func sourcePortMatches(port *crd.NetworkPolicyPort, source uint16) bool {
	if port.SourcePort == nil {
		return true
	}
	last := *port.SourcePort
	if port.SourceEndPort != nil {
		last = *port.SourceEndPort
	}
	return int32(source) >= *port.SourcePort && int32(source) <= last
}

// icmpMatches compares with an echo request: the numbers are ICMP's in IPv4, ICMPv6's in IPv6.
func icmpMatches(icmp *crd.ICMPProtocol, six bool) bool {
	kind := int32(echoRequest)
	if six {
		kind = echoRequest6
	}
	return (icmp.ICMPType == nil || *icmp.ICMPType == kind) && (icmp.ICMPCode == nil || *icmp.ICMPCode == 0)
}
