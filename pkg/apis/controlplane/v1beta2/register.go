// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// NodeNameField is the field selector that limits a list or a watch to what concerns one Node.
const NodeNameField = "nodeName"

// SchemeGroupVersion is the served version.
var SchemeGroupVersion = schema.GroupVersion{Group: controlplane.GroupName, Version: "v1beta2"}

var (
	localSchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes, addFieldSelectors)
	// AddToScheme registers the types, their conversions to the internal version and the field selectors.
	AddToScheme = localSchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&NetworkPolicy{}, &NetworkPolicyList{},
		&AddressGroup{}, &AddressGroupPatch{}, &AddressGroupList{},
		&AppliedToGroup{}, &AppliedToGroupPatch{}, &AppliedToGroupList{},
		&EgressGroup{}, &EgressGroupPatch{}, &EgressGroupList{},
		&NodeStatsSummary{}, &NetworkPolicyStatus{},
		&ClusterGroupMembers{}, &GroupMembers{}, &PaginationGetOptions{},
		&GroupAssociation{}, &IPGroupAssociation{}, &NetworkPolicyEvaluation{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

func addFieldSelectors(scheme *runtime.Scheme) error {
	for _, kind := range []string{"NetworkPolicy", "AddressGroup", "AppliedToGroup", "EgressGroup"} {
		err := scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind), func(label, value string) (string, string, error) {
			switch label {
			case "metadata.name", NodeNameField:
				return label, value, nil
			default:
				return "", "", fmt.Errorf("%q is not a field selector; allowed: metadata.name, %s", label, NodeNameField)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
