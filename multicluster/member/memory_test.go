// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// TestForgottenBesidesAPolicy: a policy that an administrator exports with a member's ID does not count as the member's.
func TestForgottenBesidesAPolicy(t *testing.T) {
	w := newWorld(t)
	w.exportService(service("default", "web", "10.100.7.9", 80), true)
	w.far.Put(resourceExports, &v1alpha1.ResourceExport{
		ObjectMeta: metav1.ObjectMeta{Namespace: area, Name: "x", Labels: map[string]string{v1alpha1.SourceClusterIDLabel: "west"}},
		Spec:       v1alpha1.ResourceExportSpec{ClusterID: "west", Kind: v1alpha1.ClusterNetworkPolicyKind, Name: "x", ClusterNetworkPolicy: policyOf(5)},
	}, nil)
	require.True(t, w.shown(w.local, w.far).isForgotten())
	w.settle()
	require.False(t, w.shown(w.local, w.far).isForgotten(), "the Service is exported")
}

// TestPoliciesAreReadOnce: the next plan does not read a policy that has not changed.
func TestPoliciesAreReadOnce(t *testing.T) {
	w := newWorld(t)
	w.importPolicy("isolation", policyOf(5))
	w.settle()
	var m memory
	s := w.shown(w.local, w.far)
	plan := func() int {
		m.look(s)
		changes, refusals := s.importChanges()
		return len(changes) + len(refusals)
	}
	require.Zero(t, plan())
	s.leader.imports[0].Spec.ClusterNetworkPolicy, s.policies.all[0].Spec = policyOf(0), policyOf(9) // Versions of the API would be others.
	require.Zero(t, plan())
	s.policies.all[0].ResourceVersion = "changed"
	require.Equal(t, 1, plan(), "the copy is restored")
	s.leader.imports[0].ResourceVersion = "changed"
	require.Equal(t, 1, plan(), "the import is refused")
}
