// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// policyName is the policy's at the leader. It applies to Pods with a label that no Pod has.
const policyName = "mc-isolation"

// deletionTimeout is the time until a copy is gone whose export was deleted: members wait for ten seconds.
var deletionTimeout = exchangeTimeout + limit(10*time.Second)

func policySpec(tier string) map[string]any {
	return map[string]any{
		"priority": int64(5), "tier": tier, "appliedTo": []any{map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"isolated": "true"}}}},
		"ingress": []any{map[string]any{"action": "Drop", "from": []any{map[string]any{"podSelector": map[string]any{}}}}},
	}
}

// copyIs returns an error unless a cluster has the copy with a tier.
func (m *member) copyIs(t *testing.T, tier string) error {
	t.Helper()
	p, err := read[v1beta1.ClusterNetworkPolicy](t, m, crd.ClusterNetworkPolicies, "", v1alpha1.ImportedName(policyName))
	if err == nil && (p.Spec.Tier != tier || p.Spec.Priority != 5 || len(p.Spec.Ingress) != 1 || p.Annotations[v1alpha1.ImportedPolicyAnnotation] != "true") {
		err = fmt.Errorf("%s has the copy %v %+v, want it in tier %s", m.name, p.Annotations, p.Spec, tier)
	}
	return err
}

// testPolicyCopy: a policy of the leader's administrator is in both clusters, is restored, says why it is in none, and goes with its export.
func (s *clusterSet) testPolicyCopy(t *testing.T) {
	exports := s.a.dynamic.Resource(v1alpha1.ResourceExports).Namespace(leaderNamespace)
	object := crd.NewOf(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ResourceExportKind), leaderNamespace, policyName)
	require.NoError(t, crd.Fill(object, &v1alpha1.ResourceExport{
		Spec: v1alpha1.ResourceExportSpec{Kind: v1alpha1.ClusterNetworkPolicyKind, Name: policyName, ClusterNetworkPolicy: policySpec("securityops")},
	}))
	_, err := exports.Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, m := range s.members() {
		eventually(t, exchangeTimeout, func() error { return m.copyIs(t, "securityops") })
	}
	copies := s.b.dynamic.Resource(crd.ClusterNetworkPolicies)
	_, err = copies.Patch(t.Context(), v1alpha1.ImportedName(policyName), types.MergePatchType, []byte(`{"spec":{"tier":"baseline","ingress":[]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, exchangeTimeout, func() error { return s.b.copyIs(t, "securityops") })

	_, err = exports.Patch(t.Context(), policyName, types.MergePatchType, []byte(`{"spec":{"clusterNetworkPolicy":{"tier":"of-one-cluster"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, exchangeTimeout, func() error { return s.policyEvents(t) })
	for _, m := range s.members() {
		require.NoError(t, m.copyIs(t, "securityops"), "what a cluster cannot have leaves what it has")
	}

	require.NoError(t, exports.Delete(t.Context(), policyName, metav1.DeleteOptions{}))
	for _, m := range s.members() {
		eventually(t, deletionTimeout, func() error {
			err := m.copyIs(t, "securityops")
			switch {
			case err == nil:
				return fmt.Errorf("%s has the copy still", m.name)
			case apierrors.IsNotFound(err):
				return nil
			}
			return err
		})
	}
}

// policyEvents returns an error unless both clusters have told the leader that they do not have the Tier.
func (s *clusterSet) policyEvents(t *testing.T) error {
	t.Helper()
	list, err := s.a.client.CoreV1().Events(leaderNamespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=ACNPImportFailed"})
	if err != nil {
		return err
	}
	said := map[string]corev1.ObjectReference{}
	for _, e := range list.Items {
		said[e.Message] = e.InvolvedObject
	}
	for _, m := range s.members() {
		message := "ACNP Tier of-one-cluster does not exist in importing cluster " + m.id
		if said[message].Name != v1alpha1.PolicyImportName(policyName) {
			return fmt.Errorf("no Event says %q: %v", message, said)
		}
	}
	return nil
}
