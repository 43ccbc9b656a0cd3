// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
)

// Values of spec.kind. A ResourceExport of ServiceKind becomes a ResourceImport of ServiceImportKind; the others keep their kind.
const (
	ServiceKind       = "Service"
	ServiceImportKind = "ServiceImport"
	EndpointsKind     = "Endpoints"
	ClusterInfoKind   = "ClusterInfo"
	// LabelIdentityKind is not built: it is left as it is.
	LabelIdentityKind = "LabelIdentity"
	// ClusterNetworkPolicyKind is exported by an administrator of the leader, and no member's.
	ClusterNetworkPolicyKind = "AntreaClusterNetworkPolicy"
)

// ResourceExport is something that one member, or an administrator, gives to the others, in the leader's Namespace.
type ResourceExport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ResourceExportSpec   `json:"spec,omitempty"`
	Status ResourceExportStatus `json:"status,omitempty"`
}

// ResourceExportSpec has the payload of its kind.
type ResourceExportSpec struct {
	ClusterID string `json:"clusterID,omitempty"`
	// Name and Namespace are the exported object's.
	Name        string         `json:"name,omitempty"`
	Namespace   string         `json:"namespace,omitempty"`
	Kind        string         `json:"kind,omitempty"`
	Service     *ServiceExport `json:"service,omitempty"`
	Endpoints   *Endpoints     `json:"endpoints,omitempty"`
	ClusterInfo *ClusterInfo   `json:"clusterInfo,omitempty"`
	// ClusterNetworkPolicy is the spec of a ClusterNetworkPolicy of Antrea, of which no field may be lost: package policy reads it.
	ClusterNetworkPolicy any `json:"clusterNetworkPolicy,omitempty"`
	// LabelIdentity is not built; the field is known so that its absence is.
	LabelIdentity *LabelIdentityExport `json:"labelIdentity,omitempty"`
}

// ServiceExport is the payload of a Service: only its ports are filled in.
type ServiceExport struct {
	ServiceSpec corev1.ServiceSpec `json:"serviceSpec,omitempty"`
}

// LabelIdentityExport is the payload of a label identity.
type LabelIdentityExport struct {
	NormalizedLabel string `json:"normalizedLabel,omitempty"`
}

// Conditions of a ResourceExport, the reason of a failure and its message.
const (
	ResourceExportSucceeded = "Succeeded"
	ResourceExportFailure   = "Failure"
	ConvergeFailureReason   = "ConvergeFailure"
	ConvergeFailureMessage  = "ResourceExport can't be converged to ResourceImport"
)

// ResourceExportStatus is written by the leader.
type ResourceExportStatus struct {
	Conditions []ResourceCondition `json:"conditions,omitempty"`
}

// ResourceCondition is one aspect of a ResourceExport.
type ResourceCondition struct {
	Type               string                 `json:"type,omitempty"`
	Status             corev1.ConditionStatus `json:"status,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"`
	Message            string                 `json:"message,omitempty"`
	Reason             string                 `json:"reason,omitempty"`
}

// ResourceImport is something that the leader gives to all members. Antrea's members write a status, which is never read: any member can write it.
type ResourceImport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ResourceImportSpec `json:"spec,omitempty"`
}

// ResourceImportSpec has the payload of its kind.
type ResourceImportSpec struct {
	// ClusterIDs are the clusters that it is for; empty for all. In JSON the name is a single ID's.
	ClusterIDs    []string           `json:"clusterID,omitempty"`
	Name          string             `json:"name,omitempty"`
	Namespace     string             `json:"namespace,omitempty"`
	Kind          string             `json:"kind,omitempty"`
	ServiceImport *mcs.ServiceImport `json:"serviceImport,omitempty"`
	Endpoints     *Endpoints         `json:"endpoints,omitempty"`
	ClusterInfo   *ClusterInfo       `json:"clusterinfo,omitempty"`
	// ClusterNetworkPolicy is ClusterNetworkPolicy of ResourceExportSpec.
	ClusterNetworkPolicy any `json:"clusternetworkpolicy,omitempty"`
}
