// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/antrea-oncache/antrea/pkg/antctl"
)

// createAccount creates the service account antctl with the rights that the manifest gives it, and the configuration.
func createAccount(t *testing.T, f *fixture) {
	t.Helper()
	manifest, err := os.ReadFile("../../build/yamls/antrea.yml")
	require.NoError(t, err)
	kube, created := f.admin.Kube, 0
	for document := range strings.SplitSeq(string(manifest), "\n---\n") {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue // CRDs and APIServices
		}
		require.NoError(t, err)
		if meta, ok := object.(metav1.Object); !ok || meta.GetName() != "antctl" && meta.GetName() != "antrea-config" {
			continue
		}
		switch object := object.(type) {
		case *corev1.ConfigMap:
			_, err = kube.CoreV1().ConfigMaps("kube-system").Create(t.Context(), object, metav1.CreateOptions{})
		case *corev1.ServiceAccount:
			_, err = kube.CoreV1().ServiceAccounts("kube-system").Create(t.Context(), object, metav1.CreateOptions{})
		case *rbacv1.ClusterRole:
			_, err = kube.RbacV1().ClusterRoles().Create(t.Context(), object, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = kube.RbacV1().ClusterRoleBindings().Create(t.Context(), object, metav1.CreateOptions{})
		case *rbacv1.Role:
			_, err = kube.RbacV1().Roles("kube-system").Create(t.Context(), object, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = kube.RbacV1().RoleBindings("kube-system").Create(t.Context(), object, metav1.CreateOptions{})
		}
		require.NoError(t, err)
		created++
	}
	require.Equal(t, 6, created)
}

// kubeconfigOf writes a kubeconfig for a service account.
func kubeconfigOf(t *testing.T, f *fixture, namespace, account string) string {
	t.Helper()
	request, err := f.admin.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server: f.admin.Config.Host, CertificateAuthorityData: f.admin.Config.CAData, CertificateAuthority: f.admin.Config.CAFile,
	}
	config.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: account}
	config.CurrentContext = "x"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

// createOperator creates an account that has the manifest's ClusterRole antctl and no other rights.
func createOperator(t *testing.T, f *fixture) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "operator"}}
	_, err := f.admin.Kube.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = f.admin.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "antctl"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "operator"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// testAntctl runs antctl as a program outside of Antrea's Pods does: with the rights of the manifest's service account antctl only, or of the
// ClusterRole antctl only. The controller is on Node node-1, where there is no agent.
func testAntctl(t *testing.T, f *fixture) {
	createAccount(t, f)
	node, err := f.admin.Kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	_, err = f.admin.Kube.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	createOperator(t, f)
	for namespace, account := range map[string]string{"kube-system": "antctl", "default": "operator"} {
		t.Run(account, func(t *testing.T) { testAntctlAs(t, kubeconfigOf(t, f, namespace, account)) })
	}
}

func testAntctlAs(t *testing.T, kubeconfig string) {
	run := func(args ...string) (stdout, stderr string, err error) {
		var out, errOut bytes.Buffer
		command := antctl.NewCommand(antctl.Environment{Mode: antctl.ModeController}, "")
		command.SetOut(&out)
		command.SetErr(&errOut)
		command.SetArgs(append(args, "-k", kubeconfig))
		err = command.ExecuteContext(t.Context())
		return out.String(), errOut.String(), err
	}
	for _, command := range []string{
		"version", "get networkpolicy", "get appliedtogroup", "get addressgroup", "get controllerinfo", "get featuregates",
		"get networkpolicy -T ACNP --sort-by effectivePriority", "query endpoint -p client", "query networkpolicyevaluation -S default/client -D default/web",
	} {
		_, stderr, err := run(strings.Fields(command)...)
		require.NoError(t, err, "%s: %s", command, stderr)
	}
	directory := filepath.Join(t.TempDir(), "bundle")
	stdout, stderr, err := run("supportbundle", "--controller-only", "-d", directory)
	require.NoError(t, err, stderr)
	require.Equal(t, "Created bundle under "+directory+"\n", stdout)
	require.NotContains(t, stderr, "forbidden")
	require.FileExists(t, filepath.Join(directory, "controller.tar.gz"))
	info, err := os.ReadFile(filepath.Join(directory, "clusterinfo"))
	require.NoError(t, err)
	require.Contains(t, string(info), "name: antrea-agent-x")

	_, stderr, err = run("supportbundle", "-d", directory)
	require.Error(t, err)
	require.Contains(t, stderr, "Node node-1: finding the agent of Node node-1")
	require.NotContains(t, stderr, "forbidden")
}
