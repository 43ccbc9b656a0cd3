// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
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
	report := v1beta2.SchemeGroupVersion.WithKind("NodeStatsSummary")
	return &common.OpenAPIV3Config{
		IgnorePrefixes: []string{
			controlPlane + "networkpolicies", controlPlane + "addressgroups", controlPlane + "appliedtogroups", "/apis/" + v1alpha1.GroupName,
		},
		Definitions: map[string]common.OpenAPIDefinition{
			util.GetCanonicalTypeName(&v1beta2.NodeStatsSummary{}): {Schema: spec.Schema{
				SchemaProps: spec.SchemaProps{Type: []string{"object"}},
				VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{
					"x-kubernetes-preserve-unknown-fields": true,
					"x-kubernetes-group-version-kind": []any{
						map[string]any{"group": report.Group, "version": report.Version, "kind": report.Kind},
					},
				}},
			}},
		},
	}
}
