// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

func TestPrivateDirRemovesThoseOfKilledRunsOnly(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", base)
	stale := filepath.Join(base, "antrea-oncache", "run-1")
	require.NoError(t, os.MkdirAll(stale, 0o755))
	first, removeFirst, err := privateDir("run-")
	require.NoError(t, err)
	require.NoDirExists(t, stale)
	second, removeSecond, err := privateDir("run-")
	require.NoError(t, err)
	require.DirExists(t, first)
	removeFirst()
	removeSecond()
	require.NoDirExists(t, first)
	require.NoDirExists(t, second)
}

func TestEmptyDirRefusesWhatItHasNotMade(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "precious")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.ErrorContains(t, emptyDir(dir), "was not made by the testbed")
	require.FileExists(t, file)

	own := filepath.Join(dir, "own")
	require.NoError(t, emptyDir(own))
	old := filepath.Join(own, "old")
	require.NoError(t, os.WriteFile(old, nil, 0o644))
	require.NoError(t, emptyDir(own))
	require.NoFileExists(t, old)
}

func TestClusterFlagsSurviveTheWayToTheMachine(t *testing.T) {
	want := clusterFlags{nodes: 3, gates: map[string]string{"ONCache": "true", "Egress": "false"}, tunnelType: "vxlan", noAgent: true,
		podFamilies: "ipv4,ipv6", nodeFamilies: "ipv6"}
	var got clusterFlags
	cmd := &cobra.Command{}
	got.add(cmd.Flags())
	require.NoError(t, cmd.Flags().Parse(want.args()))
	require.Equal(t, want, got)
	o, err := got.options()
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"ONCache": true, "Egress": false}, o.FeatureGates)
	require.Equal(t, "ipv4,ipv6 ipv6", o.PodFamilies.String()+" "+o.NodeFamilies.String())

	got.podFamilies = "ipv5"
	_, err = got.options()
	require.ErrorContains(t, err, `"ipv5"`)
	got.podFamilies = "ipv6"
	got.gates["ONCache"] = "perhaps"
	_, err = got.options()
	require.ErrorContains(t, err, `"perhaps"`)
}

func TestFindNode(t *testing.T) {
	state := cluster.State{Nodes: []cluster.NodeState{{Name: "node-1"}, {Name: "node-2"}}}
	for _, name := range []string{"node-2", "2"} {
		n, err := findNode(state, name)
		require.NoError(t, err)
		require.Equal(t, "node-2", n.Name)
	}
	_, err := findNode(state, "3")
	require.ErrorContains(t, err, "[node-1 node-2]")
}
