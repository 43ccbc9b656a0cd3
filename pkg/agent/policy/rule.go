// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"net/netip"
	"slices"
)

// Direction says which end of a connection is the Pod that a rule is applied to.
type Direction uint8

const (
	// Ingress rules are about connections to the Pods that they are applied to.
	Ingress Direction = iota + 1
	// Egress rules are about connections from the Pods that they are applied to.
	Egress
)

func (d Direction) String() string {
	switch d {
	case Ingress:
		return "Ingress"
	case Egress:
		return "Egress"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// Rule is one rule of a policy. It matches a connection if its local end is one of AppliedTo, its other end is in Peers, PeerAddresses or
// PeerServices, and its protocol and ports are in Services. Effect says what happens then.
//
// A Rule must not be changed once other code has it.
type Rule struct {
	// FlowID identifies the rule on the Node: in conjunctions and connection labels of Open vSwitch. It is unique among installed rules
	// and not 0.
	FlowID uint32
	// Name is the rule's name in its policy; empty for rules of Kubernetes NetworkPolicies.
	Name      string
	Effect    Effect
	Direction Direction
	// AppliedTo are local Pods. A rule without AppliedTo does nothing.
	AppliedTo []Pod
	// AppliedToServices are groups of Open vSwitch. An ingress rule with them is applied to connections to the NodePorts of these
	// Services, at the Node to which they come, instead of to Pods: AppliedTo is empty. Its peers are the addresses of clients. It does not isolate.
	AppliedToServices []uint32
	// Peers and PeerAddresses are the other ends; they may overlap. A rule without either matches nothing: it can only isolate.
	// 0.0.0.0/0 and ::/0 match everything.
	Peers []netip.Prefix
	// PeerAddresses are peers that may be many and change often, such as members of groups. Rules share the sets.
	PeerAddresses []AddressSet
	// PeerServices are groups of Open vSwitch. An egress rule with them also matches connections to addresses of these Services, before the
	// translation to an Endpoint.
	PeerServices []uint32
	// Services are alternatives. A rule without Services matches every protocol and port.
	Services []Service
	// LogReference names the policy in the audit log. If it is not empty, connections that the rule decides about are logged, and packets of
	// the Pods in AppliedTo that are dropped because the rule isolates.
	LogReference string
	// LogLabel is the user's addition to the lines in the audit log.
	LogLabel string
	// Closes is set in rules of Closing. Where the switch has no priority left for such a rule, it has the place First of its stage.
	Closes bool
}

// Pod is a local Pod that a rule is applied to.
type Pod struct {
	InterfaceName string
	OFPort        uint32
	IPs           []netip.Addr
}

// Connection is a connection as rules see it: the packet that opens it.
type Connection struct {
	Source, Destination netip.Addr
	// Protocol is the IP protocol number.
	Protocol uint8
	// SourcePort and DestinationPort are 0 for protocols without ports.
	SourcePort, DestinationPort uint16
	// ICMPType and ICMPCode are 0 for other protocols than ICMP and ICMPv6.
	ICMPType, ICMPCode uint8
	// ServiceGroup is the group of Open vSwitch that has chosen Destination; 0 if the client has sent to Destination itself.
	ServiceGroup uint32
	// NodePort reports whether the client, outside of the cluster or a Pod, has sent to a NodePort of this Node.
	NodePort bool
}

// ends returns the address of the Pod that rules of a direction are applied to, and the address of the other end.
func (c Connection) ends(d Direction) (local, peer netip.Addr) {
	if d == Egress {
		return c.Source, c.Destination
	}
	return c.Destination, c.Source
}

// AppliesTo reports whether the local end of the connection, in the direction of the rule, is one of the Pods that the rule is applied to, or
// the connection goes to one of the NodePorts.
func (r *Rule) AppliesTo(c Connection) bool {
	if len(r.AppliedToServices) > 0 {
		return c.NodePort && slices.Contains(r.AppliedToServices, c.ServiceGroup)
	}
	local, _ := c.ends(r.Direction)
	return slices.ContainsFunc(r.AppliedTo, func(pod Pod) bool { return slices.Contains(pod.IPs, local) })
}

// Matches reports whether the rule matches the connection.
func (r *Rule) Matches(c Connection) bool {
	_, peer := c.ends(r.Direction)
	if !r.AppliesTo(c) || !r.hasPeer(peer) && (c.ServiceGroup == 0 || !slices.Contains(r.PeerServices, c.ServiceGroup)) {
		return false
	}
	return len(r.Services) == 0 || slices.ContainsFunc(r.Services, func(s Service) bool { return s.Matches(c) })
}
