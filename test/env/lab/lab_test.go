// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
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
	addNodes(cmd.Flags(), &got.nodes)
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
	i := instance{Nodes: []node{{Name: "node-1"}, {Name: "node-2"}}}
	for _, name := range []string{"node-2", "2"} {
		n, err := i.node(name)
		require.NoError(t, err)
		require.Equal(t, "node-2", n.Name)
	}
	_, err := i.node("3")
	require.ErrorContains(t, err, "[node-1 node-2]")
}

func TestFlagsOfTheOtherKindOfCluster(t *testing.T) {
	for _, tc := range []struct {
		args    []string
		message string
	}{
		{[]string{"--nodes=3", "--feature-gates=ONCache=true", "--functional"}, ""},
		{[]string{"--kubelets", "--nodes=3", "--kube-proxy=false"}, ""},
		{[]string{"--kubelets", "--tunnel-type=vxlan"}, "--tunnel-type is impossible with --kubelets"},
		{[]string{"--kubelets", "--machine=uml"}, "--machine"},
		{[]string{"--kube-proxy=false"}, "--kube-proxy is possible only with --kubelets"},
		{[]string{"--ip-families=ipv5"}, "ipv5"},
	} {
		var f upFlags
		cmd := &cobra.Command{}
		f.add(cmd.Flags())
		require.NoError(t, cmd.Flags().Parse(tc.args))
		err := f.check(cmd.Flags())
		if tc.message == "" {
			require.NoError(t, err, tc.args)
		} else {
			require.ErrorContains(t, err, tc.message, tc.args)
		}
	}
}

func TestClustersOfDifferentNamesAreDifferentDaemons(t *testing.T) {
	t.Setenv("CLUSTER_NAME", "")
	require.Equal(t, "cluster", kind())
	t.Setenv("CLUSTER_NAME", "test")
	require.Equal(t, "cluster-test", kind())
}

func TestACommandForKubeletsRefusesAClusterWithout(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("CLUSTER_NAME", "")
	_, _, err := readKubelets()
	require.ErrorIs(t, err, daemon.ErrDown)
	place, err := daemon.Claim(kind())
	require.NoError(t, err)
	require.NoError(t, place.Publish(instance{Machine: "uml", Kubeconfig: "k"}))
	i, _, err := readInstance()
	require.NoError(t, err)
	require.Equal(t, instance{Machine: "uml", Kubeconfig: "k"}, *i)
	_, _, err = readKubelets()
	require.ErrorContains(t, err, "up --kubelets")
	require.NoError(t, place.Release())
}
