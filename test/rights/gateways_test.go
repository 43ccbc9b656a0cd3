// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicclient "k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	sigsyaml "sigs.k8s.io/yaml"
)

// gatewayCRD stands for the CRD of the chart.
const gatewayCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gateways.multicluster.crd.antrea.io}
spec:
  group: multicluster.crd.antrea.io
  scope: Namespaced
  names: {plural: gateways, singular: gateway, kind: Gateway}
  versions:
    - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// gateways makes the Gateways own and other, and lets agents patch them, as with multicluster.enableGateway. The function patches one as the agent of
// the Node own.
func gateways(t *testing.T, config *rest.Config) (patch func(name string) error) {
	t.Helper()
	ctx, create, admin := t.Context(), metav1.CreateOptions{}, dynamicclient.NewForConfigOrDie(config)
	crd := &unstructured.Unstructured{}
	require.NoError(t, sigsyaml.Unmarshal([]byte(gatewayCRD), &crd.Object))
	_, err := admin.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Create(ctx, crd, create)
	require.NoError(t, err)
	resource := schema.GroupVersionResource{Group: "multicluster.crd.antrea.io", Version: "v1alpha1", Resource: "gateways"}
	rbac := kubernetes.NewForConfigOrDie(config).RbacV1()
	_, err = rbac.Roles(systemNamespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "gateways"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{resource.Group}, Resources: []string{resource.Resource}, Verbs: []string{"patch"}}},
	}, create)
	require.NoError(t, err)
	_, err = rbac.RoleBindings(systemNamespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "gateways"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "gateways"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: systemNamespace, Name: "antrea-agent"}},
	}, create)
	require.NoError(t, err)
	for _, name := range []string{"own", "other"} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": resource.GroupVersion().String(), "kind": "Gateway", "metadata": map[string]any{"name": name},
		}}
		require.Eventually(t, func() bool { // the API server follows its own objects
			_, err := admin.Resource(resource).Namespace(systemNamespace).Create(ctx, object, create)
			return err == nil
		}, time.Minute, 100*time.Millisecond)
	}
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + systemNamespace + ":antrea-agent", Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"own"}},
	}
	agent := dynamicclient.NewForConfigOrDie(as).Resource(resource).Namespace(systemNamespace)
	return func(name string) error {
		_, err := agent.Patch(ctx, name, types.MergePatchType, []byte(`{"spec": {"publicKey": "key"}}`), metav1.PatchOptions{})
		return err
	}
}
