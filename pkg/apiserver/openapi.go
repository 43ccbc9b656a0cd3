// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

// openAPI holds the models that the API machinery needs, of objects that clients create. It records who has set which
// field of such an object, and logs an error for each object without a model. The record is not used, so the model
// leaves all fields open.
func openAPI() *common.OpenAPIV3Config {
	controlPlane := "/apis/" + v1beta2.SchemeGroupVersion.String() + "/"
	return &common.OpenAPIV3Config{
		IgnorePrefixes: []string{
			controlPlane + "addressgroups", controlPlane + "appliedtogroups", controlPlane + "egressgroups", "/apis/" + v1alpha1.GroupName,
			controlPlane + "clustergroupmembers", controlPlane + "groupmembers", controlPlane + "groupassociations", controlPlane + "ipgroupassociations",
		},
		Definitions: map[string]common.OpenAPIDefinition{
			util.GetCanonicalTypeName(&v1beta2.NodeStatsSummary{}):        openModel("NodeStatsSummary"),
			util.GetCanonicalTypeName(&v1beta2.NetworkPolicyEvaluation{}): openModel("NetworkPolicyEvaluation"),
			util.GetCanonicalTypeName(&v1beta2.NetworkPolicyStatus{}):     openModel("NetworkPolicyStatus"),
			// Its path begins like the path of policies.
			util.GetCanonicalTypeName(&v1beta2.NetworkPolicy{}):     openModel("NetworkPolicy"),
			util.GetCanonicalTypeName(&v1beta2.NetworkPolicyList{}): openModel("NetworkPolicyList"),
			util.GetCanonicalTypeName(&metav1.WatchEvent{}):         openModel("WatchEvent"),
		},
	}
}

// openModel is the model of a kind that leaves all fields open.
func openModel(kind string) common.OpenAPIDefinition {
	return common.OpenAPIDefinition{Schema: spec.Schema{
		SchemaProps: spec.SchemaProps{Type: []string{"object"}},
		VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{
			"x-kubernetes-preserve-unknown-fields": true,
			"x-kubernetes-group-version-kind": []any{
				map[string]any{"group": v1beta2.SchemeGroupVersion.Group, "version": v1beta2.SchemeGroupVersion.Version, "kind": kind},
			},
		}},
	}}
}
