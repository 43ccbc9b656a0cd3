// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
)

const (
	leaderSet = "{apiVersion: multicluster.crd.antrea.io/v1alpha2, kind: ClusterSet, metadata: {namespace: antrea-multicluster, name: cs}, spec: {clusterID: north, leaders: [{clusterID: north}]}}"
	memberSet = "{apiVersion: multicluster.crd.antrea.io/v1alpha2, kind: ClusterSet, metadata: {namespace: kube-system, name: cs}, spec: {clusterID: east, namespace: antrea-multicluster, leaders: [{clusterID: north, server: 'https://192.0.2.1:6443', secret: east-token}]}}"
	announce  = "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: MemberClusterAnnounce, metadata: {namespace: antrea-multicluster, name: member-announce-from-east}, clusterID: east}"
	joinFile  = "apiVersion: multicluster.antrea.io/v1alpha1\nclusterSetID: cs\nkind: ClusterSetJoinConfig\nleaderAPIServer: https://192.0.2.1:6443\nleaderClusterID: north\nleaderNamespace: antrea-multicluster\n"
)

func TestInit(t *testing.T) {
	f := newFake(t)
	var file string
	deliver := func(content []byte) error { file = string(content); return nil }
	require.NoError(t, f.Init(t.Context(), leaderNamespace, "cs", "north", deliver))
	require.Equal(t, joinFile, file)
	created, err := f.sets(leaderNamespace).Get(t.Context(), "cs", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"apiVersion": "multicluster.crd.antrea.io/v1alpha2", "kind": "ClusterSet",
		"metadata": map[string]any{"namespace": leaderNamespace, "name": "cs"},
		"spec":     map[string]any{"clusterID": "north", "leaders": []any{map[string]any{"clusterID": "north"}}},
	}, created.Object)
	require.NoError(t, f.Init(t.Context(), leaderNamespace, "cs", "north", deliver), "it is the leader already")
	require.ErrorContains(t, f.Init(t.Context(), leaderNamespace, "other", "north", deliver), `has the ClusterSet "cs" of cluster "north" already`)
	require.ErrorContains(t, f.Init(t.Context(), leaderNamespace, "cs", "south", deliver), `has the ClusterSet "cs"`)
	require.ErrorContains(t, f.Init(t.Context(), "", "", "A", deliver), "--namespace is missing\n--clusterset is missing\n--clusterid: \"A\" is not a name")

	f = newFake(t)
	failure := f.fail("create", "clustersets")
	require.ErrorIs(t, f.Init(t.Context(), leaderNamespace, "cs", "north", deliver), failure)
	f = newFake(t)
	require.ErrorIs(t, f.Init(t.Context(), leaderNamespace, "cs", "north", func([]byte) error { return failure }), failure)
	require.Empty(t, f.objects(t), "no ClusterSet without its file")
}

func TestJoinFile(t *testing.T) {
	f := newFake(t, leaderSet, role())
	require.NoError(t, f.CreateToken(t.Context(), eastToken(), func([]byte) error { return nil }))
	file, err := f.JoinFile(t.Context(), leaderNamespace, "")
	require.NoError(t, err)
	require.Equal(t, joinFile, string(file))
	file, err = f.JoinFile(t.Context(), leaderNamespace, "east-token")
	require.NoError(t, err)
	config, secret, err := ReadJoin(strings.NewReader(string(file)))
	require.NoError(t, err)
	require.Equal(t, "cs north antrea-multicluster https://192.0.2.1:6443", strings.Join([]string{config.ClusterSetID, config.LeaderClusterID, config.LeaderNamespace, config.LeaderAPIServer}, " "))
	require.Equal(t, "t-east-token", string(secret.Data["token"]))
	_, err = f.JoinFile(t.Context(), leaderNamespace, "west-token")
	require.ErrorContains(t, err, `secrets "west-token" not found`)
	_, err = newFake(t).JoinFile(t.Context(), leaderNamespace, "")
	require.EqualError(t, err, "the Namespace antrea-multicluster has no ClusterSet; antctl mc init makes one")
	_, err = newFake(t, memberSet).JoinFile(t.Context(), "kube-system", "")
	require.ErrorContains(t, err, "is a member's; name the leader's Namespace")
}

// connect makes the controller of a member write a status once there is a ClusterSet.
func (f *fakeCluster) connect(status string) {
	f.dynamic.PrependReactor("get", "clustersets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object, err := f.dynamic.Tracker().Get(v1alpha2.ClusterSets, action.GetNamespace(), action.(clienttesting.GetAction).GetName())
		if err != nil {
			return true, nil, err
		}
		set := object.(*unstructured.Unstructured).DeepCopy()
		err = unstructured.SetNestedSlice(set.Object, []any{map[string]any{"clusterID": "north", "conditions": []any{
			map[string]any{"type": "Ready", "status": status, "reason": "R", "message": "M"},
		}}}, "status", "clusterStatuses")
		return true, set, err
	})
}

func joining() (JoinConfig, *corev1.Secret) {
	return JoinConfig{ClusterSetID: "cs", ClusterID: "east", Namespace: "kube-system", LeaderClusterID: "north", LeaderNamespace: leaderNamespace, LeaderAPIServer: "https://192.0.2.1:6443"},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "east-token"}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"token": []byte("t"), "ca.crt": []byte("CA")}}
}

func TestJoin(t *testing.T) {
	f := newFake(t)
	f.connect("True")
	config, secret := joining()
	require.NoError(t, f.Join(t.Context(), config, secret))
	stored, err := f.kube.CoreV1().Secrets("kube-system").Get(t.Context(), "east-token", metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, isMade(stored))
	require.Equal(t, secret.Data, stored.Data)
	set, err := f.theSet(t.Context(), "kube-system")
	require.NoError(t, err)
	require.Equal(t, v1alpha2.ClusterSetSpec{
		ClusterID: "east", Namespace: leaderNamespace, Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: "north", Server: "https://192.0.2.1:6443", Secret: "east-token"}},
	}, set.Spec)
	require.NoError(t, f.Join(t.Context(), config, secret), "it is a member already")
	other := config
	other.ClusterID = "west"
	require.ErrorContains(t, f.Join(t.Context(), other, secret), `has the ClusterSet "cs" of cluster "east" already`)
	secret.Data["token"] = []byte("another")
	require.ErrorContains(t, f.Join(t.Context(), config, secret), "Secret kube-system/east-token exists with another content")
	require.Equal(t, []string{"Secret east-token", "ClusterSet cs"}, f.objects(t))

	config.TokenSecretName = "east-token"
	require.NoError(t, f.Join(t.Context(), config, nil), "with the Secret that exists")
	config.TokenSecretName = "x"
	require.ErrorContains(t, f.Join(t.Context(), config, nil), "reading Secret kube-system/x")
}

// TestJoinIsTakenBack: whichever step fails, nothing is left.
func TestJoinIsTakenBack(t *testing.T) {
	for name, test := range map[string]struct {
		arrange func(*fakeCluster)
		want    string
	}{
		"no Secret":     {func(f *fakeCluster) { _ = f.fail("create", "secrets") }, "making Secret kube-system/east-token: create of secrets fails"},
		"no ClusterSet": {func(f *fakeCluster) { _ = f.fail("create", "clustersets") }, "making ClusterSet kube-system/cs: create of clustersets fails"},
		"not ready":     {func(f *fakeCluster) { f.connect("False"); f.impatient() }, "waited 20ms for the connection of ClusterSet kube-system/cs with the leader north: the condition Ready is False: R M"},
		"no status":     {(*fakeCluster).impatient, "its status does not mention the leader; is antrea-mc-controller running"},
		"no answer":     {func(f *fakeCluster) { _ = f.fail("get", "clustersets"); f.impatient() }, "with the leader north: get of clustersets fails"},
		"it vanishes": {func(f *fakeCluster) {
			f.dynamic.PrependReactor("get", "clustersets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewNotFound(v1alpha2.ClusterSets.GroupResource(), "cs")
			})
		}, "waiting for the connection of ClusterSet kube-system/cs with the leader north: "},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			test.arrange(f)
			config, secret := joining()
			require.ErrorContains(t, f.Join(t.Context(), config, secret), test.want)
			require.Empty(t, f.objects(t))
		})
	}
	f := newFake(t)
	require.ErrorContains(t, f.Join(t.Context(), JoinConfig{LeaderAPIServer: "http://x"}, nil),
		"--namespace is missing\n--clusterset is missing\n--clusterid is missing\n--leader-clusterid is missing\n--leader-namespace is missing\n"+
			"--leader-apiserver: \"http://x\" is not the URL of a Kubernetes API, such as https://192.0.2.1:6443\nthe token is missing")
}

func TestLeave(t *testing.T) {
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "other"}}
	ours := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "east-token", Annotations: made()}}
	elsewhere := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "copy", Annotations: made()}}
	f := newFake(t, memberSet, foreign, ours, elsewhere)
	require.ErrorContains(t, f.Leave(t.Context(), "kube-system", "x"), `has the ClusterSet "cs", not "x"`)
	require.ErrorContains(t, f.Destroy(t.Context(), "kube-system", "cs"), "is a member's; antctl mc leave ends its membership")
	require.NoError(t, f.Leave(t.Context(), "kube-system", "cs"))
	require.Equal(t, []string{"Secret copy", "Secret other"}, f.objects(t))
	require.EqualError(t, f.Leave(t.Context(), "kube-system", "cs"), "the Namespace kube-system has no ClusterSet")

	// While the controller has work to do, it needs its Secret.
	f = newFake(t, memberSet, ours)
	f.impatient()
	f.dynamic.PrependReactor("delete", "clustersets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	require.ErrorContains(t, f.Leave(t.Context(), "kube-system", "cs"), "waited 20ms for the end of ClusterSet kube-system/cs: it has a finalizer")
	require.Equal(t, []string{"Secret east-token", "ClusterSet cs"}, f.objects(t))
}

func TestDestroy(t *testing.T) {
	f := newFake(t, leaderSet, announce, role())
	require.NoError(t, f.CreateToken(t.Context(), eastToken(), func([]byte) error { return nil }))
	all := f.objects(t)
	require.ErrorContains(t, f.Destroy(t.Context(), leaderNamespace, "cs"), "the ClusterSet has the members east: run antctl mc leave in each one first")
	require.ErrorContains(t, f.Leave(t.Context(), leaderNamespace, "cs"), "is the leader's; antctl mc destroy ends it")
	require.Equal(t, all, f.objects(t))
	f = newFake(t, leaderSet, role())
	require.NoError(t, f.CreateToken(t.Context(), eastToken(), func([]byte) error { return nil }))
	require.NoError(t, f.Destroy(t.Context(), leaderNamespace, "cs"))
	require.Empty(t, f.objects(t))
}
