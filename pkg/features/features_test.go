// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/featuregate"
)

func TestDefaults(t *testing.T) {
	gates, err := New(nil)
	require.NoError(t, err)
	for _, tc := range []struct {
		feature featuregate.Feature
		enabled bool
		stage   string
	}{
		{ONCache, false, "ALPHA"},
		{AntreaPolicy, true, "BETA"},
		{AntreaProxy, true, "GA"},
		{"AdminNetworkPolicy", false, "DEPRECATED"},
		{"NodeIPAM", true, "BETA"},
		{"EgressTrafficShaping", false, "ALPHA"},
	} {
		require.Equal(t, tc.enabled, gates.Enabled(tc.feature), tc.feature)
		require.Equal(t, tc.stage, Stage(tc.feature), tc.feature)
	}
	require.Empty(t, Stage("Nonsense"))
}

func TestSets(t *testing.T) {
	agent, controller := AgentGates(), ControllerGates()
	require.Len(t, agent, 32)
	require.Len(t, controller, 14)
	require.IsIncreasing(t, agent)
	require.IsIncreasing(t, controller)
	require.Contains(t, agent, ONCache)
	require.NotContains(t, controller, ONCache)
	require.NotContains(t, agent, NodeIPAM)
	sections := map[string]bool{"": false}
	for i, g := range table {
		require.NotEmpty(t, g.components(), "gate %s is displayed by no component", g.name)
		require.True(t, i == 0 || table[i-1].name < g.name, "gate %s is in the wrong place", g.name)
		require.NotEmpty(t, g.about, g.name)
		require.False(t, sections[g.section], "section %s has two gates", g.section)
		sections[g.section] = g.section != ""
	}
}

func TestOfKey(t *testing.T) {
	require.Equal(t, FlowExporter, OfKey("flowExporter.enable"))
	require.Equal(t, ONCache, OfKey("oncache"))
	require.Empty(t, OfKey("hostGateway"))
	require.Empty(t, OfKey(""))
}

func TestGatesWithoutEffect(t *testing.T) {
	overrides := map[string]bool{"Egress": true, "BGPPolicy": true, "ONCache": true, "Traceflow": true, "NodeIPAM": true, "AllAlpha": true}
	require.Equal(t, []string{"BGPPolicy"}, AgentGatesWithoutEffect(overrides))
	overrides["IPsecCertAuth"] = true
	require.Equal(t, []string{"IPsecCertAuth"}, ControllerGatesWithoutEffect(overrides))
}

// Antrea locks these and no others.
func TestLocked(t *testing.T) {
	var refused []string
	for _, g := range table {
		if _, err := New(map[string]bool{string(g.name): !g.spec.Default}); err != nil {
			refused = append(refused, string(g.name))
		}
	}
	require.ElementsMatch(t, []string{"EndpointSlice", "ServiceTrafficDistribution", "TopologyAwareHints"}, refused)
}

func TestNew(t *testing.T) {
	for _, tc := range []struct {
		name      string
		overrides map[string]bool
		enabled   map[featuregate.Feature]bool
		err       []string
	}{
		{name: "gate switched on", overrides: map[string]bool{"ONCache": true}, enabled: map[featuregate.Feature]bool{ONCache: true, "BGPPolicy": false}},
		{name: "gate of the other component", overrides: map[string]bool{"NodeIPAM": false}, enabled: map[featuregate.Feature]bool{NodeIPAM: false}},
		{name: "all alpha but one", overrides: map[string]bool{"AllAlpha": true, "ONCache": false}, enabled: map[featuregate.Feature]bool{ONCache: false, "BGPPolicy": true}},
		{name: "all beta off", overrides: map[string]bool{"AllBeta": false}, enabled: map[featuregate.Feature]bool{AntreaPolicy: false, AntreaProxy: true}},
		{name: "unknown name", overrides: map[string]bool{"OnCache": true}, err: []string{`"OnCache"`, "valid feature gates: AdminNetworkPolicy, AllAlpha, AllBeta, ", "ONCache"}},
		{name: "locked", overrides: map[string]bool{"EndpointSlice": false}, err: []string{"EndpointSlice", "locked"}},
		{name: "locked to its default is accepted", overrides: map[string]bool{"EndpointSlice": true}, enabled: map[featuregate.Feature]bool{"EndpointSlice": true}},
		{name: "GA, not locked", overrides: map[string]bool{"AntreaProxy": false, "NodePortLocal": false},
			enabled: map[featuregate.Feature]bool{AntreaProxy: false, "NodePortLocal": false, "EndpointSlice": true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gates, err := New(tc.overrides)
			if tc.err != nil {
				require.Error(t, err)
				for _, part := range tc.err {
					require.ErrorContains(t, err, part)
				}
				return
			}
			require.NoError(t, err)
			for feature, want := range tc.enabled {
				require.Equal(t, want, gates.Enabled(feature), feature)
			}
		})
	}
}
