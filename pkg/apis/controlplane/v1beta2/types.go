// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicy is a policy ready for agents: selectors are resolved into groups. Its name is the UID of its source.
type NetworkPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Rules are in the order of the source: all of ingress, then all of egress.
	Rules []NetworkPolicyRule `json:"rules,omitempty"`
	// AppliedToGroups are names of AppliedToGroups; none if each rule names its own.
	AppliedToGroups []string `json:"appliedToGroups,omitempty"`
	// Priority orders the policies of a tier, TierPriority the tiers; the smallest is first. Both are nil for policies
	// without an order, such as Kubernetes' policies.
	Priority     *float64 `json:"priority,omitempty"`
	TierPriority *int32   `json:"tierPriority,omitempty"`
	// SourceRef is the object that this policy was made of.
	SourceRef *NetworkPolicyReference `json:"sourceRef,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicyList is a list of NetworkPolicies.
type NetworkPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NetworkPolicy `json:"items"`
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
	Type      NetworkPolicyType `json:"type,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name,omitempty"`
	UID       types.UID         `json:"uid,omitempty"`
}

// ToString returns the reference as tables and the audit log show it: "type:namespace/name", or "type:name".
func (r *NetworkPolicyReference) ToString() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s:%s", r.Type, r.Name)
	}
	return fmt.Sprintf("%s:%s/%s", r.Type, r.Namespace, r.Name)
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
	Direction Direction `json:"direction,omitempty"`
	// From are the sources; only for DirectionIn.
	From NetworkPolicyPeer `json:"from,omitempty"`
	// To are the destinations; only for DirectionOut.
	To NetworkPolicyPeer `json:"to,omitempty"`
	// Services are the ports; none means all protocols and ports.
	Services []Service `json:"services,omitempty"`
	// Priority orders the rules of one policy; -1 for rules without an order, such as Kubernetes' rules.
	Priority int32 `json:"priority,omitempty"`
	// EnableLogging asks agents to log the first packet of a connection.
	EnableLogging bool `json:"enableLogging"`
	// Action is nil for rules of Kubernetes' policies.
	Action *RuleAction `json:"action,omitempty"`
	// Name is unique in the policy; empty for rules of Kubernetes' policies.
	Name string `json:"name,omitempty"`
	// LogLabel is repeated in each line of the audit log.
	LogLabel string `json:"logLabel,omitempty"`
	// AppliedToGroups are names of AppliedToGroups, instead of the policy's.
	AppliedToGroups []string `json:"appliedToGroups,omitempty"`
	// L7Protocols limit what the rule allows to requests.
	L7Protocols []L7Protocol `json:"l7Protocols,omitempty"`
}

// NetworkPolicyPeer is a set of addresses: the union of its parts. A receiver that does not know a part must treat it as
// addresses that it does not know, not as an empty peer.
type NetworkPolicyPeer struct {
	// AddressGroups are names of AddressGroups.
	AddressGroups []string  `json:"addressGroups,omitempty"`
	IPBlocks      []IPBlock `json:"ipBlocks,omitempty"`
	// FQDNs are names or patterns with "*"; only for DirectionOut.
	FQDNs []string `json:"fqdns,omitempty"`
	// ToServices are Services, matched by the connection's Service instead of its destination; only for DirectionOut.
	ToServices []ServiceReference `json:"toServices,omitempty"`
	// LabelIdentities are identities of Pods in other clusters of a ClusterSet.
	LabelIdentities []uint32 `json:"labelIdentities,omitempty"`
}

// ServiceReference names a Service.
type ServiceReference struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// L7Protocol matches requests of one protocol: exactly one field is set.
type L7Protocol struct {
	HTTP *HTTPProtocol `json:"http,omitempty"`
	TLS  *TLSProtocol  `json:"tls,omitempty"`
}

// HTTPProtocol matches HTTP requests; an empty field matches every value.
type HTTPProtocol struct {
	Host   string `json:"host,omitempty"`
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
}

// TLSProtocol matches TLS handshakes; an empty field matches every value.
type TLSProtocol struct {
	SNI string `json:"sni,omitempty"`
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
	Protocol *Protocol `json:"protocol,omitempty"`
	// Port is a number or the name of a container's port; nil means all ports.
	Port *intstr.IntOrString `json:"port,omitempty"`
	// EndPort makes Port, then a number, the first of a range that includes EndPort.
	EndPort *int32 `json:"endPort,omitempty"`
	// ICMPType and ICMPCode select messages of ProtocolICMP; nil means all.
	ICMPType *int32 `json:"icmpType,omitempty"`
	ICMPCode *int32 `json:"icmpCode,omitempty"`
	// IGMPType and GroupAddress select messages of ProtocolIGMP; nil and empty mean all.
	IGMPType     *int32 `json:"igmpType,omitempty"`
	GroupAddress string `json:"groupAddress,omitempty"`
	// SrcPort is the source port; SrcEndPort makes it the first of a range that includes SrcEndPort.
	SrcPort    *int32 `json:"srcPort,omitempty"`
	SrcEndPort *int32 `json:"srcEndPort,omitempty"`
}

// IPAddress is an address in network byte order: 4 bytes for IPv4, 16 for IPv6.
type IPAddress []byte

// IPNet is a CIDR. Bits after the prefix are zero.
type IPNet struct {
	IP           IPAddress `json:"ip,omitempty"`
	PrefixLength int32     `json:"prefixLength,omitempty"`
}

// IPBlock is a CIDR without some parts of it.
type IPBlock struct {
	CIDR   IPNet   `json:"cidr"`
	Except []IPNet `json:"except,omitempty"`
}

// PodReference names a Pod.
type PodReference struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// NamedPort is a container's port.
type NamedPort struct {
	Port     int32    `json:"port,omitempty"`
	Name     string   `json:"name,omitempty"`
	Protocol Protocol `json:"protocol,omitempty"`
}

// NodeReference names a Node.
type NodeReference struct {
	Name string `json:"name,omitempty"`
}

// ExternalEntityReference names an ExternalEntity.
type ExternalEntityReference struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// GroupMember is a Pod, a Node, a Service or an ExternalEntity in a group: exactly one reference is set. Members of an
// AppliedToGroup have no IPs.
type GroupMember struct {
	Pod *PodReference `json:"pod,omitempty"`
	IPs []IPAddress   `json:"ips,omitempty"`
	// Ports are the named ports of the Pod\'s containers.
	Ports []NamedPort    `json:"ports,omitempty"`
	Node  *NodeReference `json:"node,omitempty"`
	// Service is a member of AppliedToGroups only: connections to its NodePorts.
	Service        *ServiceReference        `json:"service,omitempty"`
	ExternalEntity *ExternalEntityReference `json:"externalEntity,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AddressGroup is a set of Pods that rules name as peers. Its name is a hash of its selector.
type AddressGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	GroupMembers      []GroupMember `json:"groupMembers,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AddressGroupPatch is sent by a watch when members of an AddressGroup change. A member whose addresses or ports change
// is in both lists.
type AddressGroupPatch struct {
	metav1.TypeMeta     `json:",inline"`
	metav1.ObjectMeta   `json:"metadata,omitempty"`
	AddedGroupMembers   []GroupMember `json:"addedGroupMembers,omitempty"`
	RemovedGroupMembers []GroupMember `json:"removedGroupMembers,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AddressGroupList is a list of AddressGroups.
type AddressGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AddressGroup `json:"items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AppliedToGroup is a set of Pods that policies apply to. Its name is a hash of its selector.
type AppliedToGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// GroupMembers are the members on the requested Node; all members without one.
	GroupMembers []GroupMember `json:"groupMembers,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AppliedToGroupPatch is sent by a watch when members of an AppliedToGroup change.
type AppliedToGroupPatch struct {
	metav1.TypeMeta     `json:",inline"`
	metav1.ObjectMeta   `json:"metadata,omitempty"`
	AddedGroupMembers   []GroupMember `json:"addedGroupMembers,omitempty"`
	RemovedGroupMembers []GroupMember `json:"removedGroupMembers,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AppliedToGroupList is a list of AppliedToGroups.
type AppliedToGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AppliedToGroup `json:"items"`
}

// Annotations of a NodeStatsSummary. With them, a report that is sent again is counted once. They are not Antrea's: a report
// without them is counted whenever it arrives.
const (
	// StatsSessionAnnotation names a series of reports: any string that no other series of the Node has.
	StatsSessionAnnotation = "stats.antrea.io/session"
	// StatsSequenceAnnotation is the number of a report in its series, in decimal, greater than the numbers before. A
	// report may be sent again, unchanged, until the next one.
	StatsSequenceAnnotation = "stats.antrea.io/sequence"
)

// MaxStatsSessionLength is the maximum length of a series' name.
const MaxStatsSessionLength = 64

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EgressGroup is the set of Pods of an Egress. It has the name and the UID of the Egress.
type EgressGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// GroupMembers are the members on the requested Node; all members without one. Only Pod is set.
	GroupMembers []GroupMember `json:"groupMembers,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EgressGroupPatch is sent by a watch when members of an EgressGroup change.
type EgressGroupPatch struct {
	metav1.TypeMeta     `json:",inline"`
	metav1.ObjectMeta   `json:"metadata,omitempty"`
	AddedGroupMembers   []GroupMember `json:"addedGroupMembers,omitempty"`
	RemovedGroupMembers []GroupMember `json:"removedGroupMembers,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EgressGroupList is a list of EgressGroups.
type EgressGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EgressGroup `json:"items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodeStatsSummary is an agent's report of the counts since its previous one. Its name is the name of the Node.
type NodeStatsSummary struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// These fields have each policy once: Kubernetes' policies, and the two kinds of Antrea.
	NetworkPolicies              []NetworkPolicyStats `json:"networkPolicies,omitempty"`
	AntreaClusterNetworkPolicies []NetworkPolicyStats `json:"antreaClusterNetworkPolicies,omitempty"`
	AntreaNetworkPolicies        []NetworkPolicyStats `json:"antreaNetworkPolicies,omitempty"`
}

// NetworkPolicyStats is the traffic of one policy on one Node: TrafficStats for Kubernetes' policies, RuleTrafficStats,
// with each rule once, for others.
type NetworkPolicyStats struct {
	NetworkPolicy    NetworkPolicyReference      `json:"networkPolicy,omitempty"`
	TrafficStats     v1alpha1.TrafficStats       `json:"trafficStats,omitempty"`
	RuleTrafficStats []v1alpha1.RuleTrafficStats `json:"ruleTrafficStats,omitempty"`
}
