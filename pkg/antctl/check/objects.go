// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	multicluster "github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// handled are the resources of Antrea's CRDs, by group, that this version acts on (perhaps with a feature gate) or that its own programs write.
var handled = map[string][]string{
	v1beta1.SchemeGroupVersion.Group: {
		"antreaagentinfos", "antreacontrollerinfos", "clustergroups", "clusternetworkpolicies", "egresses", "externalippools", "groups", "networkpolicies",
		"tiers", "traceflows",
	},
	multicluster.SchemeGroupVersion.Group: {"clusterinfoimports", "clustersets", "gateways", "memberclusterannounces", "resourceexports", "resourceimports"},
}

// objects reports kinds of Antrea that this version does not act on and of which there are objects.
func objects(ctx context.Context, client dynamic.Interface, r *Report) {
	const check = "objects"
	crds, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		r.Warn(check, "CRDs cannot be read: %v", err)
		return
	}
	before := r.warnings
	for i := range crds.Items {
		resource, found := antreaResource(&crds.Items[i])
		if !found || slices.Contains(handled[resource.Group], resource.Resource) {
			continue
		}
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			r.Warn(check, "%s cannot be read: %v", resource.GroupResource(), err)
			continue
		}
		n := int64(len(list.Items))
		if list.GetRemainingItemCount() != nil {
			n += *list.GetRemainingItemCount()
		}
		if n > 0 {
			r.Warn(check, "%d %s, such as %s, have no effect in this version", n, resource.GroupResource(), nameOf(&list.Items[0]))
		}
	}
	if r.warnings == before {
		r.OK(check, "none of a kind that this version does not act on")
	}
}

// antreaResource returns the resource of a CRD of Antrea, with the version that is stored.
func antreaResource(crd *unstructured.Unstructured) (schema.GroupVersionResource, bool) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if version, isMap := v.(map[string]any); isMap && version["storage"] == true {
			name, _ := version["name"].(string)
			return schema.GroupVersionResource{Group: group, Version: name, Resource: plural}, strings.HasSuffix(group, ".antrea.io")
		}
	}
	return schema.GroupVersionResource{}, false
}

func nameOf(object *unstructured.Unstructured) string {
	if namespace := object.GetNamespace(); namespace != "" {
		return namespace + "/" + object.GetName()
	}
	return object.GetName()
}
