// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"cmp"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
)

// exportChanges lets exports go that are being deleted, and of which nothing is imported any more, and says of the others whether they are imported.
func (s *snapshot) exportChanges(w *wanted) (changes []change.Change) {
	imports := map[string]*v1alpha1.ResourceImport{}
	for _, i := range s.imports {
		imports[i.Name] = i
	}
	for _, e := range s.exports {
		if !converges(e.Spec.Kind) && e.DeletionTimestamp == nil {
			continue
		}
		if e.DeletionTimestamp != nil {
			name := nameOf(originOf(e), e.Spec.ClusterID)
			if !converges(e.Spec.Kind) || isWritten(imports[name], w.imports[name], originOf(e)) {
				changes = append(changes, release(resourceExports, e, v1alpha1.ResourceExportFinalizer, v1alpha1.LegacyResourceExportFinalizer)...)
			}
			continue
		}
		if err, judged := w.verdicts[e.Name]; judged {
			changed := *e
			changed.Status.Conditions = s.conditionsOf(e, err)
			changes = append(changes, change.ToUpdateStatus(resourceExports, e, &changed)...)
		}
	}
	return changes
}

// isWritten reports whether the ResourceImport is up to date without the exports of an origin that are being deleted.
func isWritten(i, want *v1alpha1.ResourceImport, o origin) bool {
	switch {
	case i == nil || originOfImport(i) != o:
		return true // Nothing of the origin is imported.
	case want == nil:
		return false
	}
	return equality.Semantic.DeepEqual(i.Spec.ServiceImport, want.Spec.ServiceImport) && equality.Semantic.DeepEqual(i.Spec.Endpoints, want.Spec.Endpoints) &&
		equality.Semantic.DeepEqual(i.Spec.ClusterInfo, want.Spec.ClusterInfo) && reflect.DeepEqual(i.Spec.ClusterNetworkPolicy, want.Spec.ClusterNetworkPolicy)
}

// release removes finalizers.
func release(t change.Type, o metav1.Object, finalizers ...string) []change.Change {
	left := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return slices.Contains(finalizers, f) })
	return withFinalizers(t, o, left)
}

// withFinalizers gives an object the finalizers.
func withFinalizers(t change.Type, o metav1.Object, finalizers []string) []change.Change {
	// Only the finalizers are compared, so the rest of the object may be missing.
	before, after := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	for _, p := range []*metav1.PartialObjectMetadata{before, after} {
		p.Namespace, p.Name, p.UID, p.ResourceVersion = o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion()
	}
	before.Finalizers, after.Finalizers = o.GetFinalizers(), finalizers
	return change.ToUpdate(t, before, after)
}

// conditionsOf returns the conditions of an export that is imported, or that is not because of err.
func (s *snapshot) conditionsOf(e *v1alpha1.ResourceExport, err error) []v1alpha1.ResourceCondition {
	c := v1alpha1.ResourceCondition{Type: v1alpha1.ResourceExportSucceeded, Status: corev1.ConditionTrue}
	if err != nil {
		c = v1alpha1.ResourceCondition{
			Type: v1alpha1.ResourceExportFailure, Status: corev1.ConditionFalse, Reason: v1alpha1.ConvergeFailureReason,
			Message: cmp.Or(err.Error(), v1alpha1.ConvergeFailureMessage),
		}
	}
	c.LastTransitionTime = metav1.NewTime(s.now)
	for _, former := range e.Status.Conditions {
		if former.Type == c.Type && former.Status == c.Status {
			c.LastTransitionTime = former.LastTransitionTime
		}
	}
	return []v1alpha1.ResourceCondition{c}
}
