// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 defines ClusterSet of multicluster.crd.antrea.io/v1alpha2, with Antrea's fields.
package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the version of the CRD.
var SchemeGroupVersion = schema.GroupVersion{Group: "multicluster.crd.antrea.io", Version: "v1alpha2"}

// ClusterSetKind is the kind of ClusterSet.
const ClusterSetKind = "ClusterSet"

// ClusterSets is the resource of ClusterSet.
var ClusterSets = SchemeGroupVersion.WithResource("clustersets")

// ClusterSet makes its cluster a member, or a leader. Its name is the ID of the set, the same in all clusters.
type ClusterSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterSetSpec   `json:"spec,omitempty"`
	Status ClusterSetStatus `json:"status,omitempty"`
}

// ClusterSetSpec is a leader's if ClusterID is the leader's in Leaders.
type ClusterSetSpec struct {
	// ClusterID is this cluster's.
	ClusterID string `json:"clusterID"`
	// Leaders has one item.
	Leaders []LeaderClusterInfo `json:"leaders"`
	// Namespace is the leader's; empty in the leader's own ClusterSet.
	Namespace string `json:"namespace,omitempty"`
}

// LeaderClusterInfo says how a member reaches the leader.
type LeaderClusterInfo struct {
	ClusterID string `json:"clusterID"`
	// Server is the URL of the leader's Kubernetes API.
	Server string `json:"server,omitempty"`
	// Secret has the token (keys token and ca.crt), in the ClusterSet's Namespace.
	Secret string `json:"secret,omitempty"`
}

// ClusterSetStatus is written by the controller of the cluster.
type ClusterSetStatus struct {
	TotalClusters      int32                 `json:"totalClusters,omitempty"`
	ReadyClusters      int32                 `json:"readyClusters,omitempty"`
	ObservedGeneration int64                 `json:"observedGeneration,omitempty"`
	Conditions         []ClusterSetCondition `json:"conditions,omitempty"`
	ClusterStatuses    []ClusterStatus       `json:"clusterStatuses,omitempty"`
}

// Types of conditions. ClusterSetReady is both the set's and one cluster's.
const (
	ClusterSetReady = "Ready"
	// ClusterIsLeader is true in a member's view of its leader.
	ClusterIsLeader = "IsLeader"
)

// ClusterSetCondition is one aspect of a set, or of a cluster in it.
type ClusterSetCondition struct {
	Type               string                 `json:"type"`
	Status             corev1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"`
	Message            string                 `json:"message,omitempty"`
	Reason             string                 `json:"reason,omitempty"`
}

// ClusterStatus is the state of one cluster.
type ClusterStatus struct {
	ClusterID  string                `json:"clusterID,omitempty"`
	Conditions []ClusterSetCondition `json:"conditions,omitempty"`
}
