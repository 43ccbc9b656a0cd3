// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"net/netip"
	"slices"
)

// PolicyConnection is a connection as policy rules see it: the packet that opens it.
type PolicyConnection struct {
	Source, Destination netip.Addr
	// Protocol is the IP protocol number.
	Protocol uint8
	// DestinationPort is 0 for protocols without ports.
	DestinationPort uint16
}

// PolicyVerdict is what the rules of one direction say about a connection.
type PolicyVerdict struct {
	Allowed bool
	// Isolated tells whether any rule is applied to the local Pod; without one, everything is allowed.
	Isolated bool
	// FlowID is the rule that allows the connection, the one with the lowest id if there are several: Open vSwitch may
	// count it for another one. 0 when none does.
	FlowID uint32
}

// EvaluatePolicy tells what the flows of rules do with a new connection at the Pod that is its destination (PolicyIngress)
// or its source (PolicyEgress). It ignores exemptions, such as that of the Node itself.
func EvaluatePolicy(rules []*PolicyRule, direction PolicyDirection, c PolicyConnection) PolicyVerdict {
	var verdict PolicyVerdict
	for _, r := range rules {
		if r.Direction != direction || !r.appliesTo(c) {
			continue
		}
		verdict.Isolated = true
		if r.allows(c) && (verdict.FlowID == 0 || r.FlowID < verdict.FlowID) {
			verdict.FlowID = r.FlowID
		}
	}
	verdict.Allowed = !verdict.Isolated || verdict.FlowID != 0
	return verdict
}

func (r *PolicyRule) appliesTo(c PolicyConnection) bool {
	local := c.Destination
	if r.Direction == PolicyEgress {
		local = c.Source
	}
	return slices.ContainsFunc(r.AppliedTo, func(pod PolicyPod) bool { return slices.Contains(pod.IPs, local) })
}

func (r *PolicyRule) allows(c PolicyConnection) bool {
	peer := c.Source
	if r.Direction == PolicyEgress {
		peer = c.Destination
	}
	if !slices.ContainsFunc(r.PeerAddresses, func(s AddressSet) bool { return s.Contains(peer) }) &&
		!slices.ContainsFunc(r.Peers, func(p netip.Prefix) bool { return p.Contains(peer) }) {
		return false
	}
	return len(r.Services) == 0 ||
		slices.ContainsFunc(r.Services, func(s PolicyService) bool { return s.Matches(c.Protocol, c.DestinationPort) })
}
