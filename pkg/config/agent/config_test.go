// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseDefaults(t *testing.T) {
	for name, text := range map[string]string{
		"empty file":     "",
		"comments only":  "# featureGates:\n",
		"empty sections": "featureGates: {}\noncache: {}\nantreaProxy:\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(text))
			require.NoError(t, err)
			require.Equal(t, "br-int", c.OVSBridge)
			require.Equal(t, "system", c.OVSDatapathType)
			require.Equal(t, "/var/run/openvswitch", c.OVSRunDir)
			require.Equal(t, "/var/run/antrea/cni.sock", c.CNISocket)
			require.Equal(t, "/host", c.HostProcPathPrefix)
			require.Equal(t, "antrea-gw0", c.HostGateway)
			require.Equal(t, "encap", c.TrafficEncapMode)
			require.Equal(t, "geneve", c.TunnelType)
			require.Equal(t, "none", c.TrafficEncryptionMode)
			require.Equal(t, 10350, c.APIPort)
			require.True(t, *c.EnablePrometheusMetrics)
			require.EqualValues(t, 1048576, c.ONCache.MaxFlows)
			require.EqualValues(t, 5, c.ONCache.LeaseSeconds)
			require.Equal(t, "keep", c.NetworkPolicy.EstablishedConnections)
			require.True(t, *c.AntreaProxy.Enable)
			require.False(t, c.AntreaProxy.ProxyAll)
			require.EqualValues(t, 28, *c.AuditLogging.MaxAge)
		})
	}
}

func TestParse(t *testing.T) {
	c, err := Parse([]byte(`
featureGates:
  ONCache: true
clientConnection:
  kubeconfig: /etc/kubeconfig
ovsBridge: br-test
noSuchKey: 1
tunnelPort: 6082
transportInterfaceCIDRs: [192.168.0.0/24, "fd00::/64"]
enablePrometheusMetrics: false
auditLogging:
  maxBackups: 0
oncache:
  maxFlows: 4096
  leaseSeconds: 2
  noSuchKey: {}
`))
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"ONCache": true}, c.FeatureGates)
	require.Equal(t, "/etc/kubeconfig", c.ClientConnection.Kubeconfig)
	require.Equal(t, "br-test", c.OVSBridge)
	require.EqualValues(t, 6082, c.TunnelPort)
	require.Equal(t, []string{"192.168.0.0/24", "fd00::/64"}, c.TransportInterfaceCIDRs)
	require.False(t, *c.EnablePrometheusMetrics)
	require.EqualValues(t, 0, *c.AuditLogging.MaxBackups)
	require.Equal(t, ONCacheConfig{Mode: "enforce", Tunnel: "encap", RewritePort: 585, MaxFlows: 4096, LeaseSeconds: 2}, c.ONCache)
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, err string }{
		"not YAML":         {"a: b: c", "yaml"},
		"wrong type":       {"apiPort: many", "apiPort"},
		"negative number":  {"oncache: {maxFlows: -1}", "maxFlows"},
		"gate not boolean": {"featureGates: {ONCache: enabled}", "featureGates"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.text))
			require.ErrorContains(t, err, tc.err)
		})
	}
}
