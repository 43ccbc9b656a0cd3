// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
)

func completeOptions(t *testing.T, text string) (*options, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "antrea-agent.conf")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	o := &options{lockFile: filepath.Join(t.TempDir(), "lock"), sysctlFile: filepath.Join(t.TempDir(), "sysctls"), sources: dependency.NewSources()}
	return o, o.complete(file)
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		onCache    bool
		cuts       bool
		err        string
	}{
		{name: "empty"},
		{name: "unknown keys and a gate without effect", text: "noSuchKey: 1\nfeatureGates: {BGPPolicy: true}"},
		{name: "gate and choice", text: "featureGates: {ONCache: true}\nnetworkPolicy: {establishedConnections: Cut}", onCache: true, cuts: true},
		{name: "not YAML", text: "a: b: c", err: "antrea-agent.conf: parsing agent configuration"},
		{name: "wrong type", text: "apiPort: many", err: "apiPort"},
		{name: "unknown gate", text: "featureGates: {OnCache: true}", err: `unknown feature gate "OnCache"`},
		{name: "gates that users switch off", text: "featureGates: {AntreaProxy: false, NodePortLocal: false}"},
		{name: "AntreaProxy, as by default", text: "antreaProxy: {enable: true}"},
		{name: "bad value", text: "apiPort: -1", err: "antrea-agent.conf: apiPort: -1 is out of range"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := completeOptions(t, tc.text)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.onCache, o.gates.Enabled(features.ONCache))
			require.Equal(t, tc.cuts, o.cutsConnections())
		})
	}
}

func TestOptionsWithoutFile(t *testing.T) {
	o := newOptions()
	require.NoError(t, o.complete(""))
	require.False(t, o.gates.Enabled(features.ONCache))
	require.Equal(t, "br-int", o.config.OVSBridge)
	require.ErrorContains(t, o.complete(filepath.Join(t.TempDir(), "absent.conf")), "absent.conf")
}

// TestFlagsSurvive: tools that know only Antrea's keys rewrite the file; the flags stay in force.
func TestFlagsSurvive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "antrea-agent.conf")
	require.NoError(t, os.WriteFile(file, []byte("featureGates: {AntreaProxy: false}\ntunnelType: vxlan"), 0o600))
	for _, tc := range []struct {
		name string
		args []string
		err  string
	}{
		{name: "they win", args: []string{"--feature-gates=ONCache=true", "--set=oncache.mode=off", "--set=oncache.leaseSeconds=3",
			"--set=networkPolicy.establishedConnections=Cut", "--set=podInterfaceType=netkit"}},
		{name: "unknown gate", args: []string{"--feature-gates=OnCache=true"}, err: `antrea-agent.conf --feature-gates=OnCache=true: featureGates: unknown feature gate "OnCache"; valid feature gates: `},
		{name: "value out of range", args: []string{"--set=oncache.leaseSeconds=30"}, err: "--set=oncache.leaseSeconds=30: oncache.leaseSeconds: 30 is out of range; allowed: 1 to 10"},
		{name: "unknown value", args: []string{"--set=oncache.mode=on"}, err: `oncache.mode: "on" is not a valid value; allowed: enforce, observe, off`},
		{name: "excluded by the file", args: []string{"--feature-gates=ONCache=true", "--set=tunnelType=gre"}, err: `tunnelType: "gre" cannot be combined with featureGates.ONCache true`},
		{name: "unknown key", args: []string{"--set=onCache.mode=off"}, err: "--set onCache.mode=off: unknown key; known: clientConnection, "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newOptions()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.flags.Add(flags)
			require.NoError(t, flags.Parse(tc.args))
			err := o.complete(file)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.True(t, o.gates.Enabled(features.ONCache))
			require.False(t, o.gates.Enabled(features.AntreaProxy))
			require.Equal(t, agentconfig.ONCacheConfig{Mode: "off", Tunnel: "encap", RewritePort: 585, MaxFlows: 1 << 20, LeaseSeconds: 3}, o.config.ONCache)
			require.Equal(t, "netkit", o.config.PodInterfaceType)
			require.Equal(t, "vxlan", o.config.TunnelType)
			require.True(t, o.cutsConnections())
		})
	}
}

// TestConfigurationReachesEveryFeature: a field that no configuration sets would be a table that no Node can have.
func TestConfigurationReachesEveryFeature(t *testing.T) {
	o, err := completeOptions(t, "featureGates: {TrafficControl: true, ONCache: true, Traceflow: true, FlowExporter: true, EgressTrafficShaping: true, Multicluster: true}\nmulticluster: {enableGateway: true}\n"+
		"networkPolicy: {establishedConnections: Cut}\nantreaProxy: {proxyAll: true}\nkubeAPIServerOverride: https://192.0.2.1:6443\nflowExporter: {enable: true, flowCollectorAddr: \"192.0.2.2:4739:tcp\"}\n")
	require.NoError(t, err)
	o.config.Multicluster.TrafficEncryptionMode = agentconfig.EncryptionWireGuard // no setting yet
	set := reflect.ValueOf(pipelineFeatures(o))
	for i := range set.NumField() {
		switch name := set.Type().Field(i).Name; name {
		case "IPv6": // the client finds that out
		case "Openings": // no setting yet
		default:
			require.False(t, set.Field(i).IsZero(), name)
		}
	}
	for mode, egress := range map[string]bool{"encap": true, "noEncap": false, "hybrid": false} {
		o, err := completeOptions(t, "trafficEncapMode: "+mode)
		require.NoError(t, err)
		require.Equal(t, egress, pipelineFeatures(o).Egress, mode)
	}
}
