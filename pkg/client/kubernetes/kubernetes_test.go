// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/config"
)

func TestNew(t *testing.T) {
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
		name, kubeconfig, override, host, err string
	}{
		{name: "kubeconfig", kubeconfig: kubeconfig, host: "https://192.0.2.1:6443"},
		{name: "overridden address", kubeconfig: kubeconfig, override: "https://192.0.2.2:6443", host: "https://192.0.2.2:6443"},
		{name: "no such kubeconfig", kubeconfig: "/absent/kubeconfig", err: "clientConnection.kubeconfig /absent/kubeconfig"},
		{name: "not in a cluster", err: "clientConnection.kubeconfig is not set"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			clients, err := New(config.ClientConnectionConfig{Kubeconfig: tc.kubeconfig}, tc.override)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.NotNil(t, clients.Kube)
			require.NotNil(t, clients.Reviews)
			require.Equal(t, tc.host, clients.Config.Host)
			require.Equal(t, "secret", clients.Config.BearerToken)
		})
	}
}
