// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
)

func (b *bed) portNames() []string {
	names := strings.Fields(b.ovs.Vsctl("list-ports", "br-int"))
	slices.Sort(names)
	return names
}

// fixedPorts returns the two fixed ports as the database and the kernel have them.
func (b *bed) fixedPorts(t *testing.T) string {
	t.Helper()
	state := append(b.portNames(), gatewayAddresses(t)...)
	for _, name := range []string{"antrea-gw0", "antrea-tun0"} {
		if !slices.Contains(state, name) {
			continue
		}
		for _, column := range []string{"mac", "ofport", "options"} {
			state = append(state, b.ovs.Vsctl("get", "interface", name, column))
		}
		state = append(state, b.ovs.Vsctl("get", "port", name, "external_ids"))
	}
	return strings.Join(state, "\n")
}

// Foreign changes of the bridge and its fixed ports, in the database or to devices, are undone by the first look that
// sees them.
func TestFixedPortsAreRestored(t *testing.T) {
	b := newBed(t)
	i, _ := b.start(t)
	suspended, want := b.suspended, b.fixedPorts(t)
	for _, spoil := range [][]string{
		{"del-port", "br-int", "antrea-tun0"},
		{"del-port", "br-int", "antrea-gw0"},
		{"del-br", "br-int"},
		{"set", "interface", "antrea-gw0", `mac="01:00:00:00:00:00"`},
		{"set", "interface", "antrea-gw0", `mac="02:00:00:00:00:77"`},
		{"set", "interface", "antrea-gw0", `mac=what`},
		{"set", "interface", "antrea-gw0", "ofport_request=77"},
		{"set", "interface", "antrea-tun0", "ofport_request=78"},
		{"set", "interface", "antrea-tun0", "options:dst_port=7000"},
		{"set", "port", "antrea-tun0", "external_ids:antrea-type=gateway"},
		{"set", "port", "antrea-gw0", "external_ids:antrea-type=tunnel"},
		{"clear", "port", "antrea-tun0", "external_ids"},
	} {
		b.ovs.Vsctl(spoil...)
		// The agent's copy of the database follows the database. Before it does, a look may wait for a device that has already changed.
		have, err := "", error(nil)
		for deadline := time.Now().Add(time.Minute); have != want && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if err = i.restorePorts(t.Context()); err == nil {
				have = b.fixedPorts(t)
			}
		}
		require.NoError(t, err, "%v", spoil)
		require.Equal(t, want, have, "%v", spoil)
	}
	require.Equal(t, suspended, b.suspended, "the cache of this agent continues")
}

// One row that others have made, or changed, stops neither maintenance nor the next agent, and costs no port.
func TestRowsOfOthersStopNothing(t *testing.T) {
	b := newBed(t)
	i, _ := b.start(t)
	addDevice(t, "eth8", "10.1.1.1/24")
	addDevice(t, "eth9", "10.1.2.1/24")
	addDevice(t, "eth10", "10.1.3.1/24")
	b.ovs.Vsctl("add-bond", "br-int", "bond0", "eth8", "eth9")
	b.ovs.Vsctl("add-port", "br-int", "eth10", "--", "set", "interface", "eth10", `mac="01:00:00:00:00:00"`, "--", "set", "port", "eth10", "external_ids:antrea-type=tunnel")
	b.catchUp(t)
	all := []string{"antrea-gw0", "antrea-tun0", "bond0", "eth10"}
	require.NoError(t, i.restorePorts(t.Context()))
	require.Equal(t, all, b.portNames())
	for _, wrong := range [][]string{
		{"set", "port", "antrea-tun0", "external_ids:antrea-type=gateway"},
		{"set", "port", "antrea-gw0", "external_ids:antrea-type=tunnel"},
		{"set", "port", "antrea-gw0", "external_ids:antrea-type=container"},
		{"set", "interface", "antrea-gw0", `mac="01:00:00:00:00:00"`},
	} {
		b.ovs.Vsctl(wrong...)
		i, state := b.start(t)
		require.EqualValues(t, config.TunnelOFPort, state.Node.TunnelOFPort, "%v", wrong)
		require.EqualValues(t, config.GatewayOFPort, state.Node.Gateway.OFPort, "%v", wrong)
		require.Zero(t, state.Node.Gateway.MAC[0]&1, "%v", wrong)
		require.NoError(t, i.restorePorts(t.Context()), "%v", wrong)
		require.Equal(t, all, b.portNames(), "%v", wrong)
		_, known := b.store.GetInterfaceByName("antrea-gw0")
		require.True(t, known, "%v", wrong)
		require.NotEmpty(t, b.store.GetInterfacesByType(interfacestore.GatewayInterface), "%v", wrong)
	}
}

func TestTunnelRepairs(t *testing.T) {
	for _, tc := range []struct {
		name string
		have netlink.LinkAttrs
		want tunnelRepair
	}{
		{"as made", netlink.LinkAttrs{Flags: net.FlagUp, MTU: 65000}, tunnelRepair{}},
		{"down", netlink.LinkAttrs{MTU: 65000}, tunnelRepair{setUp: true}},
		{"too small", netlink.LinkAttrs{Flags: net.FlagUp, MTU: 1399}, tunnelRepair{raiseMTU: true}},
		{"just large enough", netlink.LinkAttrs{Flags: net.FlagUp, MTU: 1400}, tunnelRepair{}},
	} {
		require.Equal(t, tc.want, tunnelRepairOf(&tc.have, 1400), tc.name)
	}
}
