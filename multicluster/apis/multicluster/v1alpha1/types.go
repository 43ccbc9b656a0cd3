// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the objects of multicluster.crd.antrea.io/v1alpha1: members and leader exchange ResourceExports,
// ResourceImports and MemberClusterAnnounces in the leader's Namespace; Gateways and ClusterInfoImports are a member's own. Kinds, fields,
// labels and names are Antrea's. The dynamic client reads and writes the objects (package pkg/client/crd), so they need no generated code.
//
// What this version does not use is in the schemas of the CRDs only: payloads of label identities and external entities.
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the version of the CRDs.
var SchemeGroupVersion = schema.GroupVersion{Group: "multicluster.crd.antrea.io", Version: "v1alpha1"}

// Kinds of the objects. All are namespaced.
const (
	ResourceExportKind        = "ResourceExport"
	ResourceImportKind        = "ResourceImport"
	MemberClusterAnnounceKind = "MemberClusterAnnounce"
	GatewayKind               = "Gateway"
	ClusterInfoImportKind     = "ClusterInfoImport"
)

// The resources of the group.
var (
	ResourceExports        = SchemeGroupVersion.WithResource("resourceexports")
	ResourceImports        = SchemeGroupVersion.WithResource("resourceimports")
	MemberClusterAnnounces = SchemeGroupVersion.WithResource("memberclusterannounces")
	Gateways               = SchemeGroupVersion.WithResource("gateways")
	ClusterInfoImports     = SchemeGroupVersion.WithResource("clusterinfoimports")
)

// MemberClusterAnnounce tells the leader that a member lives. The member rewrites its annotation TouchAnnotation.
type MemberClusterAnnounce struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	ClusterID       string `json:"clusterID,omitempty"`
	ClusterSetID    string `json:"clusterSetID,omitempty"`
	LeaderClusterID string `json:"leaderClusterID,omitempty"`
}

// Gateway is the Node of this cluster that carries what crosses clusters. It has the name of its Node, and there is one at most.
type Gateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// GatewayIP is the address that other clusters send to, InternalIP the one that Nodes of this cluster send to.
	GatewayIP  string `json:"gatewayIP,omitempty"`
	InternalIP string `json:"internalIP,omitempty"`
	// ServiceCIDR is this cluster's, of IPv4.
	ServiceCIDR string         `json:"serviceCIDR,omitempty"`
	WireGuard   *WireGuardInfo `json:"wireGuard,omitempty"`
}

// ClusterInfo tells the other clusters how to reach a cluster.
type ClusterInfo struct {
	ClusterID   string `json:"clusterID,omitempty"`
	ServiceCIDR string `json:"serviceCIDR,omitempty"`
	// GatewayInfos has one item.
	GatewayInfos []GatewayInfo  `json:"gatewayInfos,omitempty"`
	PodCIDRs     []string       `json:"podCIDRs,omitempty"`
	WireGuard    *WireGuardInfo `json:"wireGuard,omitempty"`
}

// MaxPodCIDRs is the number of podCIDRs that leaders and other members accept.
const MaxPodCIDRs = 64

// GatewayInfo is the address of a Gateway.
type GatewayInfo struct {
	GatewayIP string `json:"gatewayIP,omitempty"`
}

// WireGuardInfo is a public key of WireGuard, in base64.
type WireGuardInfo struct {
	PublicKey string `json:"publicKey,omitempty"`
}

// ClusterInfoImport is the ClusterInfo of another cluster, in a member.
type ClusterInfoImport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterInfo `json:"spec,omitempty"`
}

// Endpoints is the payload of both an export and an import.
type Endpoints struct {
	Subsets []EndpointSubset `json:"subsets,omitempty"`
}

// EndpointSubset is the part of a subset of core/v1 Endpoints that is exchanged: all addresses have all ports.
type EndpointSubset struct {
	Addresses []EndpointAddress `json:"addresses,omitempty"`
	Ports     []EndpointPort    `json:"ports,omitempty"`
}

// EndpointAddress is an address of IPv4.
type EndpointAddress struct {
	IP string `json:"ip"`
}

// EndpointPort is a port of an endpoint.
type EndpointPort struct {
	Name     string          `json:"name,omitempty"`
	Port     int32           `json:"port"`
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}
