// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/features"
)

func completeOptions(t *testing.T, text string) (*options, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "antrea-agent.conf")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	o := &options{lockFile: filepath.Join(t.TempDir(), "lock")}
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
		{name: "unknown keys and a gate without effect", text: "noSuchKey: 1\nfeatureGates: {Egress: true}"},
		{name: "gate and choice", text: "featureGates: {ONCache: true}\nnetworkPolicy: {establishedConnections: Cut}", onCache: true, cuts: true},
		{name: "not YAML", text: "a: b: c", err: "antrea-agent.conf: parsing agent configuration"},
		{name: "wrong type", text: "apiPort: many", err: "apiPort"},
		{name: "unknown gate", text: "featureGates: {OnCache: true}", err: `unknown feature gate "OnCache"`},
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
