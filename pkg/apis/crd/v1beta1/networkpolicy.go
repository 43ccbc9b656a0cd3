// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Kinds of policies.
const (
	ClusterNetworkPolicyKind = "ClusterNetworkPolicy"
	NetworkPolicyKind        = "NetworkPolicy"
)

// ClusterNetworkPolicy is a policy of the whole cluster.
type ClusterNetworkPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterNetworkPolicySpec `json:"spec"`
	Status NetworkPolicyStatus      `json:"status,omitempty"`
}

// ClusterNetworkPolicyList is a list of ClusterNetworkPolicies.
type ClusterNetworkPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterNetworkPolicy `json:"items"`
}

// NetworkPolicy is a policy of one Namespace.
type NetworkPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NetworkPolicySpec   `json:"spec"`
	Status NetworkPolicyStatus `json:"status,omitempty"`
}

// NetworkPolicyList is a list of NetworkPolicies.
type NetworkPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NetworkPolicy `json:"items"`
}

// ClusterNetworkPolicySpec has the fields of NetworkPolicySpec.
type ClusterNetworkPolicySpec = NetworkPolicySpec

// NetworkPolicySpec is an ordered list of rules for each direction.
type NetworkPolicySpec struct {
	// Tier is the name of a Tier. Admission sets it if it is empty.
	Tier string `json:"tier,omitempty"`
	// Priority is 1.0 to 10000.0. The smallest of a tier is first.
	Priority float64 `json:"priority"`
	// AppliedTo selects the workloads, unless each rule does.
	AppliedTo []AppliedTo `json:"appliedTo,omitempty"`
	Ingress   []Rule      `json:"ingress,omitempty"`
	Egress    []Rule      `json:"egress,omitempty"`
}

// RuleAction is applied to the connections that a rule matches.
type RuleAction string

const (
	RuleActionAllow  RuleAction = "Allow"
	RuleActionDrop   RuleAction = "Drop"
	RuleActionReject RuleAction = "Reject"
	// RuleActionPass ends the evaluation of tiers: Kubernetes' policies and the baseline tier decide.
	RuleActionPass RuleAction = "Pass"
)

// Rule matches connections by peer and by port or protocol. Ports and Protocols are a union; none of both means all.
type Rule struct {
	// Action is always set in objects from the Kubernetes API.
	Action      *RuleAction             `json:"action"`
	Ports       []NetworkPolicyPort     `json:"ports,omitempty"`
	Protocols   []NetworkPolicyProtocol `json:"protocols,omitempty"`
	L7Protocols []L7Protocol            `json:"l7Protocols,omitempty"`
	// From are the sources of an ingress rule, To the destinations of an egress rule. An empty list means everything, unless
	// ToServices is set.
	From       []NetworkPolicyPeer `json:"from,omitempty"`
	To         []NetworkPolicyPeer `json:"to,omitempty"`
	ToServices []PeerService       `json:"toServices,omitempty"`
	// Name is unique in the policy. Admission sets it if it is empty.
	Name          string      `json:"name,omitempty"`
	EnableLogging bool        `json:"enableLogging,omitempty"`
	LogLabel      string      `json:"logLabel,omitempty"`
	AppliedTo     []AppliedTo `json:"appliedTo,omitempty"`
}

// NetworkPolicyPeer selects addresses. An empty one selects all Pods: of the cluster in a ClusterNetworkPolicy, of its
// Namespace in a NetworkPolicy. The schema of both kinds has all fields; admission refuses those that a kind does not
// have, because a field that the API left out would select all Pods.
type NetworkPolicyPeer struct {
	IPBlock           *IPBlock              `json:"ipBlock,omitempty"`
	PodSelector       *metav1.LabelSelector `json:"podSelector,omitempty"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Namespaces, only in a ClusterNetworkPolicy, selects Namespaces by the Namespace of the Pod to which the rule applies.
	Namespaces             *PeerNamespaces       `json:"namespaces,omitempty"`
	ExternalEntitySelector *metav1.LabelSelector `json:"externalEntitySelector,omitempty"`
	// Group is the name of a ClusterGroup for a ClusterNetworkPolicy, of a Group for a NetworkPolicy.
	Group string `json:"group,omitempty"`
	// FQDN, only of egress rules, is a name or a pattern with "*".
	FQDN string `json:"fqdn,omitempty"`
	// ServiceAccount is only in a ClusterNetworkPolicy.
	ServiceAccount *NamespacedName       `json:"serviceAccount,omitempty"`
	NodeSelector   *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// Scope is only of ingress rules.
	Scope MulticlusterScope `json:"scope,omitempty"`
}

// AppliedTo selects the workloads to which a policy or a rule applies. As for NetworkPolicyPeer, the schema of both kinds
// has all fields.
type AppliedTo struct {
	PodSelector            *metav1.LabelSelector `json:"podSelector,omitempty"`
	NamespaceSelector      *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	ExternalEntitySelector *metav1.LabelSelector `json:"externalEntitySelector,omitempty"`
	// Group is the name of a ClusterGroup for a ClusterNetworkPolicy, of a Group for a NetworkPolicy.
	Group          string          `json:"group,omitempty"`
	ServiceAccount *NamespacedName `json:"serviceAccount,omitempty"`
	// Service is a Service of type NodePort, whose clients outside the cluster the ingress rules match.
	Service *NamespacedName `json:"service,omitempty"`
	// NodeSelector selects Nodes themselves.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
}

// MulticlusterScope reports whether the Pods of other clusters of a ClusterSet count. Empty means ScopeCluster.
type MulticlusterScope string

const (
	ScopeCluster    MulticlusterScope = "Cluster"
	ScopeClusterSet MulticlusterScope = "ClusterSet"
)

// NamespaceMatchType relates a peer's Namespace to the Namespace of the Pod to which the rule applies.
type NamespaceMatchType string

// NamespaceMatchSelf matches the same Namespace.
const NamespaceMatchSelf NamespaceMatchType = "Self"

// PeerNamespaces has exactly one field.
type PeerNamespaces struct {
	Match NamespaceMatchType `json:"match,omitempty"`
	// SameLabels are keys of labels whose values both Namespaces have in common.
	SameLabels []string `json:"sameLabels,omitempty"`
}

// NamespacedName names an object.
type NamespacedName struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// IPBlock is a CIDR without parts of it.
type IPBlock struct {
	CIDR   string   `json:"cidr"`
	Except []string `json:"except,omitempty"`
}

// PeerService names a Service. Without Namespace it is in the policy's.
type PeerService struct {
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Scope     MulticlusterScope `json:"scope,omitempty"`
}

// NetworkPolicyPort is a range of destination ports and one of source ports. The end of a range belongs to it.
type NetworkPolicyPort struct {
	// Protocol is TCP if nil.
	Protocol *corev1.Protocol `json:"protocol,omitempty"`
	// Port is a number or the name of a container's port; nil means all.
	Port          *intstr.IntOrString `json:"port,omitempty"`
	EndPort       *int32              `json:"endPort,omitempty"`
	SourcePort    *int32              `json:"sourcePort,omitempty"`
	SourceEndPort *int32              `json:"sourceEndPort,omitempty"`
}

// NetworkPolicyProtocol has exactly one field.
type NetworkPolicyProtocol struct {
	ICMP *ICMPProtocol `json:"icmp,omitempty"`
	IGMP *IGMPProtocol `json:"igmp,omitempty"`
}

// ICMPProtocol matches ICMP in IPv4 and, with the same numbers, ICMPv6 in IPv6. A nil field means all.
type ICMPProtocol struct {
	ICMPType *int32 `json:"icmpType,omitempty"`
	ICMPCode *int32 `json:"icmpCode,omitempty"`
}

// IGMPProtocol matches IGMP. A missing field means all.
type IGMPProtocol struct {
	IGMPType     *int32 `json:"igmpType,omitempty"`
	GroupAddress string `json:"groupAddress,omitempty"`
}

// L7Protocol has exactly one field.
type L7Protocol struct {
	HTTP *HTTPProtocol `json:"http,omitempty"`
	TLS  *TLSProtocol  `json:"tls,omitempty"`
}

// HTTPProtocol matches requests. An empty field means all.
type HTTPProtocol struct {
	Host   string `json:"host,omitempty"`
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
}

// TLSProtocol matches handshakes. An empty SNI means all.
type TLSProtocol struct {
	SNI string `json:"sni,omitempty"`
}

// NetworkPolicyPhase is the progress of a policy.
type NetworkPolicyPhase string

const (
	NetworkPolicyPending   NetworkPolicyPhase = "Pending"
	NetworkPolicyRealizing NetworkPolicyPhase = "Realizing"
	NetworkPolicyRealized  NetworkPolicyPhase = "Realized"
	NetworkPolicyFailed    NetworkPolicyPhase = "Failed"
)

// NetworkPolicyStatus says on how many Nodes a policy is enforced.
type NetworkPolicyStatus struct {
	Phase NetworkPolicyPhase `json:"phase,omitempty"`
	// ObservedGeneration is the generation of the policy that the status is about.
	ObservedGeneration   int64                    `json:"observedGeneration"`
	CurrentNodesRealized int32                    `json:"currentNodesRealized"`
	DesiredNodesRealized int32                    `json:"desiredNodesRealized"`
	Conditions           []NetworkPolicyCondition `json:"conditions,omitempty"`
}

// NetworkPolicyConditionType names one aspect of a policy's state.
type NetworkPolicyConditionType string

const (
	// NetworkPolicyConditionRealizable is false if the policy, or a part of it, cannot be enforced anywhere.
	NetworkPolicyConditionRealizable NetworkPolicyConditionType = "Realizable"
	// NetworkPolicyConditionRealizationFailure is true if Nodes have failed to enforce it.
	NetworkPolicyConditionRealizationFailure NetworkPolicyConditionType = "RealizationFailure"
)

// NetworkPolicyCondition is the state of one aspect.
type NetworkPolicyCondition struct {
	Type               NetworkPolicyConditionType `json:"type"`
	Status             metav1.ConditionStatus     `json:"status"`
	LastTransitionTime metav1.Time                `json:"lastTransitionTime"`
	Reason             string                     `json:"reason,omitempty"`
	Message            string                     `json:"message,omitempty"`
}
