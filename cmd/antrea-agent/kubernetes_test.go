// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKubernetesConfig(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443"}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`), 0o600))
	for _, tc := range []struct {
		name, text, host, err string
	}{
		{name: "kubeconfig", text: "clientConnection: {kubeconfig: " + kubeconfig + "}", host: "https://192.0.2.1:6443"},
		{name: "overridden address", text: "clientConnection: {kubeconfig: " + kubeconfig + "}\nkubeAPIServerOverride: https://192.0.2.2:6443", host: "https://192.0.2.2:6443"},
		{name: "no such kubeconfig", text: "clientConnection: {kubeconfig: /absent/kubeconfig}", err: "clientConnection.kubeconfig /absent/kubeconfig"},
		{name: "not in a cluster", text: "", err: "clientConnection.kubeconfig is not set"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			o, err := completeOptions(t, tc.text)
			require.NoError(t, err)
			clients, err := newKubernetesClients(o.config)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.NotNil(t, clients.kube)
			config, err := kubernetesConfig(o.config)
			require.NoError(t, err)
			require.Equal(t, tc.host, config.Host)
			require.Equal(t, "secret", config.BearerToken)
		})
	}
}
