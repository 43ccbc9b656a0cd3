// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicy is a policy ready for agents: selectors are resolved into groups. Its name is the UID of its source.
type NetworkPolicy struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// Rules are in the order of the source: all of ingress, then all of egress.
	Rules []NetworkPolicyRule
	// AppliedToGroups are names of AppliedToGroups.
	AppliedToGroups []string
	// SourceRef is the object that this policy was made of.
	SourceRef *NetworkPolicyReference
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicyList is a list of NetworkPolicies.
type NetworkPolicyList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []NetworkPolicy
}

// NetworkPolicyType is the kind of a policy's source.
type NetworkPolicyType string

// K8sNetworkPolicy is the source networking.k8s.io/v1 NetworkPolicy.
const K8sNetworkPolicy NetworkPolicyType = "K8sNetworkPolicy"

// NetworkPolicyReference names the source of a policy.
type NetworkPolicyReference struct {
	Type      NetworkPolicyType
	Namespace string
	Name      string
	UID       types.UID
}

// Direction is the direction of traffic as the Pods that a policy applies to see it.
type Direction string

const (
	DirectionIn  Direction = "In"
	DirectionOut Direction = "Out"
)

// NetworkPolicyRule allows traffic. A rule without peers (neither address groups nor IP blocks) allows nothing: it isolates
// the Pods in its direction.
type NetworkPolicyRule struct {
	Direction Direction
	// From are the allowed sources; only for DirectionIn.
	From NetworkPolicyPeer
	// To are the allowed destinations; only for DirectionOut.
	To NetworkPolicyPeer
	// Services are the allowed ports; none means all protocols and ports.
	Services []Service
	// Priority orders the rules of one policy; -1 for rules without an order, such as Kubernetes' rules.
	Priority int32
	// EnableLogging asks agents to log the first packet of a connection.
	EnableLogging bool
}

// NetworkPolicyPeer is a set of addresses: the union of its parts.
type NetworkPolicyPeer struct {
	// AddressGroups are names of AddressGroups.
	AddressGroups []string
	IPBlocks      []IPBlock
}

// Protocol is a transport protocol.
type Protocol string

const (
	ProtocolTCP  Protocol = "TCP"
	ProtocolUDP  Protocol = "UDP"
	ProtocolSCTP Protocol = "SCTP"
)

// Service is a set of ports of one protocol.
type Service struct {
	// Protocol is always set.
	Protocol *Protocol
	// Port is a number or the name of a container's port; nil means all ports.
	Port *intstr.IntOrString
	// EndPort makes Port, then a number, the first of a range that includes EndPort.
	EndPort *int32
}

// IPAddress is an address in network byte order: 4 bytes for IPv4, 16 for IPv6.
type IPAddress []byte

// IPNet is a CIDR. Bits after the prefix are zero.
type IPNet struct {
	IP           IPAddress
	PrefixLength int32
}

// IPBlock is a CIDR without some parts of it.
type IPBlock struct {
	CIDR   IPNet
	Except []IPNet
}

// PodReference names a Pod.
type PodReference struct {
	Name      string
	Namespace string
}

// NamedPort is a container's port.
type NamedPort struct {
	Port     int32
	Name     string
	Protocol Protocol
}

// GroupMember is a Pod in a group. Members of an AppliedToGroup have no IPs.
type GroupMember struct {
	Pod *PodReference
	IPs []IPAddress
	// Ports are the named ports of the Pod\'s containers.
	Ports []NamedPort
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AddressGroup is a set of Pods that rules name as peers. Its name is a hash of its selector.
type AddressGroup struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	GroupMembers []GroupMember
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AddressGroupPatch is sent by a watch when members of an AddressGroup change. A member whose addresses or ports change
// is in both lists.
type AddressGroupPatch struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	AddedGroupMembers   []GroupMember
	RemovedGroupMembers []GroupMember
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AddressGroupList is a list of AddressGroups.
type AddressGroupList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []AddressGroup
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AppliedToGroup is a set of Pods that policies apply to. Its name is a hash of its selector.
type AppliedToGroup struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// GroupMembers are the members on the requested Node; all members without one.
	GroupMembers []GroupMember
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AppliedToGroupPatch is sent by a watch when members of an AppliedToGroup change.
type AppliedToGroupPatch struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	AddedGroupMembers   []GroupMember
	RemovedGroupMembers []GroupMember
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AppliedToGroupList is a list of AppliedToGroups.
type AppliedToGroupList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []AppliedToGroup
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodeStatsSummary is an agent's report of the counts since its previous one. Its name is the name of the Node.
type NodeStatsSummary struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// NetworkPolicies has each policy once.
	NetworkPolicies []NetworkPolicyStats
}

// NetworkPolicyStats is the traffic of one policy on one Node.
type NetworkPolicyStats struct {
	NetworkPolicy NetworkPolicyReference
	TrafficStats  v1alpha1.TrafficStats
}
