// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovstest

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStart(t *testing.T) {
	o := Start(t)
	socket := o.AddBridge("br0", "OpenFlow10", "OpenFlow13")
	require.FileExists(t, o.DBSocket)
	_, err := os.Stat(socket)
	require.NoError(t, err)
	require.Empty(t, o.DumpFlows("br0"), "a new bridge has no flows")

	o.Vsctl("add-port", "br0", "p1", "--", "set", "interface", "p1", "type=dummy", "ofport_request=7")
	require.Equal(t, "7", o.Vsctl("get", "interface", "p1", "ofport"))
	o.Ofctl("add-flow", "br0", "table=3,priority=5,ip,actions=output:7")
	require.Equal(t, []string{"table=3, priority=5,ip actions=output:7"}, o.DumpFlows("br0"))
	require.Contains(t, o.Appctl("dpif/show"), "netdev@ovs-netdev")

	_, err = net.InterfaceByName("br0")
	require.Error(t, err, "the bridge's device must not be in the test's namespace")

	o.KillVswitchd()
	o.StartVswitchd()
	require.Equal(t, "7", o.Vsctl("get", "interface", "p1", "ofport"), "the database outlives vswitchd")
	require.Empty(t, o.DumpFlows("br0"), "flows do not outlive vswitchd")
}

func TestTwoAtOnce(t *testing.T) {
	a, b := Start(t), Start(t)
	a.AddBridge("br0")
	b.AddBridge("br0")
	a.Ofctl("add-flow", "br0", "priority=1,actions=drop", "-OOpenFlow10")
	require.Empty(t, b.Ofctl("-OOpenFlow10", "--no-stats", "dump-flows", "br0"))
}
