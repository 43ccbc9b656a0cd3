// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"testing"
	"time"

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

// heldPlan makes what a plan of a member that remembers makes at a time after the start, and returns the time until a deletion that waits.
func (w *world) heldPlan(m *memory, after time.Duration) time.Duration {
	s := w.shown(w.local, w.far)
	s.now = metav1.NewTime(w.local.Now.Add(after))
	m.look(s)
	changes, _ := s.localChanges()
	changes, again := m.hold(s, changes)
	makeAll(w.local, changes)
	return again
}

// TestCopyWithoutImport: it stays for a while, which begins again when the import is seen, and goes at once with the ClusterSet.
func TestCopyWithoutImport(t *testing.T) {
	w := newWorld(t)
	w.importInfo("east", "10.220.0.0/16", "192.0.2.9")
	w.importPolicy("isolation", policyOf(5))
	w.importPolicy("other", policyOf(6))
	var m memory
	remove := func(name string) { w.far.Remove(resourceImports, area, v1alpha1.PolicyImportName(name)) }
	require.Zero(t, w.heldPlan(&m, 0))
	remove("isolation")
	require.Equal(t, missingTime, w.heldPlan(&m, time.Minute))
	require.Equal(t, time.Second, w.heldPlan(&m, time.Minute+missingTime-time.Second))
	w.requirePolicies(map[string]any{"isolation": policyOf(5), "other": policyOf(6)})
	w.importPolicy("isolation", policyOf(5))
	require.Zero(t, w.heldPlan(&m, time.Minute+missingTime))
	remove("isolation")
	require.Equal(t, missingTime, w.heldPlan(&m, 2*time.Minute))
	remove("other")
	require.Equal(t, missingTime-time.Second, w.heldPlan(&m, 2*time.Minute+time.Second), "the first of them")
	require.Equal(t, time.Second, w.heldPlan(&m, 2*time.Minute+missingTime))
	w.requirePolicies(map[string]any{"other": policyOf(6)})

	w.importPolicy("isolation", policyOf(5))
	require.Positive(t, w.heldPlan(&m, 2*time.Minute+missingTime))
	w.local.Remove(clusterSets, system, "set")
	require.Zero(t, w.heldPlan(&m, 2*time.Minute+missingTime))
	w.requirePolicies(nil)
}

// TestEmptyLeader: copies of a member that exports nothing stay for a while when the leader has lost everything, also if others export again before,
// and stay for good if the policies come back in this time.
func TestEmptyLeader(t *testing.T) {
	w := newWorld(t)
	w.importInfo("east", "10.220.0.0/16", "192.0.2.9")
	w.importPolicy("isolation", policyOf(5))
	var m memory
	require.Zero(t, w.heldPlan(&m, 0))
	lose := func() {
		w.far.Remove(resourceImports, area, v1alpha1.ClusterInfoName("east"))
		w.far.Remove(resourceImports, area, v1alpha1.PolicyImportName("isolation"))
	}
	lose()
	require.Equal(t, recoveryTime, w.heldPlan(&m, time.Hour))
	require.Equal(t, recoveryTime-missingTime, w.heldPlan(&m, time.Hour+missingTime), "it is empty still")
	w.importInfo("east", "10.220.0.0/16", "192.0.2.9")
	require.Equal(t, time.Second, w.heldPlan(&m, time.Hour+recoveryTime-time.Second))
	w.importPolicy("isolation", policyOf(5))
	require.Zero(t, w.heldPlan(&m, time.Hour+recoveryTime))
	w.requirePolicies(map[string]any{"isolation": policyOf(5)})

	lose()
	require.Equal(t, recoveryTime, w.heldPlan(&m, 2*time.Hour), "each time")
	require.Zero(t, w.heldPlan(&m, 2*time.Hour+recoveryTime))
	w.requirePolicies(nil)
}
