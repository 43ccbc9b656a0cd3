// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the objects of multicluster.x-k8s.io/v1alpha1, of the Kubernetes Multi-Cluster Services API
// (sigs.k8s.io/mcs-api), with which users export Services and see imported ones.
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the version of the CRDs.
var SchemeGroupVersion = schema.GroupVersion{Group: "multicluster.x-k8s.io", Version: "v1alpha1"}

// Kinds of the objects.
const (
	ServiceExportKind = "ServiceExport"
	ServiceImportKind = "ServiceImport"
)

// The resources of the group.
var (
	ServiceExports = SchemeGroupVersion.WithResource("serviceexports")
	ServiceImports = SchemeGroupVersion.WithResource("serviceimports")
)

// Types of a ServiceExport's conditions. ServiceExportConflict is true while the export contradicts another cluster's.
const (
	ServiceExportValid    = "Valid"
	ServiceExportConflict = "Conflict"
)

// ServiceExport exports the Service of its name.
type ServiceExport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status ServiceExportStatus `json:"status,omitempty"`
}

// ServiceExportStatus contains whether the Service is exported.
type ServiceExportStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServiceImport describes a Service of other clusters.
type ServiceImport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ServiceImportSpec   `json:"spec,omitempty"`
	Status ServiceImportStatus `json:"status,omitempty"`
}

// Types of ServiceImports.
const (
	ClusterSetIP = "ClusterSetIP"
	Headless     = "Headless"
)

// ServiceImportSpec describes the Service.
type ServiceImportSpec struct {
	Ports []ServicePort `json:"ports"`
	// IPs has the ClusterIP of the derived Service, in a member.
	IPs                   []string                      `json:"ips,omitempty"`
	Type                  string                        `json:"type"`
	SessionAffinity       corev1.ServiceAffinity        `json:"sessionAffinity,omitempty"`
	SessionAffinityConfig *corev1.SessionAffinityConfig `json:"sessionAffinityConfig,omitempty"`
}

// ServicePort is a port of an imported Service.
type ServicePort struct {
	Name        string          `json:"name,omitempty"`
	Protocol    corev1.Protocol `json:"protocol,omitempty"`
	AppProtocol *string         `json:"appProtocol,omitempty"`
	Port        int32           `json:"port"`
}

// ServiceImportStatus is not written.
type ServiceImportStatus struct {
	Clusters []ClusterStatus `json:"clusters,omitempty"`
}

// ClusterStatus names an exporting cluster.
type ClusterStatus struct {
	Cluster string `json:"cluster"`
}
