// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the name of the API group.
const GroupName = "controlplane.antrea.io"

// SchemeGroupVersion is the internal version.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: runtime.APIVersionInternal}

// Resource returns the group's resource of that name.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

// AddToScheme registers the internal types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&NetworkPolicy{}, &NetworkPolicyList{},
		&AddressGroup{}, &AddressGroupPatch{}, &AddressGroupList{},
		&AppliedToGroup{}, &AppliedToGroupPatch{}, &AppliedToGroupList{},
		&EgressGroup{}, &EgressGroupPatch{}, &EgressGroupList{},
		&NodeStatsSummary{}, &NetworkPolicyStatus{},
		&ClusterGroupMembers{}, &GroupMembers{}, &PaginationGetOptions{},
		&GroupAssociation{}, &IPGroupAssociation{}, &NetworkPolicyEvaluation{},
	)
	return nil
}
