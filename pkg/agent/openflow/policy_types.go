// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
)

// PolicyDirection says for which end of a connection a policy rule speaks.
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
// of AppliedTo, its other end is in Peers or PeerAddresses, and its protocol and destination port are in Services. Pods that a rule of a
// direction is applied to are isolated in that direction: what no rule allows is dropped.
//
// A PolicyRule must not be changed once it was given to the Client.
type PolicyRule struct {
	// FlowID is the conjunction id, and the rule's id in the connection label. It is unique among installed rules and not 0.
	FlowID    uint32
	Direction PolicyDirection
	// AppliedTo are local Pods. A rule without any has no flows.
	AppliedTo []PolicyPod
	// Peers and PeerAddresses are the other ends; overlaps are allowed. Without any nobody is allowed: the rule only isolates.
	// Everybody is 0.0.0.0/0 and ::/0.
	Peers []netip.Prefix
	// PeerAddresses are those that may be many and change often, as members of groups. Rules share them.
	PeerAddresses []AddressSet
	// Services are alternatives. Without any every protocol and port is allowed.
	Services []PolicyService
}

// PolicyPod is a local Pod that a rule is applied to.
type PolicyPod struct {
	InterfaceName string
	OFPort        uint32
	IPs           []netip.Addr
}

// PolicyService is a protocol with the destination ports whose bits Mask equal Port; Mask 0 is every port.
type PolicyService struct {
	// Protocol is the IP protocol number of TCP, UDP or SCTP.
	Protocol   uint8
	Port, Mask uint16
}

// Matches tells whether a packet with this protocol and destination port is to the service.
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

// PolicyRuleStats are what a rule has let pass since it was installed, as far as Open vSwitch saw it.
type PolicyRuleStats struct {
	// Sessions are connections that the rule admitted. The first packets of one are counted until it is established, so a
	// connection whose opening was sent again counts as often.
	Sessions       uint64
	Packets, Bytes uint64
}
