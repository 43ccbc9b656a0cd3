// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicyStatus contains reports of Nodes about the NetworkPolicy with its name.
type NetworkPolicyStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Nodes             []NetworkPolicyNodeStatus `json:"nodes,omitempty"`
}

// NetworkPolicyNodeStatus says that a Node enforces a policy, or why it cannot.
type NetworkPolicyNodeStatus struct {
	NodeName string `json:"nodeName,omitempty"`
	// Generation is the generation of the NetworkPolicy that the report is about.
	Generation         int64 `json:"generation,omitempty"`
	RealizationFailure bool  `json:"realizationFailure,omitempty"`
	// Message is the reason of a failure.
	Message string `json:"message,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterGroupMembers are the members of a ClusterGroup, whose name it has: one page of them.
type ClusterGroupMembers struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	EffectiveMembers  []GroupMember `json:"effectiveMembers,omitempty"`
	// EffectiveIPBlocks are the CIDRs of the group without their exceptions. They are on every page.
	EffectiveIPBlocks []IPNet `json:"effectiveIPBlocks,omitempty"`
	TotalMembers      int64   `json:"totalMembers"`
	TotalPages        int64   `json:"totalPages"`
	CurrentPage       int64   `json:"currentPage"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// GroupMembers are the members of a Group, whose Namespace and name it has: one page of them.
type GroupMembers struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	EffectiveMembers  []GroupMember `json:"effectiveMembers,omitempty"`
	// EffectiveIPBlocks are the CIDRs of the group without their exceptions. They are on every page.
	EffectiveIPBlocks []IPNet `json:"effectiveIPBlocks,omitempty"`
	TotalMembers      int64   `json:"totalMembers"`
	TotalPages        int64   `json:"totalPages"`
	CurrentPage       int64   `json:"currentPage"`
}

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PaginationGetOptions are the parameters of a request for members: Page counts from 1, and Limit 0 means all.
type PaginationGetOptions struct {
	metav1.TypeMeta `json:",inline"`
	Page            int64 `json:"page,omitempty"`
	Limit           int64 `json:"limit,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// GroupAssociation are the groups of a Pod or ExternalEntity, whose Namespace and name it has.
type GroupAssociation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	AssociatedGroups  []GroupReference `json:"associatedGroups"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// IPGroupAssociation are the groups that contain an address, which is its name.
type IPGroupAssociation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	AssociatedGroups  []GroupReference `json:"associatedGroups"`
}

// GroupReference names a Group, or, without Namespace, a ClusterGroup.
type GroupReference struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicyEvaluation asks which rule decides about connections between two Pods.
type NetworkPolicyEvaluation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Request           *NetworkPolicyEvaluationRequest  `json:"request,omitempty"`
	Response          *NetworkPolicyEvaluationResponse `json:"response,omitempty"`
}

// NetworkPolicyEvaluationRequest names the two Pods.
type NetworkPolicyEvaluationRequest struct {
	Source      Entity `json:"source,omitempty"`
	Destination Entity `json:"destination,omitempty"`
}

// Entity is a Pod.
type Entity struct {
	Pod *PodReference `json:"pod,omitempty"`
}

// NetworkPolicyEvaluationResponse names the rule.
type NetworkPolicyEvaluationResponse struct {
	NetworkPolicy NetworkPolicyReference `json:"networkPolicy,omitempty"`
	// RuleIndex is the index among the rules of the direction; 2147483647 if no rule matches and the policy isolates.
	RuleIndex int32   `json:"ruleIndex,omitempty"`
	Rule      RuleRef `json:"rule,omitempty"`
}

// RuleRef describes a rule. Action is nil if the policy isolates.
type RuleRef struct {
	Direction Direction   `json:"direction,omitempty"`
	Name      string      `json:"name,omitempty"`
	Action    *RuleAction `json:"action,omitempty"`
}
