// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Kinds of groups.
const (
	ClusterGroupKind = "ClusterGroup"
	GroupKind        = "Group"
)

// ClusterGroup is a set of addresses that ClusterNetworkPolicies name. An empty spec selects all Pods.
type ClusterGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GroupSpec   `json:"spec"`
	Status GroupStatus `json:"status,omitempty"`
}

// ClusterGroupList is a list of ClusterGroups.
type ClusterGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterGroup `json:"items"`
}

// Group is a set of addresses that NetworkPolicies of its Namespace name. An empty spec selects all Pods of the Namespace.
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GroupSpec   `json:"spec"`
	Status GroupStatus `json:"status,omitempty"`
}

// GroupList is a list of Groups.
type GroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Group `json:"items"`
}

// GroupSpec has one source of addresses. PodSelector or ExternalEntitySelector may be beside NamespaceSelector.
type GroupSpec struct {
	PodSelector            *metav1.LabelSelector `json:"podSelector,omitempty"`
	NamespaceSelector      *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	ExternalEntitySelector *metav1.LabelSelector `json:"externalEntitySelector,omitempty"`
	// NodeSelector is only in a ClusterGroup.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	IPBlocks     []IPBlock             `json:"ipBlocks,omitempty"`
	// ServiceReference selects the Pods that the selector of a Service selects.
	ServiceReference *NamespacedName `json:"serviceReference,omitempty"`
	// ChildGroups are ClusterGroups for a ClusterGroup, Groups of the Namespace for a Group. A child has no children.
	ChildGroups []ClusterGroupReference `json:"childGroups,omitempty"`
}

// ClusterGroupReference is the name of a ClusterGroup or Group.
type ClusterGroupReference string

// GroupConditionType names one aspect of a group's state.
type GroupConditionType string

// GroupMembersComputed is true when the members are known; without it they are not known yet.
const GroupMembersComputed GroupConditionType = "GroupMembersComputed"

// GroupStatus is the state of a group.
type GroupStatus struct {
	Conditions []GroupCondition `json:"conditions,omitempty"`
}

// GroupCondition is the state of one aspect.
type GroupCondition struct {
	Type               GroupConditionType     `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}
