// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/change/changetest"
	"github.com/antrea-oncache/antrea/multicluster/policy"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// policyOf is a policy with a priority; 0 is refused.
func policyOf(priority int) map[string]any {
	return map[string]any{
		"priority": float64(priority), "appliedTo": []any{map[string]any{"namespaceSelector": map[string]any{}}},
		"ingress": []any{map[string]any{"action": "Drop"}},
	}
}

// exportPolicy exports a policy as an administrator does, who may write any ID of a cluster, or none.
func (w *world) exportPolicy(export, cluster, name string, priority int) {
	w.api.Put(resourceExports, &v1alpha1.ResourceExport{ObjectMeta: meta(area, export), Spec: v1alpha1.ResourceExportSpec{
		ClusterID: cluster, Name: name, Kind: v1alpha1.ClusterNetworkPolicyKind, ClusterNetworkPolicy: policyOf(priority),
	}}, nil)
}

// priority returns the priority of the imported policy, 0 if there is none.
func (w *world) priority(name string) int {
	i := w.imported(v1alpha1.PolicyImportName(name))
	if i == nil {
		return 0
	}
	require.Equal(w.t, v1alpha1.ClusterNetworkPolicyKind, i.Spec.Kind)
	require.Equal(w.t, name, i.Spec.Name)
	return int(i.Spec.ClusterNetworkPolicy.(map[string]any)["priority"].(float64))
}

func TestPolicy(t *testing.T) {
	w := newWorld(t)
	w.exportPolicy("x", "", "isolation", 5)
	w.settle()
	require.Equal(t, "isolation-antreaclusternetworkpolicy", w.imported(v1alpha1.PolicyImportName("isolation")).Name)
	require.Equal(t, policyOf(5), w.imported(v1alpha1.PolicyImportName("isolation")).Spec.ClusterNetworkPolicy, "all of it")
	require.Equal(t, "Succeeded", w.condition("x").Type)

	w.api.Now = w.api.Now.Add(time.Minute)
	w.exportPolicy("a", "", "isolation", 6)
	w.settle()
	require.Equal(t, 5, w.priority("isolation"))
	require.Equal(t, "ResourceExport can't be converged to ResourceImport: ResourceExport x has another policy of this name", w.condition("a").Message)
	w.exportPolicy("a", "", "isolation", 5)
	w.settle()
	require.Equal(t, "Succeeded", w.condition("a").Type, "the same twice")
	w.api.Remove(resourceExports, area, "x")
	w.settle()
	w.exportPolicy("a", "", "isolation", 7)
	w.settle()
	require.Equal(t, 7, w.priority("isolation"), "the only one changes")

	w.exportPolicy("a", "", "isolation", 0)
	w.core = newCore()
	w.settle()
	require.Equal(t, 7, w.priority("isolation"), "what cannot be read does not end what is in effect")
	require.Equal(t, "spec.clusterNetworkPolicy: priority is 0; allowed: 1 to 10000", w.condition("a").Message)
	w.api.Remove(resourceExports, area, "a")
	w.settle()
	require.Zero(t, w.api.Len(resourceImports)+w.api.Len(resourceExports))
}

// TestImportOfAPolicyStays: one that others have made another object's, or that no member can read, is changed in place.
func TestImportOfAPolicyStays(t *testing.T) {
	w := newWorld(t)
	w.exportPolicy("x", "", "isolation", 5)
	w.settle()
	name := v1alpha1.PolicyImportName("isolation")
	right := w.imported(name)
	wrong := *right
	wrong.Spec = v1alpha1.ResourceImportSpec{Kind: v1alpha1.ServiceImportKind, Namespace: "default", Name: "nginx", ClusterIDs: []string{"west"}}
	w.api.Put(resourceImports, &wrong, nil)
	changes := w.core.plan(shown(w.api, w.api.Now))
	require.Len(t, changes, 1)
	require.Equal(t, "patch ResourceImport antrea-multicluster/"+name, changes[0].String())
	w.settle()
	right.Spec.ClusterIDs = wrong.Spec.ClusterIDs
	require.Equal(t, right.Spec, w.imported(name).Spec)
	require.Equal(t, right.UID, w.imported(name).UID)

	s := shown(w.api, w.api.Now)
	malformed := change.ToCreate(resourceImports, right).Content
	require.NoError(t, unstructured.SetNestedField(malformed, "x", "spec", "endpoints"))
	require.NoError(t, unstructured.SetNestedField(malformed, int64(3), "spec", "clusternetworkpolicy", "priority"))
	object := &unstructured.Unstructured{Object: malformed}
	object.SetResourceVersion(s.imports[0].ResourceVersion)
	_, err := crd.Read[v1alpha1.ResourceImport](object)
	require.Error(t, err)
	s.imports, s.malformed = nil, []metav1.Object{object}
	changes = w.core.plan(s)
	require.Len(t, changes, 1)
	require.Equal(t, "patch ResourceImport antrea-multicluster/"+name, changes[0].String())
	require.Equal(t, map[string]any{"spec": map[string]any{"endpoints": nil, "clusternetworkpolicy": map[string]any{"priority": float64(5)}}}, changes[0].Content)
}

// TestPoliciesAreReadOnce: the next plan does not read an export that has not changed.
func TestPoliciesAreReadOnce(t *testing.T) {
	w := newWorld(t)
	w.exportPolicy("x", "", "isolation", 5)
	w.settle()
	s := shown(w.api, w.api.Now)
	require.Empty(t, w.core.plan(s))
	e := s.exports[0]
	e.Spec.Name = "" // The version of the API would be another one.
	require.NoError(t, s.check(e))
	e.ResourceVersion = "changed"
	require.Error(t, s.check(e))
}

// TestPolicyIsOfNoMember: a policy stays when the member leaves whose ID it has, and does not keep it from leaving.
func TestPolicyIsOfNoMember(t *testing.T) {
	w := newWorld(t)
	w.announce("west")
	w.exportPolicy("x", "west", "isolation", 5)
	w.exportPolicy("y", "gone", "other", 6)
	w.settle()
	w.api.Remove(announces, area, v1alpha1.AnnounceName("west"))
	w.settle()
	require.Zero(t, w.api.Len(announces))
	w.api.Now = w.api.Now.Add(2 * unheardFor)
	w.settle()
	require.Equal(t, []int{5, 6}, []int{w.priority("isolation"), w.priority("other")})
}

// TestTooManyPolicies: the youngest are refused, and no Service is.
func TestTooManyPolicies(t *testing.T) {
	w := newWorld(t)
	for i := range policy.Most {
		w.exportPolicy(fmt.Sprint("old-", i), "", fmt.Sprint("old-", i), 5)
	}
	w.api.Now = w.api.Now.Add(time.Minute)
	w.exportPolicy("a", "", "isolation", 5)
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	w.settle()
	require.Zero(t, w.priority("isolation"))
	require.Equal(t, "there are more than 500 exports of policies", w.condition("a").Message)
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"))
}

// requirePolicies compares the imports of policies with the exports, and returns their number. One whose exports are all refused may still be there.
func requirePolicies(t *testing.T, w *world) int {
	t.Helper()
	known, imported := map[string]bool{}, 0
	for _, e := range changetest.List[v1alpha1.ResourceExport](w.api, resourceExports) {
		if ofMember(e) {
			continue
		}
		known[e.Spec.Name] = true
		if w.condition(e.Name).Type == v1alpha1.ResourceExportSucceeded {
			require.Equal(t, e.Spec.ClusterNetworkPolicy, w.imported(v1alpha1.PolicyImportName(e.Spec.Name)).Spec.ClusterNetworkPolicy)
		}
	}
	for _, i := range changetest.List[v1alpha1.ResourceImport](w.api, resourceImports) {
		if i.Spec.Kind == v1alpha1.ClusterNetworkPolicyKind {
			require.True(t, known[i.Spec.Name], i.Name)
			imported++
		}
	}
	return imported
}
