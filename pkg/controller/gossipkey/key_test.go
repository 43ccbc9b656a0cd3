// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package gossipkey

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/apis/gossip"
)

// TestKey: a key is made once, one that was deleted or emptied is written again, an administrator's counts, and an invalid one stays.
func TestKey(t *testing.T) {
	client := fake.NewClientset()
	k := &keeper{client: client, namespace: "kube-system"}
	secrets := client.CoreV1().Secrets("kube-system")
	stored := func() *corev1.Secret {
		secret, err := secrets.Get(t.Context(), gossip.Secret, metav1.GetOptions{})
		require.NoError(t, err)
		return secret
	}
	write := func(content string) {
		secret := stored()
		secret.Data[gossip.Keys] = []byte(content)
		_, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, k.check(t.Context()))
	first := stored().Data[gossip.Keys]
	key, err := gossip.Key(stored().Data)
	require.NoError(t, err)
	require.Len(t, key, keyLength)
	require.NoError(t, k.check(t.Context()))
	require.Equal(t, first, stored().Data[gossip.Keys])
	require.NoError(t, secrets.Delete(t.Context(), gossip.Secret, metav1.DeleteOptions{}))
	require.NoError(t, k.check(t.Context()))
	require.Equal(t, first, stored().Data[gossip.Keys])
	write(" \n")
	require.NoError(t, k.check(t.Context()))
	require.Equal(t, first, stored().Data[gossip.Keys])

	write("AAAAAAAAAAAAAAAAAAAAAA==\nnext")
	require.NoError(t, k.check(t.Context()))
	require.NoError(t, secrets.Delete(t.Context(), gossip.Secret, metav1.DeleteOptions{}))
	require.NoError(t, k.check(t.Context()))
	require.Equal(t, "AAAAAAAAAAAAAAAAAAAAAA==\nnext", string(stored().Data[gossip.Keys]))
	for content, message := range map[string]string{"AAAA": "3 bytes", "?": "base64"} {
		write(content)
		err := k.check(t.Context())
		require.ErrorContains(t, err, message)
		require.NotContains(t, err.Error(), content)
		require.Equal(t, content, string(stored().Data[gossip.Keys]))
	}
}
