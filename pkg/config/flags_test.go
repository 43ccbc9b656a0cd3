// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

type testSection struct {
	Mode     string `json:"mode,omitempty"`
	MaxFlows uint32 `json:"maxFlows,omitempty"`
}

type testConfig struct {
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	Port         int             `json:"port,omitempty"`
	Enable       *bool           `json:"enable,omitempty"`
	CIDRs        []string        `json:"cidrs,omitempty"`
	Section      testSection     `json:"section,omitempty"`
}

func parseFlags(t *testing.T, args ...string) *Flags {
	t.Helper()
	var f Flags
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Add(fs)
	require.NoError(t, fs.Parse(args))
	return &f
}

func TestFlagsWin(t *testing.T) {
	yes := true
	c := &testConfig{
		FeatureGates: map[string]bool{"A": false, "B": true}, Port: 1, Enable: &yes, CIDRs: []string{"a", "b"},
		Section: testSection{Mode: "enforce", MaxFlows: 5},
	}
	f := parseFlags(t, "--feature-gates=A=true,C=false", "--feature-gates=C=true", "--set=section.mode=off", "--set", "port=2",
		"--set=enable=false", `--set=cidrs=[10.0.0.0/8, "fd00::/64"]`)
	require.NoError(t, f.Apply(c, &c.FeatureGates))
	no := false
	require.Equal(t, &testConfig{
		FeatureGates: map[string]bool{"A": true, "B": true, "C": true}, Port: 2, Enable: &no, CIDRs: []string{"10.0.0.0/8", "fd00::/64"},
		Section: testSection{Mode: "off", MaxFlows: 5},
	}, c)
	require.True(t, yes, "the former value may belong to another owner")
	require.Equal(t, "configuration file x.conf --feature-gates=A=true --set=port=2", parseFlags(t, "--set=port=2", "--feature-gates=A=true").Sources("x.conf"))
}

func TestNoFlags(t *testing.T) {
	var c testConfig
	require.NoError(t, parseFlags(t).Apply(&c, &c.FeatureGates))
	require.Equal(t, testConfig{FeatureGates: map[string]bool{}}, c)
	require.Equal(t, "configuration file x.conf", parseFlags(t).Sources("x.conf"))
}

func TestFlagsAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, flag, err string }{
		{"gate without value", "--feature-gates=ONCache", `--feature-gates: "ONCache" is not a feature gate with its value; allowed: NAME=true, NAME=false`},
		{"gate that is not boolean", "--feature-gates=ONCache=on", `"ONCache=on" is not`},
		{"value without gate", "--feature-gates==true", `"=true" is not`},
		{"no value", "--set=port", "--set port: not KEY=VALUE"},
		{"empty value", "--set=port=", `port: "" is not a number`},
		{"unknown key", "--set=prot=1", "--set prot=1: unknown key; known: featureGates, port, enable, cidrs, section"},
		{"unknown key of a section", "--set=section.mod=off", "unknown key; known: section.mode, section.maxFlows"},
		{"section", "--set=section=off", "section is a section; its keys: section.mode, section.maxFlows"},
		{"key below a value", "--set=port.number=1", "unknown key; port has no keys below it"},
		{"gates", "--set=featureGates={ONCache: true}", "use --feature-gates=NAME=true"},
		{"text for a number", "--set=port=many", `--set port=many: port: "many" is not a number`},
		{"negative number", "--set=section.maxFlows=-1", `section.maxFlows: "-1" is not a whole number of at least 0`},
		{"number for a switch", "--set=enable=2", `enable: "2" is not true or false`},
		{"text for a list", "--set=cidrs=10.0.0.0/8", `cidrs: "10.0.0.0/8" is not a list such as [a, b]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := testConfig{Port: 1, Section: testSection{Mode: "enforce"}}
			c := before
			require.ErrorContains(t, parseFlags(t, tc.flag).Apply(&c, &c.FeatureGates), tc.err)
			c.FeatureGates = nil
			require.Equal(t, before, c)
		})
	}
	var c testConfig
	err := parseFlags(t, "--feature-gates=A", "--set=port=x").Apply(&c, &c.FeatureGates)
	require.ErrorContains(t, err, "--feature-gates")
	require.ErrorContains(t, err, "--set port=x", "all mistakes are reported at once")
}
