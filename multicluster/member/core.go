// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// The objects that are written.
var (
	clusterSets     = change.Type{Resource: v1alpha2.ClusterSets, Kind: v1alpha2.ClusterSetKind}
	resourceExports = change.Type{Resource: v1alpha1.ResourceExports, Kind: v1alpha1.ResourceExportKind}
	gatewayObjects  = change.Type{Resource: v1alpha1.Gateways, Kind: v1alpha1.GatewayKind}
	infoImports     = change.Type{Resource: v1alpha1.ClusterInfoImports, Kind: v1alpha1.ClusterInfoImportKind}
	serviceExports  = change.Type{Resource: mcs.ServiceExports, Kind: mcs.ServiceExportKind}
	serviceImports  = change.Type{Resource: mcs.ServiceImports, Kind: mcs.ServiceImportKind}
	coreServices    = change.Type{Resource: corev1.SchemeGroupVersion.WithResource("services"), Kind: "Service"}
	coreEndpoints   = change.Type{Resource: corev1.SchemeGroupVersion.WithResource("endpoints"), Kind: "Endpoints"}
	clusterPolicies = change.Type{Resource: crd.ClusterNetworkPolicies, Kind: v1beta1.ClusterNetworkPolicyKind, Strict: true}
	events          = change.Type{Resource: corev1.SchemeGroupVersion.WithResource("events"), Kind: "Event"}
	endpointSlices  = change.Type{Resource: discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), Kind: "EndpointSlice"}
)

// localChanges returns what has to be written to this cluster, in this order, and what is not imported or exported.
func (s *snapshot) localChanges() ([]change.Change, []refusal) {
	imports, refusals := s.importChanges()
	refusals = append(s.infoRefusal(), refusals...)
	return slices.Concat(s.gatewayChanges(), s.statusChanges(refusals), s.serviceExportChanges(), imports), refusals
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// withAll returns a copy of labels with others added.
func withAll(labels, others map[string]string) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, others)
	return out
}
