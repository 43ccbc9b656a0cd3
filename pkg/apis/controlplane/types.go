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
	// AppliedToGroups are names of AppliedToGroups; none if each rule names its own.
	AppliedToGroups []string
	// Priority orders the policies of a tier, TierPriority the tiers; the smallest is first. Both are nil for policies
	// without an order, such as Kubernetes' policies.
	Priority     *float64
	TierPriority *int32
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

// Kinds of sources: networking.k8s.io/v1 NetworkPolicy; crd.antrea.io/v1beta1 ClusterNetworkPolicy and NetworkPolicy;
// and the kinds of policy.networking.k8s.io, K8sClusterNetworkPolicy being ClusterNetworkPolicy there.
const (
	K8sNetworkPolicy           NetworkPolicyType = "K8sNetworkPolicy"
	AntreaClusterNetworkPolicy NetworkPolicyType = "AntreaClusterNetworkPolicy"
	AntreaNetworkPolicy        NetworkPolicyType = "AntreaNetworkPolicy"
	AdminNetworkPolicy         NetworkPolicyType = "AdminNetworkPolicy"
	BaselineAdminNetworkPolicy NetworkPolicyType = "BaselineAdminNetworkPolicy"
	K8sClusterNetworkPolicy    NetworkPolicyType = "K8sClusterNetworkPolicy"
)

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

// RuleAction is applied to the connections that a rule matches.
type RuleAction string

// RuleActionPass ends the evaluation of tiers: Kubernetes' policies and the baseline tier decide.
const (
	RuleActionAllow  RuleAction = "Allow"
	RuleActionDrop   RuleAction = "Drop"
	RuleActionReject RuleAction = "Reject"
	RuleActionPass   RuleAction = "Pass"
)

// NetworkPolicyRule matches traffic. A rule whose peer is empty matches nothing. Rules of Kubernetes' policies have no
// action: they allow, and isolate the Pods in their direction even if they match nothing.
type NetworkPolicyRule struct {
	Direction Direction
	// From are the sources; only for DirectionIn.
	From NetworkPolicyPeer
	// To are the destinations; only for DirectionOut.
	To NetworkPolicyPeer
	// Services are the ports; none means all protocols and ports.
	Services []Service
	// Priority orders the rules of one policy; -1 for rules without an order, such as Kubernetes' rules.
	Priority int32
	// EnableLogging asks agents to log the first packet of a connection.
	EnableLogging bool
	// Action is nil for rules of Kubernetes' policies.
	Action *RuleAction
	// Name is unique in the policy; empty for rules of Kubernetes' policies.
	Name string
	// LogLabel is repeated in each line of the audit log.
	LogLabel string
	// AppliedToGroups are names of AppliedToGroups, instead of the policy's.
	AppliedToGroups []string
	// L7Protocols limit what the rule allows to requests.
	L7Protocols []L7Protocol
}

// NetworkPolicyPeer is a set of addresses: the union of its parts. A receiver that does not know a part must treat it as
// addresses that it does not know, not as an empty peer.
type NetworkPolicyPeer struct {
	// AddressGroups are names of AddressGroups.
	AddressGroups []string
	IPBlocks      []IPBlock
	// FQDNs are names or patterns with "*"; only for DirectionOut.
	FQDNs []string
	// ToServices are Services, matched by the connection's Service instead of its destination; only for DirectionOut.
	ToServices []ServiceReference
	// LabelIdentities are identities of Pods in other clusters of a ClusterSet.
	LabelIdentities []uint32
}

// ServiceReference names a Service.
type ServiceReference struct {
	Name      string
	Namespace string
}

// L7Protocol matches requests of one protocol: exactly one field is set.
type L7Protocol struct {
	HTTP *HTTPProtocol
	TLS  *TLSProtocol
}

// HTTPProtocol matches HTTP requests; an empty field matches every value.
type HTTPProtocol struct {
	Host   string
	Method string
	Path   string
}

// TLSProtocol matches TLS handshakes; an empty field matches every value.
type TLSProtocol struct {
	SNI string
}

// Protocol is a protocol above IP. ICMP means ICMPv6 in IPv6, with the same numbers.
type Protocol string

const (
	ProtocolTCP  Protocol = "TCP"
	ProtocolUDP  Protocol = "UDP"
	ProtocolSCTP Protocol = "SCTP"
	ProtocolICMP Protocol = "ICMP"
	ProtocolIGMP Protocol = "IGMP"
)

// Service is a set of ports, or of messages, of one protocol.
type Service struct {
	// Protocol is always set.
	Protocol *Protocol
	// Port is a number or the name of a container's port; nil means all ports.
	Port *intstr.IntOrString
	// EndPort makes Port, then a number, the first of a range that includes EndPort.
	EndPort *int32
	// ICMPType and ICMPCode select messages of ProtocolICMP; nil means all.
	ICMPType *int32
	ICMPCode *int32
	// IGMPType and GroupAddress select messages of ProtocolIGMP; nil and empty mean all.
	IGMPType     *int32
	GroupAddress string
	// SrcPort is the source port; SrcEndPort makes it the first of a range that includes SrcEndPort.
	SrcPort    *int32
	SrcEndPort *int32
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

// NodeReference names a Node.
type NodeReference struct {
	Name string
}

// ExternalEntityReference names an ExternalEntity.
type ExternalEntityReference struct {
	Name      string
	Namespace string
}

// GroupMember is a Pod, a Node, a Service or an ExternalEntity in a group: exactly one reference is set. Members of an
// AppliedToGroup have no IPs.
type GroupMember struct {
	Pod *PodReference
	IPs []IPAddress
	// Ports are the named ports of the Pod\'s containers.
	Ports []NamedPort
	Node  *NodeReference
	// Service is a member of AppliedToGroups only: connections to its NodePorts.
	Service        *ServiceReference
	ExternalEntity *ExternalEntityReference
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

// EgressGroup is the set of Pods of an Egress. It has the name and the UID of the Egress.
type EgressGroup struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// GroupMembers are the members on the requested Node; all members without one. Only Pod is set.
	GroupMembers []GroupMember
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EgressGroupPatch is sent by a watch when members of an EgressGroup change.
type EgressGroupPatch struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	AddedGroupMembers   []GroupMember
	RemovedGroupMembers []GroupMember
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EgressGroupList is a list of EgressGroups.
type EgressGroupList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []EgressGroup
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodeStatsSummary is an agent's report of the counts since its previous one. Its name is the name of the Node.
type NodeStatsSummary struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// These fields have each policy once: Kubernetes' policies, and the two kinds of Antrea.
	NetworkPolicies              []NetworkPolicyStats
	AntreaClusterNetworkPolicies []NetworkPolicyStats
	AntreaNetworkPolicies        []NetworkPolicyStats
}

// NetworkPolicyStats is the traffic of one policy on one Node: TrafficStats for Kubernetes' policies, RuleTrafficStats,
// with each rule once, for others.
type NetworkPolicyStats struct {
	NetworkPolicy    NetworkPolicyReference
	TrafficStats     v1alpha1.TrafficStats
	RuleTrafficStats []v1alpha1.RuleTrafficStats
}
