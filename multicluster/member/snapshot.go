// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
)

// key names an object of a Namespace.
type key = types.NamespacedName

func keyOf(object metav1.Object) key {
	return key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// snapshot is all that the core decides on. Lists are in the order of Namespaces and names.
type snapshot struct {
	now       metav1.Time
	namespace string
	settings  Settings
	// serviceCIDR is this cluster's; invalid while it is unknown.
	serviceCIDR netip.Prefix

	// set is the ClusterSet in effect; nil if this cluster is in none.
	set *v1alpha2.ClusterSet
	// connection is the state of the connection to the leader.
	connection connection
	leader     leader

	serviceExports []*mcs.ServiceExport
	// services has exported and imported Services, and those that imports would replace; slices the ones of exported Services.
	services map[key]*corev1.Service
	slices   map[key][]*discoveryv1.EndpointSlice
	nodes    []*corev1.Node
	gateways []*v1alpha1.Gateway
	// namespaces has the Namespaces that are not being deleted.
	namespaces map[string]bool

	imported imported
	policies policies
}

// connection reports whether the leader has accepted this member's announce lately.
type connection struct {
	up bool
	// message says why it is not up.
	message string
}

// leader contains all that the leader shows, in the Namespace of the ClusterSet. It is ready once all is read.
type leader struct {
	ready   bool
	imports []*v1alpha1.ResourceImport
	// unreadable are names of ResourceImports.
	unreadable []string
	// exports are this member's own; refused says why the leader's API does not take others, by name.
	exports []*v1alpha1.ResourceExport
	refused map[string]string
	// recovering is set while the leader is, or has just been, without anything of this member: nothing imported is deleted then.
	recovering bool
}

// imported contains the objects that this controller has made of imports. Some may belong to others: see ours.
type imported struct {
	services       []*corev1.Service
	endpoints      []*Endpoints
	slices         []*discoveryv1.EndpointSlice
	serviceImports []*mcs.ServiceImport
	infos          []*v1alpha1.ClusterInfoImport
}

// Endpoints is the part of core/v1 Endpoints that imports have. Users expect this object; EndpointSlices have the effect.
type Endpoints struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Subsets []v1alpha1.EndpointSubset `json:"subsets,omitempty"`
}

// ours reports whether an object was derived from an import.
func ours(object metav1.Object) bool {
	return object.GetAnnotations()[v1alpha1.ImportedServiceAnnotation] == "true"
}

func clusterID(s *snapshot) string { return s.set.Spec.ClusterID }
