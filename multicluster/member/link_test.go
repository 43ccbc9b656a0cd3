// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
)

// leaderAPI is an API that has the announce, takes its deletion when hold is closed, and knows nothing else. It accepts one token, if one is set.
type leaderAPI struct {
	*httptest.Server
	token   string
	hold    chan struct{}
	deleted chan string
}

func newLeaderAPI(t *testing.T) *leaderAPI {
	api := &leaderAPI{hold: make(chan struct{}), deleted: make(chan string, 10)}
	api.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if api.token != "" && r.Header.Get("Authorization") != "Bearer "+api.token {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`))
			return
		}
		if r.Method == http.MethodDelete {
			select {
			case <-api.hold:
				api.deleted <- r.URL.Path
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if (r.Method == http.MethodGet || api.token != "" && r.Method == http.MethodPatch) && strings.HasSuffix(r.URL.Path, "/member-announce-from-west") {
			_, _ = w.Write([]byte(`{"kind":"MemberClusterAnnounce","apiVersion":"multicluster.crd.antrea.io/v1alpha1","metadata":{"name":"member-announce-from-west","uid":"u"}}`))
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
	}))
	t.Cleanup(api.Close)
	return api
}

// TestChangedLeader: the same leader at another URL keeps the announce. Another leader, or Namespace, does not end the attempt to leave the
// former one; a return to it does.
func TestChangedLeader(t *testing.T) {
	first, second := newLeaderAPI(t), newLeaderAPI(t)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Certificate().Raw})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "token"}, Data: map[string][]byte{"token": []byte("t"), "ca.crt": ca}}
	c, err := New(Config{Kube: fake.NewClientset(secret), Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), Namespace: "kube-system"})
	require.NoError(t, err)
	t.Cleanup(func() {
		close(second.hold)
		require.NoError(t, c.connect(t.Context(), nil))
		for _, l := range c.leaving {
			<-l.done
		}
	})
	connect := func(api *leaderAPI, leader, namespace string) {
		t.Helper()
		set := &v1alpha2.ClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "set"}}
		set.Spec = v1alpha2.ClusterSetSpec{ClusterID: "west", Namespace: namespace, Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: leader, Server: api.URL, Secret: "token"}}}
		require.NoError(t, c.connect(t.Context(), set))
		require.Equal(t, membershipOf(set), c.link.Load().area.Membership)
	}
	connect(first, "north", "common")
	connect(second, "north", "common")
	require.Empty(t, c.leaving, "the same leader at another URL")
	connect(first, "north", "common")
	connect(second, "south", "common")
	require.Len(t, c.leaving, 1)
	connect(second, "south", "other")
	require.Len(t, c.leaving, 2, "another Namespace")
	connect(second, "south", "common")
	require.Len(t, c.leaving, 2, "the attempt to leave it has ended, the one to leave the other Namespace runs")
	close(first.hold)
	require.Equal(t, "/apis/multicluster.crd.antrea.io/v1alpha1/namespaces/common/memberclusterannounces/member-announce-from-west", <-first.deleted)
}

// TestReplacedToken: a token that the leader does not accept any more is named in the state, and the next one in the Secret is used.
func TestReplacedToken(t *testing.T) {
	api := newLeaderAPI(t)
	api.token = "second"
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "token"}, Data: map[string][]byte{"token": []byte("first"), "ca.crt": ca}}
	kube := fake.NewClientset(secret)
	c, err := New(Config{Kube: kube, Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), Namespace: "kube-system"})
	require.NoError(t, err)
	t.Cleanup(c.disconnect)
	set := &v1alpha2.ClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "set"}}
	set.Spec = v1alpha2.ClusterSetSpec{ClusterID: "west", Namespace: "common", Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: "north", Server: api.URL, Secret: "token"}}}
	var up bool
	var failure string
	state := func(want func() bool) func() bool {
		return func() bool { up, failure = c.link.Load().area.State(); return want() }
	}
	require.NoError(t, c.connect(t.Context(), set))
	require.Eventually(t, state(func() bool { return failure != "" }), time.Minute, time.Millisecond)
	require.False(t, up)
	require.Contains(t, failure, "the leader does not accept the token in the ClusterSet's Secret")

	secret.Data["token"] = []byte("second")
	_, err = kube.CoreV1().Secrets("kube-system").Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	former := c.link.Load()
	c.link.Store(&link{former.area, former.credentials, time.Time{}, former.refused, former.failures, former.stop}) // It is time to read the Secret.
	require.NoError(t, c.connect(t.Context(), set))
	require.Eventually(t, state(func() bool { return up }), time.Minute, time.Millisecond)
	require.Empty(t, c.leaving, "it stays the member")
}
