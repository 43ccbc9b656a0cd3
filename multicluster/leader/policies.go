// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// ofMember reports whether an export is a member's, and goes with it. Policies are the administrator's, whatever their cluster ID.
func ofMember(e *v1alpha1.ResourceExport) bool {
	return e.Spec.Kind != v1alpha1.ClusterNetworkPolicyKind
}

// choosePolicy returns the policy that is imported already if one of the exports, which are in the order of their age, has it, otherwise the one of
// the oldest. Different ones are refused.
func (w *wanted) choosePolicy(existing *v1alpha1.ResourceImport, exports []*v1alpha1.ResourceExport) any {
	chosen := 0
	if existing != nil {
		chosen = max(chosen, slices.IndexFunc(exports, func(e *v1alpha1.ResourceExport) bool {
			return reflect.DeepEqual(e.Spec.ClusterNetworkPolicy, existing.Spec.ClusterNetworkPolicy)
		}))
	}
	content := exports[chosen].Spec.ClusterNetworkPolicy
	for _, e := range exports {
		if !reflect.DeepEqual(e.Spec.ClusterNetworkPolicy, content) {
			w.verdicts[e.Name] = fmt.Errorf("%s: ResourceExport %s has another policy of this name", v1alpha1.ConvergeFailureMessage, exports[chosen].Name)
		}
	}
	return content
}

// holdPolicies keeps policies that are imported while an export of them is there, but refused: without them members would allow more than before.
func (s *snapshot) holdPolicies(w *wanted, existing map[string]*v1alpha1.ResourceImport) {
	for _, e := range s.exports {
		if ofMember(e) || e.DeletionTimestamp != nil || w.verdicts[e.Name] == nil {
			continue
		}
		name := v1alpha1.PolicyImportName(e.Spec.Name)
		if i := existing[name]; i != nil && w.imports[name] == nil && originOfImport(i) == originOf(e) {
			w.imports[name], w.origins[name] = i, originOf(e)
		}
	}
}

func isPolicy(i *v1alpha1.ResourceImport) bool {
	return i.Spec.Kind == v1alpha1.ClusterNetworkPolicyKind
}

// mended returns the changes of a ResourceImport that no member can read: a policy gets the spec that it ought to have, and stays restricted to the same
// clusters. Others are deleted.
func mended(malformed metav1.Object, want *v1alpha1.ResourceImport) []change.Change {
	object, ok := malformed.(*unstructured.Unstructured)
	if !ok || want == nil || !isPolicy(want) {
		return []change.Change{change.ToDelete(resourceImports, malformed)}
	}
	clusters, _, unreadable := unstructured.NestedStringSlice(object.Object, "spec", "clusterID")
	wanted, filled := *want, object.DeepCopy()
	wanted.Spec.ClusterIDs = clusters
	if err := errors.Join(unreadable, crd.Fill(filled, &wanted)); err != nil {
		return []change.Change{change.ToDelete(resourceImports, malformed)}
	}
	return change.ToUpdate(resourceImports, object, filled)
}
