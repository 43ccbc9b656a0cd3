// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// Labels of a ResourceExport. Exports of Services and Endpoints have all, others SourceKindLabel and SourceClusterIDLabel.
const (
	SourceNameLabel      = "sourceName"
	SourceNamespaceLabel = "sourceNamespace"
	SourceClusterIDLabel = "sourceClusterID"
	SourceKindLabel      = "sourceKind"
)

// Finalizers: the leader removes them when nothing of the object is left.
const (
	ResourceExportFinalizer = "resourceexport.antrea.io/finalizer"
	// LegacyResourceExportFinalizer was written by members of former versions of Antrea.
	LegacyResourceExportFinalizer = "resourceexport.finalizers.antrea.io"
	announceFinalizerPrefix       = "memberclusterannounce.finalizer.antrea.io/"
)

// Annotations.
const (
	// TouchAnnotation of a MemberClusterAnnounce has the time of its last change, as RFC 3339.
	TouchAnnotation = "touch-ts"
	// ClusterUIDAnnotation of a MemberClusterAnnounce has the UID of the member's Namespace kube-system, by which two clusters with one ID are told
	// apart. Antrea does not have it.
	ClusterUIDAnnotation = "multicluster.antrea.io/cluster-uid"
	// ImportedServiceAnnotation is "true" on Services, Endpoints and EndpointSlices that a member derives from imports.
	ImportedServiceAnnotation = "multicluster.antrea.io/imported-service"
	// ImportedPolicyAnnotation is "true" on ClusterNetworkPolicies that a member derives from imports.
	ImportedPolicyAnnotation = "multicluster.antrea.io/imported-acnp"
	// GatewayAnnotation makes a Node a candidate, whatever its value. GatewayIPAnnotation overrides the Gateway's address.
	GatewayAnnotation   = "multicluster.antrea.io/gateway"
	GatewayIPAnnotation = "multicluster.antrea.io/gateway-ip"
	// ClusterIDAnnotation of a ServiceAccount in the leader's Namespace says which member it is.
	ClusterIDAnnotation = "multicluster.antrea.io/cluster-id"
	// NetworksAnnotation of such a ServiceAccount has the networks, separated by commas, that the member may claim and export Endpoints in. Without
	// it there is no bound. Antrea does not have it.
	NetworksAnnotation = "multicluster.antrea.io/networks"
	// CreatedByAntctlAnnotation is "true" on objects that antctl makes and deletes.
	CreatedByAntctlAnnotation = "multicluster.antrea.io/created-by-antctl"
)

// ImportedPrefix begins the names of derived objects.
const ImportedPrefix = "antrea-mc-"

const announcePrefix = "member-announce-from-"

// AnnounceName is the name of a member's MemberClusterAnnounce.
func AnnounceName(clusterID string) string { return announcePrefix + clusterID }

// AnnounceFinalizer is the finalizer of a member's MemberClusterAnnounce.
func AnnounceFinalizer(clusterID string) string { return announceFinalizerPrefix + clusterID }

// ClusterInfoName is the name of a ClusterInfo's ResourceExport, ResourceImport and ClusterInfoImport.
func ClusterInfoName(clusterID string) string { return clusterID + "-clusterinfo" }

// ExportName is the name of the ResourceExport of a Service or Endpoints.
func ExportName(clusterID, namespace, name, kind string) string {
	return clusterID + "-" + namespace + "-" + name + "-" + strings.ToLower(kind)
}

// ImportName is the name of the ResourceImport of exports of ServiceKind or EndpointsKind. Different Namespaces and names can make the same one.
func ImportName(namespace, name, kind string) string {
	return namespace + "-" + name + "-" + strings.ToLower(kind)
}

// PolicyImportName is the name of the ResourceImport of exports of ClusterNetworkPolicyKind.
func PolicyImportName(name string) string {
	return name + "-" + strings.ToLower(ClusterNetworkPolicyKind)
}

// ImportedName is the name of the Service, Endpoints, EndpointSlice or ClusterNetworkPolicy that a member derives.
func ImportedName(name string) string { return ImportedPrefix + name }
