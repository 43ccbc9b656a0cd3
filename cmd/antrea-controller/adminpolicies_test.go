// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// testAdminPolicies: with the gate and without the CRD the controller serves nothing. With both, the API takes a ClusterNetworkPolicy of
// Kubernetes, Nodes get it, and its status says so.
func testAdminPolicies(t *testing.T, f *fixture) {
	policy := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(`{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {name: web}, spec: {tier: Admin, priority: 7,
subject: {pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: web}}}}, ingress: [{action: Deny, from: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 80}}}]}]}}`), policy))
	f.stop()
	before := f.options
	on := *before
	var err error
	on.gates, err = features.New(map[string]bool{string(features.ClusterNetworkPolicy): true})
	require.NoError(t, err)
	f.options = &on
	f.launchController()
	f.eventually("the API answers", func() error {
		if _, err := f.direct(); err == nil || !strings.Contains(err.Error(), "/readyz: 500") {
			return fmt.Errorf("it should not be ready: %v", err)
		}
		return nil
	})
	definitions := f.admin.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err = definitions.Create(t.Context(), k8sClusterPolicyDefinition(t), metav1.CreateOptions{})
	require.NoError(t, err)
	f.eventually("ready", func() error { _, err := f.direct(); return err })
	policies := f.admin.Dynamic.Resource(crd.K8sClusterNetworkPolicies)
	f.eventually("the policy is taken", func() error {
		created, err := policies.Create(t.Context(), policy, metav1.CreateOptions{})
		if err == nil {
			policy = created
		}
		return err
	})
	f.eventually("the status", func() error {
		stored, err := policies.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		content, err := crd.ReadStrictly[v1alpha2.ClusterNetworkPolicy](stored)
		require.NoError(t, err)
		if c := content.Status.Conditions; !meta.IsStatusConditionTrue(c, "Accepted") || !meta.IsStatusConditionFalse(c, "Realized") {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
	client, err := f.direct()
	require.NoError(t, err)
	internal, err := client.NetworkPolicies().Get(t.Context(), string(policy.GetUID()), metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, v1beta2.K8sClusterNetworkPolicy, internal.SourceRef.Type)
	require.EqualValues(t, 220, *internal.TierPriority)
	require.EqualValues(t, 7, *internal.Priority)
	require.Len(t, internal.Rules, 1)

	f.stop()
	f.options = before
	f.startController()
	policy.SetName("other")
	policy.SetResourceVersion("")
	f.eventually("refused without the gate", func() error {
		_, err := policies.Create(t.Context(), policy, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "the feature gate ClusterNetworkPolicy of antrea-controller is off") {
			return fmt.Errorf("the answer is %v", err)
		}
		return nil
	})
}

// k8sClusterPolicyDefinition returns the CRD of the module's version.
func k8sClusterPolicyDefinition(t *testing.T) *unstructured.Unstructured {
	directory, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/network-policy-api").Output()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(directory)), "config/crd/experimental/policy.networking.k8s.io_clusternetworkpolicies.yaml"))
	require.NoError(t, err)
	definition := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(text, definition))
	return definition
}
