// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// testPolicyStatus: the agent of node-1 reports a policy of Antrea, whose status follows at once.
func testPolicyStatus(t *testing.T, f *fixture, token string) {
	policies := f.admin.Dynamic.Resource(crd.ClusterNetworkPolicies)
	f.createPod("status", "node-1", "10.0.1.77", map[string]string{"app": "status"})
	created := time.Now()
	object, err := policies.Create(t.Context(), clusterPolicy("status", `{priority: 5, appliedTo: [{podSelector: {matchLabels: {app: status}}}], ingress: [{action: Drop}]}`), metav1.CreateOptions{})
	require.NoError(t, err)
	shows := func(phase v1beta1.NetworkPolicyPhase, current int32) {
		t.Helper()
		for ; ; time.Sleep(time.Millisecond) {
			stored, err := policies.Get(t.Context(), "status", metav1.GetOptions{})
			require.NoError(t, err)
			policy, err := crd.ReadStrictly[v1beta1.ClusterNetworkPolicy](stored)
			require.NoError(t, err)
			if s := policy.Status; s.Phase == phase && s.ObservedGeneration == 1 && s.CurrentNodesRealized == current && s.DesiredNodesRealized == 1 {
				return
			}
			require.Less(t, time.Since(created), patience, "%+v", policy.Status)
		}
	}
	shows(v1beta1.NetworkPolicyRealizing, 0)
	ca, err := f.admin.Kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), apis.ControllerCA, metav1.GetOptions{})
	require.NoError(t, err)
	client, err := controlplane.NewForConfig(&rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", f.port), BearerToken: token,
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ca.Data[apis.ControllerCAKey]), ServerName: apis.ControllerServerName("kube-system")},
	})
	require.NoError(t, err)
	report := func(name, node string) error {
		status := &v1beta2.NetworkPolicyStatus{Nodes: []v1beta2.NetworkPolicyNodeStatus{{NodeName: node, Generation: 1}}}
		status.Name = name
		return client.ReportPolicyStatus(t.Context(), status)
	}
	require.ErrorContains(t, report(string(object.GetUID()), "node-2"), `the agent of Node "node-1" reports for "node-2"; allowed: node-1`)
	require.ErrorContains(t, report("unknown", "node-1"), "not found")
	began := time.Now()
	require.NoError(t, report(string(object.GetUID()), "node-1"))
	shows(v1beta1.NetworkPolicyRealized, 1)
	t.Logf("Realized %v after its creation, %v after the report", time.Since(created), time.Since(began))
	require.NoError(t, policies.Delete(t.Context(), "status", metav1.DeleteOptions{}))
}
