// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
)

// leaderAPI is an API that has the announce, takes its deletion when hold is closed, and knows nothing else.
type leaderAPI struct {
	*httptest.Server
	hold    chan struct{}
	deleted chan string
}

func newLeaderAPI(t *testing.T) *leaderAPI {
	api := &leaderAPI{hold: make(chan struct{}), deleted: make(chan string, 10)}
	api.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			select {
			case <-api.hold:
				api.deleted <- r.URL.Path
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/member-announce-from-west") {
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
