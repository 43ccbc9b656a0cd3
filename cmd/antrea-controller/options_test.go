// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/featuregate"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct{ name, text, err string }{
		{name: "empty"},
		{name: "everything that is supported", text: "apiPort: 1\nselfSignedCert: false\nenablePrometheusMetrics: false\ntlsMinVersion: VersionTLS13\n" +
			"tlsCipherSuites: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384\nfeatureGates: {NodeIPAM: false, Traceflow: true}"},
		{name: "unknown key", text: "noSuchKey: 1"},
		{name: "unknown gate", text: "featureGates: {NoSuchGate: true}", err: "NoSuchGate"},
		{name: "gate that cannot be changed", text: "featureGates: {EndpointSlice: false}", err: "EndpointSlice"},
		{name: "keys without their gates", text: "featureGates: {NodeIPAM: false, AntreaProxy: false}\nnodeIPAM: {enableNodeIPAM: true}\nmulticluster: {enableStretchedNetworkPolicy: true}"},
		{name: "port", text: "apiPort: 65536", err: "apiPort: 65536 is not a port; allowed: 1 to 65535"},
		{name: "wrong type", text: "apiPort: x", err: "apiPort"},
		{name: "TLS version", text: "tlsMinVersion: TLS13", err: "tlsMinVersion"},
		{name: "cipher suite", text: "tlsCipherSuites: AES", err: "tlsCipherSuites"},
		{name: "features that are absent", text: "nodeIPAM: {enableNodeIPAM: true}\nclientCAFile: /ca"},
		{name: "stretched policies", text: "featureGates: {Multicluster: true}\nmulticluster: {enableStretchedNetworkPolicy: true}",
			err: "multicluster.enableStretchedNetworkPolicy: true is not supported by this version; supported: false; rules for Pods of other clusters would not be enforced"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newOptions()
			configFile := filepath.Join(t.TempDir(), "antrea-controller.conf")
			require.NoError(t, os.WriteFile(configFile, []byte(tc.text), 0o600))
			err := o.complete(configFile)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.True(t, o.gates.Enabled(featuregate.Feature("AntreaPolicy")))
		})
	}
	o := newOptions()
	require.Equal(t, "kube-system", o.namespace)
	require.ErrorContains(t, o.complete("/absent/antrea-controller.conf"), "/absent/antrea-controller.conf")
}

func TestEnvironment(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "antrea")
	t.Setenv("ANTREA_CONFIG_MAP_NAME", "antrea-config-2")
	o := newOptions()
	require.Equal(t, "antrea", o.namespace)
	require.Equal(t, "antrea-config-2", o.configMap)
}

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		err  string
	}{
		{name: "they win", args: []string{"--feature-gates=ONCache=true,AntreaPolicy=false", "--set=apiPort=4711"}},
		{name: "unknown gate", args: []string{"--feature-gates=OnCache=true"}, err: `--feature-gates=OnCache=true: featureGates: unknown feature gate "OnCache"`},
		{name: "bad value", args: []string{"--set=apiPort=65536"}, err: "--set=apiPort=65536: apiPort: 65536 is not a port; allowed: 1 to 65535"},
		{name: "wrong type", args: []string{"--set=apiPort=many"}, err: `--set apiPort=many: apiPort: "many" is not a number`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newOptions()
			configFile := filepath.Join(t.TempDir(), "antrea-controller.conf")
			require.NoError(t, os.WriteFile(configFile, []byte("apiPort: 1\nfeatureGates: {AntreaPolicy: true}"), 0o600))
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.flags.Add(flags)
			require.NoError(t, flags.Parse(tc.args))
			err := o.complete(configFile)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, 4711, o.config.APIPort)
			require.False(t, o.gates.Enabled(featuregate.Feature("AntreaPolicy")))
			require.Equal(t, map[string]bool{"ONCache": true, "AntreaPolicy": false}, o.flagGates)
		})
	}
}
