// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

// chartCRDs are the CRDs of policies in the chart, by their names.
func chartCRDs(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	crds := map[string]*unstructured.Unstructured{}
	for _, file := range []string{"clusternetworkpolicy", "networkpolicy", "clustergroup", "group"} {
		text, err := os.ReadFile(filepath.Join("../../../build/charts/antrea/crds", file+".yaml"))
		require.NoError(t, err)
		crd := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(text, &crd.Object))
		crds[crd.GetName()] = crd
	}
	return crds
}

// CRDs that lose fields are named, with the outermost parts that do; the chart's lose none.
func TestSchemas(t *testing.T) {
	const acnp = "clusternetworkpolicies.crd.antrea.io"
	check := func(change func(crds map[string]*unstructured.Unstructured)) string {
		crds := chartCRDs(t)
		change(crds)
		var objects []runtime.Object
		for _, crd := range crds {
			objects = append(objects, crd)
		}
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{definitions: "CustomResourceDefinitionList"}, objects...)
		var out bytes.Buffer
		r := &Report{Out: &out}
		schemas(t.Context(), client, r)
		require.NoError(t, r.Err())
		return out.String()
	}
	spec := func(crd *unstructured.Unstructured) map[string]any {
		versions := crd.Object["spec"].(map[string]any)["versions"].([]any)
		return versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)["spec"].(map[string]any)
	}
	require.Empty(t, check(func(map[string]*unstructured.Unstructured) {}))
	require.Empty(t, check(func(crds map[string]*unstructured.Unstructured) { delete(crds, acnp) }), "it is not installed")
	out := check(func(crds map[string]*unstructured.Unstructured) {
		egress := spec(crds[acnp])["properties"].(map[string]any)["egress"].(map[string]any)["items"].(map[string]any)["properties"].(map[string]any)
		delete(egress["to"].(map[string]any)["items"].(map[string]any), "x-kubernetes-preserve-unknown-fields")
	})
	require.Contains(t, out, "warning  CRD "+acnp+" the API server removes fields that it does not have, in spec.egress[].to[]: a peer")
	require.Equal(t, 1, strings.Count(out, "\n"))
	require.Contains(t, check(func(crds map[string]*unstructured.Unstructured) {
		delete(spec(crds[acnp]), "x-kubernetes-preserve-unknown-fields")
	}), "in spec: a peer", "as Antrea's own")
	require.Contains(t, check(func(crds map[string]*unstructured.Unstructured) {
		crds[acnp].Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["name"] = "v1alpha1"
	}), "in spec of v1beta1: ")
}
