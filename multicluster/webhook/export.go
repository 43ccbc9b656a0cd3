// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// export judges a ResourceExport. A member writes its own ones only, and other ServiceAccounts of the Namespace none. Others who have the right
// to write one, such as administrators, are trusted. All members have to be able to import a new payload.
func (c Config) export(r review[v1alpha1.ResourceExport]) (string, error) {
	member, refusal, err := c.member(r)
	if err != nil || refusal != "" {
		return refusal, err
	}
	if member.clusterID != "" {
		if refusal := ownExport(r, member.clusterID); refusal != "" {
			return refusal, nil
		}
	}
	if r.wanted == nil || r.former != nil && equality.Semantic.DeepEqual(r.former.Spec, r.wanted.Spec) {
		return "", nil
	}
	if n := len(r.Object.Raw); n > maxObject {
		return fmt.Sprintf("the ResourceExport has %d bytes; allowed: %d", n, maxObject), nil
	}
	if refusal := payload(&r.wanted.Spec); refusal != "" {
		return refusal, nil
	}
	if refusal := outside(&r.wanted.Spec, member.networks); refusal != "" || r.wanted.Spec.Kind != v1alpha1.ClusterInfoKind {
		return refusal, nil
	}
	return c.overlap(r)
}

// member returns the member that makes the request, without a ClusterID if that is not a member.
func (c Config) member(r review[v1alpha1.ResourceExport]) (member identity, refusal string, err error) {
	who, refusal := callerOf(r.AdmissionRequest)
	if refusal != "" || who.namespace != c.Namespace || c.isController(who) && r.Operation != admissionv1.Create {
		return identity{}, refusal, nil
	}
	id, err := c.identityOf(who)
	switch {
	case err != nil:
		return identity{}, "", err
	case !id.found && r.Operation == admissionv1.Delete && r.former.DeletionTimestamp != nil:
		return identity{}, "", nil
	case !id.found:
		return identity{}, "ServiceAccount not found", nil
	case !id.bound:
		return identity{}, fmt.Sprintf("ServiceAccount %q is not permitted to write or delete ResourceExports: it has no %s annotation", who.name, v1alpha1.ClusterIDAnnotation), nil
	case id.clusterID == "":
		return identity{}, "ClusterID annotation on ServiceAccount is empty", nil
	}
	return id, "", nil
}

// ownExport refuses what is not a member's own: a policy never is, whatever its ClusterID. The messages contain no member's ID.
func ownExport(r review[v1alpha1.ResourceExport], clusterID string) string {
	if r.former != nil && (r.former.Spec.ClusterID != clusterID || r.former.Spec.Kind == v1alpha1.ClusterNetworkPolicyKind) {
		return "Member cluster is not authorized to modify or delete ResourceExports owned by another member"
	}
	if r.wanted == nil {
		return ""
	}
	return first(stableExport(r.former, r.wanted), completeExport(&r.wanted.Spec), identifiedExport(r.wanted, clusterID), finalizedExport(r.former, r.wanted))
}

// named reports whether a ResourceExport is of an object with a name and a Namespace, which are parts of its own name.
func named(kind string) bool { return kind == v1alpha1.ServiceKind || kind == v1alpha1.EndpointsKind }

// stableExport refuses changes that would leave what the leader has made of the former export.
func stableExport(former, wanted *v1alpha1.ResourceExport) string {
	if former == nil {
		return ""
	}
	if finalized(former) && !finalized(wanted) {
		return "Member cluster is not authorized to remove the ResourceExport finalizer"
	}
	f, w := &former.Spec, &wanted.Spec
	if f.Kind != w.Kind || named(w.Kind) && (f.Namespace != w.Namespace || f.Name != w.Name) {
		return "Spec.Namespace, Spec.Name and Spec.Kind are immutable"
	}
	return ""
}

// completeExport refuses kinds that members do not export, and payloads that are missing.
func completeExport(spec *v1alpha1.ResourceExportSpec) string {
	switch spec.Kind {
	case v1alpha1.ServiceKind:
		if spec.Service == nil {
			return "Member cluster is not authorized to create a Service ResourceExport without Spec.Service"
		}
	case v1alpha1.EndpointsKind:
		if spec.Endpoints == nil {
			return "Member cluster is not authorized to create an Endpoints ResourceExport without Spec.Endpoints"
		}
	case v1alpha1.LabelIdentityKind, v1alpha1.ClusterInfoKind:
	default:
		return "Member cluster is not authorized to export this kind"
	}
	if !named(spec.Kind) {
		return ""
	}
	if len(validation.IsDNS1123Label(spec.Namespace)) > 0 {
		return "Spec.Namespace must be a valid DNS-1123 label"
	}
	if len(validation.IsDNS1123Label(spec.Name)) > 0 {
		return "Spec.Name must be a valid DNS-1123 label"
	}
	return ""
}

// identifiedExport refuses an export whose content, labels or name say that it is another member's.
func identifiedExport(export *v1alpha1.ResourceExport, clusterID string) string {
	spec, labels := &export.Spec, export.Labels
	switch {
	case spec.ClusterID != clusterID:
		return "Member cluster is not authorized to spoof ClusterID in ResourceExport"
	case labels[v1alpha1.SourceClusterIDLabel] != clusterID:
		return "Member cluster is not authorized to spoof SourceClusterID in ResourceExport"
	case labels[v1alpha1.SourceKindLabel] != spec.Kind:
		return "Member cluster is not authorized to spoof SourceKind label in ResourceExport"
	case named(spec.Kind) && (labels[v1alpha1.SourceNameLabel] != spec.Name || labels[v1alpha1.SourceNamespaceLabel] != spec.Namespace):
		return "Member cluster is not authorized to spoof source labels in ResourceExport"
	}
	name := exportName(spec, clusterID)
	switch {
	case name == "":
		return "Invalid ResourceExport for this member cluster"
	case export.Name != name:
		return "Invalid ResourceExport name for this member cluster"
	case spec.ClusterInfo != nil && spec.ClusterInfo.ClusterID != clusterID:
		return "Member cluster is not authorized to spoof ClusterInfo.ClusterID"
	}
	return ""
}

// exportName returns the only name that a member's export can have, or nothing if there is none.
func exportName(spec *v1alpha1.ResourceExportSpec, clusterID string) string {
	switch {
	case named(spec.Kind):
		return v1alpha1.ExportName(clusterID, spec.Namespace, spec.Name, spec.Kind)
	case spec.Kind == v1alpha1.ClusterInfoKind:
		return v1alpha1.ClusterInfoName(clusterID)
	case spec.Kind == v1alpha1.LabelIdentityKind && spec.LabelIdentity != nil:
		return labelIdentityName(clusterID, spec.LabelIdentity.NormalizedLabel)
	}
	return ""
}

// finalizedExport refuses new exports without the finalizer: the leader would not see them go. Label identities do not need it. Others
// are not added.
func finalizedExport(former, wanted *v1alpha1.ResourceExport) string {
	if former == nil && wanted.Spec.Kind != v1alpha1.LabelIdentityKind && !finalized(wanted) {
		return "Member cluster is not authorized to create a ResourceExport without the ResourceExport finalizer"
	}
	var before []string
	if former != nil {
		before = former.Finalizers
	}
	return addedFinalizer(before, wanted.Finalizers, v1alpha1.ResourceExportFinalizer, v1alpha1.LegacyResourceExportFinalizer)
}

func finalized(export *v1alpha1.ResourceExport) bool {
	return slices.ContainsFunc(export.Finalizers, func(finalizer string) bool {
		return finalizer == v1alpha1.ResourceExportFinalizer || finalizer == v1alpha1.LegacyResourceExportFinalizer
	})
}
