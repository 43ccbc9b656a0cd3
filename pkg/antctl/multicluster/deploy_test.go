// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/multicluster/manifest"
)

// mapper knows the kinds of the manifests.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for group, kinds := range map[schema.GroupVersion][]string{
		{Version: "v1"}:                                     {"ServiceAccount", "ConfigMap", "Service"},
		{Group: "apps", Version: "v1"}:                      {kindDeployment},
		{Group: "rbac.authorization.k8s.io", Version: "v1"}: {"Role", "RoleBinding"},
	} {
		for _, kind := range kinds {
			m.Add(group.WithKind(kind), meta.RESTScopeNamespace)
		}
	}
	for group, kinds := range map[schema.GroupVersion][]string{
		{Group: "rbac.authorization.k8s.io", Version: "v1"}:    {"ClusterRole", "ClusterRoleBinding"},
		{Group: "apiextensions.k8s.io", Version: "v1"}:         {kindCRD},
		{Group: "admissionregistration.k8s.io", Version: "v1"}: {kindValidating, kindMutating},
	} {
		for _, kind := range kinds {
			m.Add(group.WithKind(kind), meta.RESTScopeRoot)
		}
	}
	return m
}

// deployed makes the cluster take what is applied, and returns the kinds in their order. The typed objects are as the manifest's would be
// once the controller works.
func (f *fakeCluster) deployed() *[]string {
	var kinds []string
	f.dynamic.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := &unstructured.Unstructured{}
		err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &object.Object)
		kinds = append(kinds, object.GetKind())
		return true, object, err
	})
	f.dynamic.PrependReactor("get", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}}}, nil
	})
	return &kinds
}

func working(name string) []any {
	return []any{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "mc", Name: "antrea-mc-controller"}, Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte("CA")}},
		}},
	}
}

// controllerOf is a Deployment with the command of a role.
func controllerOf(role string) *appsv1.Deployment {
	d := working("")[0].(*appsv1.Deployment)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Command: []string{"antrea-mc-controller", role, "--config=x"}}}
	return d
}

// TestDeploy: CRDs come before the Deployment, and the webhooks last, for both roles; the Namespace is made.
func TestDeploy(t *testing.T) {
	for kind, role := range map[string]string{manifest.Leader: "leader", manifest.Member: "member"} {
		t.Run(kind, func(t *testing.T) {
			content, err := manifest.Render(kind, "mc")
			require.NoError(t, err)
			objects, err := ParseManifest(content)
			require.NoError(t, err)
			f := newFake(t, working("antrea-mc-"+role+"-mc")...)
			kinds := f.deployed()
			require.NoError(t, f.Deploy(t.Context(), "mc", objects, mapper()))
			_, err = f.kube.CoreV1().Namespaces().Get(t.Context(), "mc", metav1.GetOptions{})
			require.NoError(t, err)
			require.Len(t, *kinds, len(objects))
			require.Equal(t, kindCRD, (*kinds)[0])
			require.Equal(t, []string{kindDeployment, kindValidating}, (*kinds)[len(objects)-2:])
			require.NoError(t, f.Deploy(t.Context(), "mc", objects, mapper()), "once more")
			f = newFake(t, controllerOf(role), working("antrea-mc-" + role + "-mc")[1])
			f.deployed()
			require.NoError(t, f.Deploy(t.Context(), "mc", objects, mapper()), "over the same role")
		})
	}
}

func TestDeployThatFails(t *testing.T) {
	content, err := manifest.Render(manifest.Leader, "mc")
	require.NoError(t, err)
	objects, err := ParseManifest(content)
	require.NoError(t, err)
	all := working("antrea-mc-leader-mc")
	for name, test := range map[string]struct {
		objects   []any
		namespace string
		arrange   func(*fakeCluster)
		want      string
	}{
		"no Namespace":            {all, "", nil, "--namespace is missing"},
		"another Namespace":       {all, "other", nil, "in Namespace mc; --namespace is other"},
		"no Pod":                  {[]any{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "mc", Name: "antrea-mc-controller"}}, all[1]}, "mc", nil, "waited 20ms for Deployment mc/antrea-mc-controller: 0 of its Pods are available; look at kubectl -n mc get pods"},
		"no certificate":          {[]any{all[0], &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "antrea-mc-leader-mc"}, Webhooks: make([]admissionregistrationv1.ValidatingWebhook, 1)}}, "mc", nil, "antrea-mc-controller has not written it"},
		"a refusal":               {all, "mc", func(f *fakeCluster) { _ = f.fail("patch", "deployments") }, "writing Deployment antrea-mc-controller: patch of deployments fails"},
		"another role":            {[]any{controllerOf("member"), all[1]}, "mc", nil, "the Namespace mc has the controller of a member: a leader needs another Namespace"},
		"no right to a Namespace": {all, "mc", func(f *fakeCluster) { _ = f.fail("create", "namespaces") }, "making Namespace mc: create of namespaces fails"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, test.objects...)
			f.deployed()
			f.impatient()
			if test.arrange != nil {
				test.arrange(f)
			}
			require.ErrorContains(t, f.Deploy(t.Context(), test.namespace, objects, mapper()), test.want)
		})
	}
	f := newFake(t, append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mc"}})...)
	f.deployed()
	_ = f.fail("create", "namespaces")
	require.NoError(t, f.Deploy(t.Context(), "mc", objects, mapper()), "a Namespace that exists is enough")
	require.ErrorContains(t, f.Deploy(t.Context(), "mc", objects, meta.NewDefaultRESTMapper(nil)), "the cluster does not have the kind of CustomResourceDefinition")
}

func TestParseManifest(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "it has no objects",
		"# nothing\n---\n":          "it has no objects",
		"- a":                       "document 1 is not YAML of an object",
		"kind: Pod":                 "document 1 has no kind, apiVersion or name",
		"kind: A\napiVersion: v1\n": "document 1 has no kind, apiVersion or name",
	} {
		_, err := ParseManifest([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
