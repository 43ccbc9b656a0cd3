// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// schemas looks for CRDs of policies and groups that are older than the chart's: from objects of these the API server removes fields that the
// CRD does not have, and a peer that has lost its field selects every Pod. The chart's CRDs keep all fields, for admission to see.
func schemas(ctx context.Context, client dynamic.Interface, r *Report) {
	for _, resource := range []string{"clusternetworkpolicies", "networkpolicies", "clustergroups", "groups"} {
		name := resource + "." + v1beta1.SchemeGroupVersion.Group
		crd, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			r.Warn("CRD "+name, "it cannot be read: %v", err)
		default:
			if losing := losingFields(crd); len(losing) > 0 {
				r.Warn("CRD "+name, "the API server removes fields that it does not have, in %s: a peer without its field selects every Pod. "+
					"Apply the chart's CRDs before the policies: kubectl apply -f build/charts/antrea/crds", strings.Join(losing, ", "))
			}
		}
	}
}

// losingFields returns the outermost parts of the spec whose unknown fields the API server removes.
func losingFields(crd *unstructured.Unstructured) []string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, isMap := v.(map[string]any)
		if !isMap || version["name"] != v1beta1.SchemeGroupVersion.Version {
			continue
		}
		spec, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "spec")
		return losingParts("spec", spec)
	}
	return []string{"spec of " + v1beta1.SchemeGroupVersion.Version}
}

// losingParts looks at a part of a schema. A part without named fields has nothing to lose.
func losingParts(path string, content map[string]any) (losing []string) {
	properties, _ := content["properties"].(map[string]any)
	keeps, _, _ := unstructured.NestedBool(content, "x-kubernetes-preserve-unknown-fields")
	if len(properties) > 0 && !keeps {
		return []string{path}
	}
	if items, isMap := content["items"].(map[string]any); isMap {
		losing = losingParts(path+"[]", items)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if property, isMap := properties[name].(map[string]any); isMap {
			losing = append(losing, losingParts(path+"."+name, property)...)
		}
	}
	return losing
}
