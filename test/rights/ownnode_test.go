// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/client/nodes"
)

const annotation = "node.antrea.io/wireguard-public-key"

// ownNodePolicy is the policy and its binding as the chart renders them.
func ownNodePolicy(t *testing.T) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	text, err := os.ReadFile(root + "/build/charts/antrea/templates/agent/ownnode.yaml")
	require.NoError(t, err)
	rendered := strings.ReplaceAll(string(text), "{{ .Release.Namespace }}", systemNamespace)
	rendered = regexp.MustCompile("(?m)^{{-.*}}\n").ReplaceAllString(rendered, "")
	policy, binding, found := strings.Cut(rendered, "\n---\n")
	require.True(t, found)
	return decoded[admissionv1.ValidatingAdmissionPolicy](t, []byte(policy)), decoded[admissionv1.ValidatingAdmissionPolicyBinding](t, []byte(binding))
}

// TestAgentsChangeOnlyTheirOwnNode: an agent whose token names a Node cannot change another Node or its Pods, and one whose token names none cannot change any.
// Other accounts are not concerned.
func TestAgentsChangeOnlyTheirOwnNode(t *testing.T) {
	config := api(t)
	admin := kubernetes.NewForConfigOrDie(config)
	agentOn := func(extra map[string][]string) kubernetes.Interface {
		agent := rest.CopyConfig(config)
		agent.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + systemNamespace + ":antrea-agent", Extra: extra}
		return kubernetes.NewForConfigOrDie(agent)
	}
	own := agentOn(map[string][]string{"authentication.kubernetes.io/node-name": {"own"}})
	for _, name := range []string{"own", "other"} {
		_, err := admin.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = admin.CoreV1().Pods(systemNamespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "on-" + name, Namespace: systemNamespace},
			Spec:       corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "c", Image: "none"}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, nodes.Annotate(t.Context(), own, "other", annotation, "roles allow it"))

	policy, binding := ownNodePolicy(t)
	_, err := admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the API server follows its own objects
		return nodes.Annotate(t.Context(), own, "other", annotation, "stolen") != nil
	}, time.Minute, 100*time.Millisecond)

	denied := func(err error) {
		t.Helper()
		require.True(t, apierrors.IsInvalid(err) || apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(t, err, "an agent may only change the Node, the Pods, the AntreaAgentInfo and the Gateway of its own Node")
	}
	patchPod := func(agent kubernetes.Interface, name string) error {
		_, err := agent.CoreV1().Pods(systemNamespace).Patch(t.Context(), name, types.MergePatchType,
			[]byte(`{"metadata": {"annotations": {"nodeportlocal.antrea.io": "[]"}}}`), metav1.PatchOptions{}, "status")
		return err
	}
	denied(nodes.Annotate(t.Context(), own, "other", annotation, "stolen"))
	denied(patchPod(own, "on-other"))
	require.NoError(t, nodes.Annotate(t.Context(), own, "own", annotation, "key"))
	require.NoError(t, patchPod(own, "on-own"))
	denied(nodes.Annotate(t.Context(), agentOn(nil), "own", annotation, "key"))
	denied(nodes.Annotate(t.Context(), agentOn(map[string][]string{"authentication.kubernetes.io/node-name": {"own", "other"}}), "own", annotation, "key"))
	require.NoError(t, nodes.Annotate(t.Context(), admin, "other", annotation, "administrator"))
	patchGateway := gateways(t, config)
	require.NoError(t, patchGateway("own"))
	denied(patchGateway("other"))
}
