// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const (
	joinHead   = "apiVersion: multicluster.antrea.io/v1alpha1\nkind: ClusterSetJoinConfig\n"
	secretText = "apiVersion: v1\nkind: Secret\nmetadata: {name: t, annotations: {x: y}}\nstringData: {token: T}\ndata: {ca.crt: Q0E=}\n"
)

func TestReadJoin(t *testing.T) {
	config, secret, err := ReadJoin(strings.NewReader("# a comment\n---\n" + joinHead + "clusterSetID: cs\ntokenSecretFile: f\n---\n" + secretText + "---\n"))
	require.NoError(t, err)
	require.Equal(t, JoinConfig{APIVersion: joinVersion, Kind: joinKind, ClusterSetID: "cs", TokenSecretFile: "f"}, config)
	require.Equal(t, map[string][]byte{"token": []byte("T"), "ca.crt": []byte("CA")}, secret.Data)
	require.Empty(t, secret.Annotations, "only name and data are used")
	require.Equal(t, corev1.SecretTypeOpaque, secret.Type)
	for name, test := range map[string]struct{ text, want string }{
		"nothing":             {"", "it has 0 documents; want a ClusterSetJoinConfig"},
		"three documents":     {joinHead + "---\n" + secretText + "---\n" + secretText, "it has 3 documents"},
		"another kind":        {"apiVersion: v1\nkind: Pod\n", `the first document is Pod "v1"; want ClusterSetJoinConfig of multicluster.antrea.io/v1alpha1`},
		"another version":     {"apiVersion: multicluster.antrea.io/v1\nkind: ClusterSetJoinConfig\n", `is ClusterSetJoinConfig "multicluster.antrea.io/v1"`},
		"an unknown field":    {joinHead + "clusterset: x\n", `unknown field "clusterset"`},
		"a field twice":       {joinHead + "clusterID: x\nclusterID: y\n", `"clusterID" already set`},
		"a list":              {"- a\n", "the first document is not a ClusterSetJoinConfig"},
		"no Secret":           {joinHead + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", `it has Pod "v1" instead of a Secret of v1`},
		"another object":      {joinHead + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\n", `it has ConfigMap "v1" instead of a Secret of v1`},
		"no token":            {joinHead + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "Secret a lacks token or ca.crt"},
		"no name":             {joinHead + "---\napiVersion: v1\nkind: Secret\n", "the Secret's name is missing"},
		"a token in no field": {joinHead + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntoken: s3cret\n", "the Secret cannot be read"},
		"too large":           {joinHead + "---\n# " + strings.Repeat("x", 1<<20), "it is larger than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ReadJoin(strings.NewReader(test.text))
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestReadSecret(t *testing.T) {
	secret, err := ReadSecret(strings.NewReader(secretText))
	require.NoError(t, err)
	require.Equal(t, "t", secret.Name)
	_, err = ReadSecret(strings.NewReader(secretText + "---\n" + secretText))
	require.ErrorContains(t, err, "it has 2 documents; want one Secret")
}

// FuzzReadJoin: a file is refused, or is a configuration that is the same once it is written and read again, with a Secret that has a token.
func FuzzReadJoin(f *testing.F) {
	f.Add(joinHead + "clusterSetID: cs\nleaderAPIServer: https://x\n---\n" + secretText)
	f.Add(joinHead + "---\n---\n")
	f.Add("{")
	f.Add("---\nkind: [ClusterSetJoinConfig]\n")
	f.Fuzz(func(t *testing.T, text string) {
		config, secret, err := ReadJoin(strings.NewReader(text))
		if err != nil {
			return
		}
		if secret != nil {
			require.True(t, hasToken(secret))
			require.NotEmpty(t, secret.Name)
		}
		written, err := writeJoin(config)
		require.NoError(t, err)
		again, _, err := ReadJoin(strings.NewReader(string(written)))
		require.NoError(t, err)
		require.Equal(t, config, again)
	})
}
