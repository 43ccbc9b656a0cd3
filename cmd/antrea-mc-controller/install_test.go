// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/manifest"
)

// install applies both manifests, apart from Deployments, and makes a token for the member "west". The webhooks, which f.asks adds, need a URL in the
// place of a Service.
func (f *fixture) install() {
	f.t.Helper()
	core := f.admin.Kube.CoreV1()
	_, err := core.Namespaces().Create(f.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: area}}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	for kind, namespace := range map[string]string{manifest.Leader: area, manifest.Member: system} {
		rendered, err := manifest.Render(kind, namespace)
		require.NoError(f.t, err)
		for document := range strings.SplitSeq(string(rendered), "\n---\n") {
			object := &unstructured.Unstructured{}
			require.NoError(f.t, yaml.Unmarshal([]byte(document), &object.Object))
			switch object.GetKind() {
			case "ValidatingWebhookConfiguration":
				f.webhooks[namespace] = object
				continue
			case "Deployment", "Service":
				continue
			}
			resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
			_, err := f.admin.Dynamic.Resource(resource).Namespace(object.GetNamespace()).Create(f.t.Context(), object, metav1.CreateOptions{})
			if object.GetName() != v1alpha2.ClusterSets.GroupResource().String() { // in both manifests
				require.NoError(f.t, err, "%s %s", object.GetKind(), object.GetName())
			}
		}
		f.kubeconfig[namespace] = f.writeKubeconfig(f.token(namespace, "antrea-mc-controller"))
	}
	f.account("west")
	_, err = core.Secrets(system).Create(f.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "token"}, StringData: map[string]string{"token": f.token(area, "west"), "ca.crt": f.ca()},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

// account makes the ServiceAccount of a member, with its rights.
func (f *fixture) account(member string) {
	f.t.Helper()
	_, err := f.admin.Kube.CoreV1().ServiceAccounts(area).Create(f.t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: member, Annotations: map[string]string{v1alpha1.ClusterIDAnnotation: member}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	_, err = f.admin.Kube.RbacV1().RoleBindings(area).Create(f.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: member}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "antrea-mc-member-cluster-role"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: area, Name: member}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

func (f *fixture) token(namespace, account string) string {
	f.t.Helper()
	request, err := f.admin.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(f.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	return request.Status.Token
}

// ca returns the CA certificate of the Kubernetes API.
func (f *fixture) ca() string {
	f.t.Helper()
	if data := f.admin.Config.CAData; len(data) > 0 {
		return string(data)
	}
	text, err := os.ReadFile(f.admin.Config.CAFile)
	require.NoError(f.t, err)
	return string(text)
}

func (f *fixture) writeKubeconfig(token string) string {
	f.t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: f.admin.Config.Host, CertificateAuthorityData: []byte(f.ca())}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	file := filepath.Join(f.t.TempDir(), "kubeconfig")
	require.NoError(f.t, clientcmd.WriteToFile(*c, file))
	return file
}

// label adds labels to a ResourceExport.
func (f *fixture) label(name string, labels map[string]string) {
	f.t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	require.NoError(f.t, err)
	_, err = f.admin.Dynamic.Resource(v1alpha1.ResourceExports).Namespace(area).Patch(f.t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(f.t, err)
}
