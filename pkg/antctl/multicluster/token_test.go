// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func account(name, clusterID string, byAntctl bool) *corev1.ServiceAccount {
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: leaderNamespace, Name: name, Annotations: map[string]string{}}}
	if byAntctl {
		a.Annotations = made()
	}
	if clusterID != "" {
		a.Annotations["multicluster.antrea.io/cluster-id"] = clusterID
	}
	return a
}

func eastToken() Token { return Token{leaderNamespace, "east-token", "east", nil} }

func TestCreateToken(t *testing.T) {
	f := newFake(t, role())
	var delivered []byte
	deliver := func(secret []byte) error { delivered = secret; return nil }
	require.NoError(t, f.CreateToken(t.Context(), eastToken(), deliver))
	var secret corev1.Secret
	require.NoError(t, yaml.UnmarshalStrict(delivered, &secret))
	require.Equal(t, "v1 Secret east-token Opaque", secret.APIVersion+" "+secret.Kind+" "+secret.Name+" "+string(secret.Type))
	require.Equal(t, map[string][]byte{"token": []byte("t-east-token"), "ca.crt": []byte("CA"), "namespace": []byte(leaderNamespace)}, secret.Data)

	stored, err := f.kube.CoreV1().ServiceAccounts(leaderNamespace).Get(t.Context(), "east-token", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"multicluster.antrea.io/cluster-id": "east", "multicluster.antrea.io/created-by-antctl": "true"}, stored.Annotations)
	binding, err := f.kube.RbacV1().RoleBindings(leaderNamespace).Get(t.Context(), "east-token", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "antrea-mc-member-cluster-role"}, binding.RoleRef)
	require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: leaderNamespace, Name: "east-token"}}, binding.Subjects)

	// Once more gives the same.
	first := string(delivered)
	require.NoError(t, f.CreateToken(t.Context(), eastToken(), deliver))
	require.Equal(t, first, string(delivered))
	tokens, err := f.Tokens(t.Context(), "", "")
	require.NoError(t, err)
	require.Equal(t, []Token{eastToken()}, tokens)
	_, err = f.Tokens(t.Context(), "", "west-token")
	require.EqualError(t, err, `there is no member token "west-token" that antctl has made`)
}

// TestNetworksOfToken: a new token and one that exists get networks, which stay if the token is made once more without.
func TestNetworksOfToken(t *testing.T) {
	f := newFake(t, role())
	networksAfter := func(token Token) []string {
		require.NoError(t, f.CreateToken(t.Context(), token, func([]byte) error { return nil }))
		tokens, err := f.Tokens(t.Context(), leaderNamespace, token.Name)
		require.NoError(t, err)
		return tokens[0].Networks
	}
	bounded, other := eastToken(), Token{leaderNamespace, "west-token", "west", []string{"10.112.0.0/12"}}
	bounded.Networks = []string{"10.96.0.0/12", "10.10.0.0/16"}
	require.Empty(t, networksAfter(eastToken()))
	require.Equal(t, bounded.Networks, networksAfter(bounded))
	require.Equal(t, bounded.Networks, networksAfter(eastToken()))
	require.Equal(t, other.Networks, networksAfter(other))
}

// TestReplacedToken: with its Secret deleted, a token is made again. The membership stays, and so do the member's bounds.
func TestReplacedToken(t *testing.T) {
	f := newFake(t, role(), announceOf("east"))
	bounded := eastToken()
	bounded.Networks = []string{"10.96.0.0/12"}
	require.NoError(t, f.CreateToken(t.Context(), bounded, func([]byte) error { return nil }))
	objects, former := f.objects(t), len(f.kube.Actions())
	require.NoError(t, f.kube.CoreV1().Secrets(leaderNamespace).Delete(t.Context(), "east-token", metav1.DeleteOptions{}))
	var delivered corev1.Secret
	require.NoError(t, f.CreateToken(t.Context(), eastToken(), func(secret []byte) error { return yaml.Unmarshal(secret, &delivered) }))
	require.NotEmpty(t, delivered.Data["token"])
	require.Equal(t, objects, f.objects(t))
	tokens, err := f.Tokens(t.Context(), leaderNamespace, "east-token")
	require.NoError(t, err)
	require.Equal(t, []Token{bounded}, tokens)
	var made []string
	for _, a := range f.kube.Actions()[former:] {
		if a.GetVerb() == "create" {
			made = append(made, a.GetResource().Resource)
		}
	}
	require.Equal(t, []string{"secrets"}, made)
}

func TestTokensThatCannotBe(t *testing.T) {
	foreignBinding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: leaderNamespace, Name: "east-token"}, RoleRef: rbacv1.RoleRef{Name: "admin"}}
	foreignSecret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: leaderNamespace, Name: "east-token"}}
	for name, test := range map[string]struct {
		token   Token
		objects []any
		want    string
	}{
		"no Namespace":               {Token{"", "a", "b", nil}, nil, "--namespace is missing"},
		"an impossible name":         {Token{"n", "A", "b", nil}, nil, `the token's name: "A" is not a name`},
		"no ClusterID":               {Token{"n", "a", "", nil}, nil, "--cluster-id is missing"},
		"an impossible ClusterID":    {Token{"n", "a", "b_", nil}, nil, `--cluster-id: "b_" is not a name`},
		"an impossible network":      {Token{"n", "a", "b", []string{"10.96.0.0/12", "10.96.0.1/12"}}, nil, `--networks: "10.96.0.1/12" is not an IPv4 network`},
		"the controller's":           {Token{leaderNamespace, "antrea-mc-controller", "east", nil}, []any{role()}, "which is the leader's own ServiceAccount"},
		"no leader":                  {eastToken(), nil, "reading Role antrea-multicluster/antrea-mc-member-cluster-role, which antctl mc deploy leadercluster makes"},
		"the ID of another token":    {eastToken(), []any{role(), account("x", "east", true)}, `ServiceAccount antrea-multicluster/x is the token of cluster "east"`},
		"the beginning of an ID":     {eastToken(), []any{role(), account("x", "east-1", false)}, `"east" and "east-1", the cluster of ServiceAccount antrea-multicluster/x, cannot be in one ClusterSet`},
		"with an ID at the front":    {Token{leaderNamespace, "y", "east-1", nil}, []any{role(), account("x", "east", false)}, `"east-1" and "east"`},
		"the token of another one":   {eastToken(), []any{role(), account("east-token", "west", true)}, `ServiceAccount antrea-multicluster/east-token is the token of cluster "west"; delete it first`},
		"a foreign RoleBinding":      {eastToken(), []any{role(), foreignBinding}, "exists and does not bind Role antrea-mc-member-cluster-role to ServiceAccount east-token only"},
		"a Secret of something else": {eastToken(), []any{role(), foreignSecret}, "exists and does not have the token of ServiceAccount east-token"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, test.objects...)
			before := f.objects(t)
			err := f.CreateToken(t.Context(), test.token, func([]byte) error { t.Error("it was delivered"); return nil })
			require.ErrorContains(t, err, test.want)
			require.Equal(t, before, f.objects(t))
		})
	}
}

// TestTokenIsTakenBack: whichever step fails, nothing is left, and a ServiceAccount that was there is as before.
func TestTokenIsTakenBack(t *testing.T) {
	for name, existing := range map[string][]any{"new": {role()}, "for a ServiceAccount": {role(), account("east-token", "", false)}} {
		for _, step := range []string{"serviceaccounts", "rolebindings", "secrets", "token", "delivery"} {
			t.Run(name+"/"+step, func(t *testing.T) {
				f := newFake(t, existing...)
				before := f.objects(t)
				failure, deliver := errors.New("waited 20ms for the token"), func([]byte) error { return nil }
				switch step {
				case "token":
					f.kube.ReactionChain = f.kube.ReactionChain[1:] // Kubernetes does not fill it in.
					f.impatient()
				case "delivery":
					failure = errors.New("the disk is full")
					deliver = func([]byte) error { return failure }
				case "serviceaccounts":
					if len(existing) == 2 {
						failure = f.fail("update", step)
						break
					}
					failure = f.fail("create", step)
				default:
					failure = f.fail("create", step)
				}
				require.ErrorContains(t, f.CreateToken(t.Context(), eastToken(), deliver), failure.Error())
				require.Equal(t, before, f.objects(t))
				if len(existing) == 2 {
					a, err := f.kube.CoreV1().ServiceAccounts(leaderNamespace).Get(t.Context(), "east-token", metav1.GetOptions{})
					require.NoError(t, err)
					require.Empty(t, a.Annotations)
				}
			})
		}
	}
}

func TestDeleteToken(t *testing.T) {
	f := newFake(t, role(), account("west-token", "west", true), account("manual", "south", false), announceOf("east"), announceOf("south"))
	require.NoError(t, f.CreateToken(t.Context(), eastToken(), func([]byte) error { return nil }))
	require.NoError(t, f.DeleteToken(t.Context(), leaderNamespace, "east-token"))
	require.Equal(t, []string{
		"Deleted RoleBinding antrea-multicluster/east-token", "Deleted Secret antrea-multicluster/east-token",
		"Deleted MemberClusterAnnounce antrea-multicluster/member-announce-from-east", "Deleted ServiceAccount antrea-multicluster/east-token",
	}, f.said)
	left := []string{"ServiceAccount manual", "ServiceAccount west-token", "MemberClusterAnnounce member-announce-from-south"}
	require.Equal(t, left, f.objects(t))
	require.EqualError(t, f.DeleteToken(t.Context(), leaderNamespace, "east-token"), "there is no member token antrea-multicluster/east-token")
	require.ErrorContains(t, f.DeleteToken(t.Context(), leaderNamespace, "manual"), "ServiceAccount antrea-multicluster/manual was not made by antctl, so it stays")
	require.Equal(t, left, f.objects(t))
	failure := f.fail("delete", "serviceaccounts")
	require.ErrorContains(t, f.DeleteToken(t.Context(), leaderNamespace, "west-token"), "deleting ServiceAccount antrea-multicluster/west-token: "+failure.Error())
}

func announceOf(clusterID string) string {
	return fmt.Sprintf("{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: MemberClusterAnnounce, metadata: {name: member-announce-from-%s, namespace: %s}}", clusterID, leaderNamespace)
}

// TestDeleteOneOfTwoTokens: a member with another token stays one.
func TestDeleteOneOfTwoTokens(t *testing.T) {
	f := newFake(t, role(), account("new", "east", false), account("old", "east", true), announceOf("east"))
	require.NoError(t, f.DeleteToken(t.Context(), leaderNamespace, "old"))
	require.Equal(t, []string{"ServiceAccount new", "MemberClusterAnnounce member-announce-from-east"}, f.objects(t))
}
