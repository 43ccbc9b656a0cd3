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
