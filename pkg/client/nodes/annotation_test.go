// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestAnnotate(t *testing.T) {
	const annotation = "node.antrea.io/transport-addresses"
	kube := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1"}})
	get := func() map[string]string {
		node, err := kube.CoreV1().Nodes().Get(t.Context(), "node1", metav1.GetOptions{})
		require.NoError(t, err)
		return node.Annotations
	}
	require.NoError(t, Annotate(t.Context(), kube, "node1", annotation, "172.16.0.1"))
	require.Equal(t, map[string]string{annotation: "172.16.0.1"}, get())
	require.NoError(t, Annotate(t.Context(), kube, "node1", annotation, ""))
	require.Empty(t, get())
	require.ErrorContains(t, Annotate(t.Context(), kube, "absent", annotation, "172.16.0.1"), `"absent"`)
}
