// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package commonarea

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

var west = Membership{ClusterSetID: "set", ClusterID: "west", LeaderClusterID: "north", Server: "https://192.0.2.1:6443", Namespace: "antrea-multicluster"}

func newArea(t *testing.T) (*Area, *dynamicfake.FakeDynamicClient) {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		v1alpha1.MemberClusterAnnounces: "MemberClusterAnnounceList", v1alpha1.ResourceImports: "ResourceImportList", v1alpha1.ResourceExports: "ResourceExportList",
	})
	a, err := NewFor(west, client, "uid-1", func() {})
	require.NoError(t, err)
	return a, client
}

func stored(t *testing.T, a *Area) *v1alpha1.MemberClusterAnnounce {
	t.Helper()
	object, err := a.announces().Get(t.Context(), "member-announce-from-west", metav1.GetOptions{})
	require.NoError(t, err)
	content, err := crd.Read[v1alpha1.MemberClusterAnnounce](object)
	require.NoError(t, err)
	return content
}

// TestAnnounce: the announce is made, rewritten every 10 s, made again if it is gone, and the connection is down 30 s after the last one that the
// leader took.
func TestAnnounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, client := newArea(t)
		var away atomic.Bool
		client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return away.Load(), nil, errors.New("no route to host")
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); a.announceForever(ctx, make(chan struct{})) }()
		synctest.Wait()
		first := stored(t, a)
		require.Equal(t, []string{"set", "west", "north"}, []string{first.ClusterSetID, first.ClusterID, first.LeaderClusterID})
		up, failure := a.State()
		require.True(t, up)
		require.Empty(t, failure)
		time.Sleep(heartbeatInterval)
		synctest.Wait()
		second := stored(t, a)
		require.NotEqual(t, first.Annotations[v1alpha1.TouchAnnotation], second.Annotations[v1alpha1.TouchAnnotation])
		require.NoError(t, a.announces().Delete(t.Context(), first.Name, metav1.DeleteOptions{}))
		time.Sleep(heartbeatInterval)
		synctest.Wait()
		stored(t, a)

		away.Store(true)
		time.Sleep(Timeout - time.Second)
		synctest.Wait()
		up, failure = a.State()
		require.True(t, up, "two announces may be lost")
		require.Equal(t, "no route to host", failure)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		up, _ = a.State()
		require.False(t, up)
		away.Store(false)
		time.Sleep(heartbeatInterval)
		synctest.Wait()
		up, _ = a.State()
		require.True(t, up)
		cancel()
		<-done
	})
}

// TestRemoval: a leader that deletes the announce takes the member out at once.
func TestRemoval(t *testing.T) {
	a, client := newArea(t)
	require.True(t, a.record(a.announce(t.Context())))
	client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		now := metav1.Now()
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetDeletionTimestamp(&now)
		return true, object, nil
	})
	require.False(t, a.record(a.announce(t.Context())))
	up, failure := a.State()
	require.False(t, up)
	require.Equal(t, "the leader is removing this member", failure)
}

// TestLeave: the announce is deleted, also if the leader is away at first, and a missing one is fine.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, client := newArea(t)
		require.NoError(t, a.announce(t.Context()))
		failures := 3
		client.PrependReactor("delete", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			failures--
			return failures >= 0, nil, errors.New("away")
		})
		a.Leave(t.Context())
		_, err := a.announces().Get(t.Context(), "member-announce-from-west", metav1.GetOptions{})
		require.Error(t, err)
		a.Leave(t.Context())
		require.NoError(t, a.announce(t.Context()))
		failures = 1_000_000
		began := time.Now()
		a.Leave(t.Context())
		require.Equal(t, leaveTimeout, time.Since(began).Round(time.Second))
	})
}

func TestBadSecretsAndServers(t *testing.T) {
	for server, want := range map[string]string{"http://192.0.2.1": "want a URL such as", "192.0.2.1:6443": "want a URL such as", "https://192.0.2.1": "PEM"} {
		m := west
		m.Server = server
		_, err := New(m, Credentials{"token", "no certificate"}, "", func() {})
		require.ErrorContains(t, err, want, server)
	}
	_, err := New(west, Credentials{Token: "token"}, "", func() {})
	require.ErrorContains(t, err, "must have the keys token and ca.crt")
}

// TestRefusedToken: the state says which token is refused, also while the last announce is young enough, and a webhook's own reason stays as it is.
func TestRefusedToken(t *testing.T) {
	resource := v1alpha1.MemberClusterAnnounces.GroupResource()
	denied := apierrors.NewForbidden(resource, "member-announce-from-west", errors.New("x"))
	denied.ErrStatus.Message = `admission webhook "vmemberclusterannounce.kb.io" denied the request: MemberCluster west has a wrong ID`
	for want, refusal := range map[string]error{
		"the leader does not accept the token in the ClusterSet's Secret: it was deleted or replaced there: ":   apierrors.NewUnauthorized("Unauthorized"),
		"the leader grants the token in the ClusterSet's Secret no rights any more: memberclusterannounces.mul": apierrors.NewForbidden(resource, "x", errors.New(`User "x" cannot patch`)),
		denied.ErrStatus.Message: denied,
	} {
		a, client := newArea(t)
		require.True(t, a.record(a.announce(t.Context())))
		for _, verb := range []string{"get", "patch"} {
			client.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				return verb == "patch" || refusal != error(denied), nil, refusal
			})
		}
		require.False(t, a.record(a.announce(t.Context())))
		up, failure := a.State()
		require.True(t, up, "the leader may have restarted")
		require.True(t, strings.HasPrefix(failure, want), failure)
	}
}
