// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsctl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

func TestDumpFlows(t *testing.T) {
	ovs := ovstest.Start(t)
	const bridge = "br-test"
	ovs.AddBridge(bridge)
	ovs.Vsctl("--", "--id=@t", "create", "Flow_Table", "name=Classifier", "--", "set", "bridge", bridge, "flow_tables:3=@t")
	ovs.Ofctl("add-flow", bridge, "cookie=0x1020000000000,table=0,priority=200,ip,nw_src=10.10.0.2,actions=goto_table:3")
	ovs.Ofctl("add-flow", bridge, "table=3,priority=190,reg1=0x2,actions=load:0x5->NXM_NX_REG4[0..15]")

	client := New(ovs.RunDir, bridge)
	all, err := client.DumpFlows(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Regexp(t, `^table=0, n_packets=0, n_bytes=0, idle_age=\d+, priority=200,ip,nw_src=10.10.0.2 actions=goto_table:Classifier$`, all[0])

	filtered, err := client.DumpFlows(t.Context(), "table=3,reg1=0x2")
	require.NoError(t, err)
	require.Len(t, filtered, 1)
	require.Regexp(t, `^table=Classifier, n_packets=0, n_bytes=0, idle_age=\d+, priority=190,reg1=0x2 actions=`, filtered[0])
	t.Log(filtered[0])

	_, err = client.DumpFlows(t.Context(), "nonsense")
	require.ErrorContains(t, err, "nonsense")
	_, err = New(ovs.RunDir, "br-absent").DumpFlows(t.Context(), "")
	require.ErrorContains(t, err, "br-absent")
}

func TestParseFlows(t *testing.T) {
	require.Equal(t, []string{"table=Output, n_packets=1, n_bytes=2, priority=0 actions=drop"},
		parseFlows("OFPST_FLOW reply (OF1.5) (xid=0x2):\n cookie=0x1, duration=1.5s, table=Output, n_packets=1, n_bytes=2, priority=0 actions=drop\n\n", "cookie=", "duration="))
	require.Empty(t, parseFlows(""))
}
