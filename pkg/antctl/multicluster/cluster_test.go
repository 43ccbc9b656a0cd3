// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
)

const leaderNamespace = "antrea-multicluster"

// listKinds are the kinds of the lists of all resources.
var listKinds = map[schema.GroupVersionResource]string{
	v1alpha2.ClusterSets: "ClusterSetList", v1alpha1.MemberClusterAnnounces: "MemberClusterAnnounceList",
	v1alpha1.ResourceExports: "ResourceExportList", v1alpha1.ResourceImports: "ResourceImportList",
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: "CustomResourceDefinitionList",
}

// fakeCluster is a Cluster whose APIs are fakes, and everything that it has said.
type fakeCluster struct {
	*Cluster
	kube    *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	said    []string
}

// newFake makes a cluster with objects: typed ones, and others in YAML. Kubernetes fills in the tokens of ServiceAccounts.
func newFake(t *testing.T, objects ...any) *fakeCluster {
	t.Helper()
	var typed, others []runtime.Object
	for _, o := range objects {
		if text, ok := o.(string); ok {
			u := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
			others = append(others, u)
			continue
		}
		typed = append(typed, o.(runtime.Object))
	}
	f := &fakeCluster{kube: fake.NewClientset(typed...), dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds, others...)}
	f.kube.PrependReactor("create", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		secret := action.(clienttesting.CreateAction).GetObject().(*corev1.Secret)
		if secret.Type == corev1.SecretTypeServiceAccountToken {
			secret.Data = map[string][]byte{"token": []byte("t-" + secret.Name), "ca.crt": []byte("CA")}
		}
		return false, nil, nil
	})
	f.Cluster = &Cluster{
		Kube: f.kube, Dynamic: f.dynamic, Server: "https://192.0.2.1:6443", Interval: time.Millisecond, Patience: time.Minute,
		Say: func(format string, args ...any) { f.said = append(f.said, fmt.Sprintf(format, args...)) },
	}
	return f
}

// impatient makes the cluster give up soon, for what never happens.
func (f *fakeCluster) impatient() { f.Patience = 20 * time.Millisecond }

// fail makes a call of the Kubernetes API fail.
func (f *fakeCluster) fail(verb, resource string) error {
	err := fmt.Errorf("%s of %s fails", verb, resource)
	reaction := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err }
	f.kube.PrependReactor(verb, resource, reaction)
	f.dynamic.PrependReactor(verb, resource, reaction)
	return err
}

// objects returns the kinds and names of everything that antctl can have made.
func (f *fakeCluster) objects(t *testing.T) (names []string) {
	t.Helper()
	ctx, all := context.Background(), metav1.ListOptions{}
	accounts, err := f.kube.CoreV1().ServiceAccounts("").List(ctx, all)
	require.NoError(t, err)
	for _, o := range accounts.Items {
		names = append(names, "ServiceAccount "+o.Name)
	}
	bindings, err := f.kube.RbacV1().RoleBindings("").List(ctx, all)
	require.NoError(t, err)
	for _, o := range bindings.Items {
		names = append(names, "RoleBinding "+o.Name)
	}
	secrets, err := f.kube.CoreV1().Secrets("").List(ctx, all)
	require.NoError(t, err)
	for _, o := range secrets.Items {
		names = append(names, "Secret "+o.Name)
	}
	sets, err := f.dynamic.Resource(v1alpha2.ClusterSets).List(ctx, all)
	require.NoError(t, err)
	for _, o := range sets.Items {
		names = append(names, "ClusterSet "+o.GetName())
	}
	announces, err := f.dynamic.Resource(v1alpha1.MemberClusterAnnounces).List(ctx, all)
	require.NoError(t, err)
	for _, o := range announces.Items {
		names = append(names, "MemberClusterAnnounce "+o.GetName())
	}
	return names
}

func role() *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: leaderNamespace, Name: "antrea-mc-member-cluster-role"}}
}

func TestAwait(t *testing.T) {
	f := newFake(t)
	asked := 0
	require.NoError(t, f.await(t.Context(), "it", func(context.Context) (bool, string, error) { asked++; return asked == 3, "", nil }))
	f.impatient()
	err := f.await(t.Context(), "it", func(context.Context) (bool, string, error) { return false, "it sleeps", nil })
	require.EqualError(t, err, "waited 20ms for it: it sleeps")
	refused := errors.New("connection refused")
	err = f.await(t.Context(), "it", func(context.Context) (bool, string, error) { return false, "", refused })
	require.EqualError(t, err, "waited 20ms for it: connection refused")
	require.ErrorIs(t, err, refused)
	f.Patience = time.Minute
	short, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer done()
	err = f.await(short, "it", func(context.Context) (bool, string, error) { return false, "it sleeps", nil })
	require.ErrorContains(t, err, "for it: it sleeps")
	require.NotContains(t, err.Error(), "waited 1m0s", "it has waited for less")
	asked = 0
	require.NoError(t, f.await(t.Context(), "it", func(context.Context) (bool, string, error) {
		if asked++; asked < 3 {
			return false, "", apierrors.NewServiceUnavailable("it starts")
		}
		return true, "", nil
	}), "the Kubernetes API starts again")
	resource := schema.GroupResource{Resource: "secrets"}
	for _, final := range []error{
		apierrors.NewNotFound(resource, "x"), apierrors.NewForbidden(resource, "x", errors.New("no")), apierrors.NewUnauthorized("no"), finalError{errors.New("its type is x")},
	} {
		asked = 0
		err = f.await(t.Context(), "it", func(context.Context) (bool, string, error) {
			if asked++; asked == 1 {
				return false, "", fmt.Errorf("reading: %w", final)
			}
			return true, "", nil
		})
		require.EqualError(t, err, "waiting for it: reading: "+final.Error())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = f.await(ctx, "it", func(context.Context) (bool, string, error) { cancel(); return false, "it sleeps", nil })
	require.ErrorIs(t, err, context.Canceled)
}

// TestUndo: steps are taken back in the opposite order, each one, also when the command's time has passed.
func TestUndo(t *testing.T) {
	var u undo
	var order []string
	step := func(name string, failure error) {
		u.add(name, func(ctx context.Context) error { order = append(order, name); return errors.Join(failure, ctx.Err()) })
	}
	step("a", nil)
	step("b", errors.New("it is stuck"))
	step("c", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, u.after(ctx, nil))
	require.Empty(t, order)
	failure := errors.New("the command fails")
	err := u.after(ctx, failure)
	require.ErrorIs(t, err, failure)
	require.ErrorContains(t, err, "b was made and could not be taken back: it is stuck")
	require.Equal(t, []string{"c", "b", "a"}, order)
}
