// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

func fromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), u))
	return u
}

// TestPolicies: informers have typed objects from lists and watches, with whole numbers in a float field; an object with an
// unknown field in its spec is there but cannot be read, while unknown metadata harms nothing.
func TestPolicies(t *testing.T) {
	const policy = `
apiVersion: crd.antrea.io/v1beta1
kind: ClusterNetworkPolicy
metadata: {name: web, newerThanThis: true, managedFields: [{manager: kubectl}]}
spec:
  priority: 5
  tier: securityops
  ingress:
  - action: Drop
    from: [{podSelector: {matchLabels: {a: b}}}]
    ports: [{port: 80}, {port: http}]
    name: r
status: {phase: Realized, observedGeneration: 1, newerThanThis: 1}`
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		ClusterNetworkPolicies: "ClusterNetworkPolicyList", NetworkPolicies: "NetworkPolicyList", Tiers: "TierList",
		ClusterGroups: "ClusterGroupList", Groups: "GroupList",
	})
	web := fromYAML(t, policy)
	_, err := client.Resource(ClusterNetworkPolicies).Create(t.Context(), web, metav1.CreateOptions{})
	require.NoError(t, err)
	policies, err := NewPolicies(client)
	require.NoError(t, err)
	require.ErrorContains(t, policies.Synced(), "tiers.crd.antrea.io are not read yet")
	done := make(chan struct{})
	go func() { defer close(done); policies.Run(t.Context()) }()
	t.Cleanup(func() { <-done })
	require.Eventually(t, func() bool { return policies.Synced() == nil }, 10*time.Second, time.Millisecond)
	unknown := fromYAML(t, policy)
	unknown.SetName("unknown")
	require.NoError(t, unstructured.SetNestedField(unknown.Object, "x", "spec", "appliedFrom"))
	_, err = client.Resource(ClusterNetworkPolicies).Create(t.Context(), unknown, metav1.CreateOptions{})
	require.NoError(t, err)
	store := policies.ClusterNetworkPolicies.GetStore()
	require.Eventually(t, func() bool { return len(store.ListKeys()) == 2 }, 10*time.Second, time.Millisecond)

	stored, found, err := store.GetByKey("web")
	require.NoError(t, err)
	require.True(t, found)
	require.IsType(t, &v1beta1.ClusterNetworkPolicy{}, stored)
	require.Empty(t, stored.(*v1beta1.ClusterNetworkPolicy).ManagedFields)
	for _, object := range []any{stored, cache.DeletedFinalStateUnknown{Key: "web", Obj: stored}, web} {
		got, err := Object[v1beta1.ClusterNetworkPolicy](object)
		require.NoError(t, err)
		require.InDelta(t, 5, got.Spec.Priority, 0)
		require.Equal(t, ptr.To(v1beta1.RuleActionDrop), got.Spec.Ingress[0].Action)
		require.Equal(t, "http", got.Spec.Ingress[0].Ports[1].Port.String())
		require.Equal(t, v1beta1.NetworkPolicyRealized, got.Status.Phase)
	}
	stored, _, err = store.GetByKey("unknown")
	require.NoError(t, err)
	_, err = Object[v1beta1.ClusterNetworkPolicy](stored)
	require.ErrorContains(t, err, `decoding ClusterNetworkPolicy unknown: strict decoding error: unknown field "spec.appliedFrom"`)
}
