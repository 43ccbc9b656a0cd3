// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
)

// PolicyDirection says which end of a connection is the Pod that a policy rule is applied to.
type PolicyDirection uint8

const (
	// PolicyIngress rules are about connections to the Pods that they are applied to.
	PolicyIngress PolicyDirection = iota + 1
	// PolicyEgress rules are about connections from the Pods that they are applied to.
	PolicyEgress
)

func (d PolicyDirection) String() string {
	switch d {
	case PolicyIngress:
		return "Ingress"
	case PolicyEgress:
		return "Egress"
	}
	return fmt.Sprintf("PolicyDirection(%d)", uint8(d))
}

// PolicyRule is one rule of a Kubernetes NetworkPolicy as flows express it: a connection is allowed if its local end is one
// of AppliedTo, its other end is in Peers or PeerAddresses, and its protocol and destination port are in Services. Pods that a
// rule is applied to are isolated in its direction: connections that no rule allows are dropped.
//
// A PolicyRule must not be changed once it has been passed to the Client.
type PolicyRule struct {
	// FlowID is the conjunction id, and the rule's id in the connection label. It is unique among installed rules and not 0.
	FlowID    uint32
	Direction PolicyDirection
	// AppliedTo are local Pods. A rule without AppliedTo has no flows.
	AppliedTo []PolicyPod
	// Peers and PeerAddresses are the other ends; they may overlap. A rule without either allows nobody: it only isolates.
	// 0.0.0.0/0 and ::/0 allow everybody.
	Peers []netip.Prefix
	// PeerAddresses are peers that may be many and change often, such as members of groups. Rules share the sets.
	PeerAddresses []AddressSet
	// Services are alternatives. A rule without Services allows every protocol and port.
	Services []PolicyService
	// LogReference names the policy in the audit log. If it is not empty, connections that the rule allows are logged, and packets of
	// the Pods in AppliedTo that no rule allows.
	LogReference string
}

// PolicyPod is a local Pod that a rule is applied to.
type PolicyPod struct {
	InterfaceName string
	OFPort        uint32
	IPs           []netip.Addr
}

// PolicyService is a protocol and its destination ports with port&Mask == Port. Mask 0 stands for every port.
type PolicyService struct {
	// Protocol is the IP protocol number of TCP, UDP or SCTP.
	Protocol   uint8
	Port, Mask uint16
}

// Matches tells whether the service includes this protocol and destination port.
func (s PolicyService) Matches(protocol uint8, port uint16) bool {
	return s.Protocol == protocol && port&s.Mask == s.Port
}

// PortRange returns services for the ports from first to last, both included, with as few masks as possible.
func PortRange(protocol uint8, first, last uint16) []PolicyService {
	var services []PolicyService
	for start, end := uint32(first), uint32(last); start <= end; {
		// The largest aligned block that begins at start and does not go beyond end.
		size := uint32(1)
		for start&size == 0 && start+2*size-1 <= end && size < 1<<16 {
			size *= 2
		}
		services = append(services, PolicyService{Protocol: protocol, Port: uint16(start), Mask: ^uint16(size - 1)})
		start += size
	}
	return services
}

// PolicyRuleStats is the traffic that a rule has admitted since it was installed, as far as Open vSwitch saw it.
type PolicyRuleStats struct {
	// Sessions are admitted connections. Every packet counts until the connection is established, so one whose opening packet
	// was retransmitted counts several times.
	Sessions       uint64
	Packets, Bytes uint64
	// Counter identifies the counters from which the numbers are.
	Counter CounterID
}

// CounterID identifies the counters of a rule. It is the cookie of its flows that count.
type CounterID uint64

// Replaced tells whether a rule's counters have begun anew since they were former's. Those that another agent has begun, in an earlier
// round, go on: Open vSwitch keeps the counters of a flow that is replaced by one with the same match.
func (c CounterID) Replaced(former CounterID) bool { return c != former && c.sameRound(former) }

func (c CounterID) sameRound(other CounterID) bool {
	return (uint64(c)^uint64(other))&cookieRoundMask == 0
}
