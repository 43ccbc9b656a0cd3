// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicyStatus contains reports of Nodes about the NetworkPolicy with its name.
type NetworkPolicyStatus struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Nodes []NetworkPolicyNodeStatus
}

// NetworkPolicyNodeStatus says that a Node enforces a policy, or why it cannot.
type NetworkPolicyNodeStatus struct {
	NodeName string
	// Generation is the generation of the NetworkPolicy that the report is about.
	Generation         int64
	RealizationFailure bool
	// Message is the reason of a failure.
	Message string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterGroupMembers are the members of a ClusterGroup, whose name it has: one page of them.
type ClusterGroupMembers struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	EffectiveMembers []GroupMember
	// EffectiveIPBlocks are the CIDRs of the group without their exceptions. They are on every page.
	EffectiveIPBlocks []IPNet
	TotalMembers      int64
	TotalPages        int64
	CurrentPage       int64
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// GroupMembers are the members of a Group, whose Namespace and name it has: one page of them.
type GroupMembers struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	EffectiveMembers []GroupMember
	// EffectiveIPBlocks are the CIDRs of the group without their exceptions. They are on every page.
	EffectiveIPBlocks []IPNet
	TotalMembers      int64
	TotalPages        int64
	CurrentPage       int64
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PaginationGetOptions are the parameters of a request for members: Page counts from 1, and Limit 0 means all.
type PaginationGetOptions struct {
	metav1.TypeMeta
	Page  int64
	Limit int64
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// GroupAssociation are the groups of a Pod or ExternalEntity, whose Namespace and name it has.
type GroupAssociation struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	AssociatedGroups []GroupReference
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// IPGroupAssociation are the groups that contain an address, which is its name.
type IPGroupAssociation struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	AssociatedGroups []GroupReference
}

// GroupReference names a Group, or, without Namespace, a ClusterGroup.
type GroupReference struct {
	Namespace string
	Name      string
	UID       types.UID
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NetworkPolicyEvaluation asks which rule decides about connections between two Pods.
type NetworkPolicyEvaluation struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Request  *NetworkPolicyEvaluationRequest
	Response *NetworkPolicyEvaluationResponse
}

// NetworkPolicyEvaluationRequest names the two Pods.
type NetworkPolicyEvaluationRequest struct {
	Source      Entity
	Destination Entity
}

// Entity is a Pod.
type Entity struct {
	Pod *PodReference
}

// NetworkPolicyEvaluationResponse names the rule.
type NetworkPolicyEvaluationResponse struct {
	NetworkPolicy NetworkPolicyReference
	// RuleIndex is the index among the rules of the direction; 2147483647 if no rule matches and the policy isolates.
	RuleIndex int32
	Rule      RuleRef
}

// RuleRef describes a rule. Action is nil if the policy isolates.
type RuleRef struct {
	Direction Direction
	Name      string
	Action    *RuleAction
}
