// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	mcs "github.com/antrea-oncache/antrea/multicluster/apis/mcs/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/commonarea"
	"github.com/antrea-oncache/antrea/multicluster/source"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// stored is an object as an API has it.
func stored(t change.Type, object metav1.Object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: change.ToCreate(t, object).Content}
}

// importOf is a policy's import in the leader.
func importOf(name string, content any) *unstructured.Unstructured {
	return stored(resourceImports, &v1alpha1.ResourceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: area, Name: v1alpha1.PolicyImportName(name)},
		Spec:       v1alpha1.ResourceImportSpec{Kind: v1alpha1.ClusterNetworkPolicyKind, Name: name, ClusterNetworkPolicy: content},
	})
}

// startMember starts the watches of a member and of its leader that have these objects. It is called in a bubble of synctest.
func startMember(t *testing.T, here, there *unstructured.Unstructured) (*Controller, *dynamicfake.FakeDynamicClient) {
	set := &v1alpha2.ClusterSet{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "set", UID: "uid-1"}, Spec: v1alpha2.ClusterSetSpec{
		ClusterID: "west", Namespace: area, Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: "north", Server: "https://192.0.2.1:6443", Secret: "token"}},
	}}
	local := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		v1alpha2.ClusterSets: "ClusterSetList", v1alpha1.Gateways: "GatewayList", v1alpha1.ClusterInfoImports: "ClusterInfoImportList",
		mcs.ServiceExports: "ServiceExportList", mcs.ServiceImports: "ServiceImportList", coreEndpoints.Resource: "EndpointsList",
		crd.ClusterNetworkPolicies: "ClusterNetworkPolicyList", crd.Tiers: "TierList", crd.ClusterGroups: "ClusterGroupList",
	}, stored(clusterSets, set), stored(tierObjects, named(v1beta1.ApplicationTier)), here)
	far := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		v1alpha1.ResourceImports: "ResourceImportList", v1alpha1.ResourceExports: "ResourceExportList",
	}, there)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "token"}, Data: map[string][]byte{"token": []byte("t"), "ca.crt": []byte("c")}}
	c, err := New(Config{Kube: fake.NewClientset(secret), Dynamic: local, Namespace: system})
	require.NoError(t, err)
	l, err := commonarea.NewFor(membershipOf(set), far, "uid", func() {})
	require.NoError(t, err)
	none := func() *atomic.Pointer[map[string]string] {
		p := &atomic.Pointer[map[string]string]{}
		p.Store(&map[string]string{})
		return p
	}
	c.link.Store(&link{l, commonarea.Credentials{Token: "t", CA: "c"}, time.Now(), none(), none(), func() {}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); source.RunAll(ctx, append(c.view.sources(), l.Imports, l.Exports)...) }()
	t.Cleanup(func() { cancel(); <-done })
	for syncedAll(c.view.sources()) != nil || l.Synced() != nil {
		time.Sleep(time.Millisecond)
	}
	return c, local
}

// TestMemoryOfTheController: a copy without an import is deleted when it has been without one for a while, and the controller plans again then.
func TestMemoryOfTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		copied := &Policy{ObjectMeta: metav1.ObjectMeta{Name: "antrea-mc-isolation", Annotations: map[string]string{v1alpha1.ImportedPolicyAnnotation: "true"}}, Spec: policyOf(5)}
		c, _ := startMember(t, stored(clusterPolicies, copied), importOf("another", policyOf(6)))
		exists := func() error {
			_, err := c.Dynamic.Resource(crd.ClusterNetworkPolicies).Get(t.Context(), "antrea-mc-isolation", metav1.GetOptions{})
			return err
		}
		again, err := c.sync(t.Context())
		require.NoError(t, err)
		require.Equal(t, missingTime, again)
		require.NoError(t, exists())
		time.Sleep(again)
		_, err = c.sync(t.Context())
		require.NoError(t, err)
		require.True(t, apierrors.IsNotFound(exists()))
	})
}

// TestCopyWithUnknownFields: an API that would store a copy without some of its fields refuses it, and the leader is told.
func TestCopyWithUnknownFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := startMember(t, stored(tierObjects, named("another")), importOf("isolation", policyOf(5)))
		client.PrependReactor("create", crd.ClusterNetworkPolicies.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.(clienttesting.CreateActionImpl).CreateOptions.FieldValidation != metav1.FieldValidationStrict {
				return false, nil, nil
			}
			return true, nil, apierrors.NewBadRequest(`strict decoding error: unknown field "spec.ingress[0].new"`)
		})
		_, err := c.sync(t.Context())
		require.ErrorContains(t, err, "unknown field")
		_, err = c.sync(t.Context())
		require.ErrorContains(t, err, "unknown field")
		require.Contains(t, (*c.link.Load().failures.Load())[v1alpha1.PolicyImportName("isolation")], `unknown field "spec.ingress[0].new"`)
	})
}
