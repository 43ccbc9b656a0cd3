// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	ovsopenflow "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// newOVSHarness is newReadyHarness with a private Open vSwitch (userspace datapath) and the real pipeline on it.
func newOVSHarness(t *testing.T, change ...func(*Config)) (*harness, *ovstest.OVS, ovsconfig.BridgeClient) {
	t.Helper()
	// Userspace conntrack drops segments whose checksum the sender has left to the device.
	h := newReadyHarness(t, append(change, func(c *Config) { c.DisableTXChecksumOffload = true })...)
	o := ovstest.Start(t, ovstest.InNetNS("/proc/thread-self/ns/net"))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := ovsconfig.NewOVSDBConnection(ctx, "unix:"+o.DBSocket)
	require.NoError(t, err)
	bridge := ovsconfig.NewBridgeClient(conn, "br-int", ovsconfig.WithDatapathType("netdev"))
	t.Cleanup(bridge.Close)
	require.NoError(t, bridge.Create(ctx))
	node := h.server.cfg.Node
	node.Gateway = config.GatewayConfig{
		Name: "antrea-gw0", MAC: net.HardwareAddr{0x0a, 0, 0, 0, 0, 1}, OFPort: config.GatewayOFPort,
	}
	if node.PodIPv4CIDR.IsValid() {
		node.Gateway.IPv4 = gatewayOf(node.PodIPv4CIDR)
	}
	if node.PodIPv6CIDR.IsValid() {
		node.Gateway.IPv6 = gatewayOf(node.PodIPv6CIDR)
	}
	node.TunnelOFPort = config.TunnelOFPort
	node.NodeIP = netip.MustParseAddr("192.168.77.1")
	_, err = bridge.CreateInternalPort(node.Gateway.Name, config.GatewayOFPort, node.Gateway.MAC, nil)
	require.NoError(t, err)
	client := openflow.NewClient(ovsopenflow.NewSwitch(o.MgmtSocket("br-int")), bridge.SetTableNames, openflow.Features{})
	_, err = client.Initialize(ctx, openflow.RoundInfo{RoundNum: 1}, node, &config.NetworkConfig{
		TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Disconnect()) })
	h.server.ports, h.server.flows = bridge, client
	return h, o, bridge
}

func TestPodsReachEachOtherThroughOVS(t *testing.T) {
	h, o, bridge := newOVSHarness(t)
	a, b := h.newPod("client"), h.newPod("server")
	h.mustAdd(a)
	resultB := h.mustAdd(b)
	h.server.background.Wait()

	var listener net.Listener
	inNetNS(t, b.netns, func() {
		var err error
		listener, err = net.Listen("tcp4", ":8080")
		require.NoError(t, err)
	})
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = conn.Write([]byte("hello"))
			conn.Close()
		}
	}()
	inNetNS(t, a.netns, func() {
		conn, err := net.DialTimeout("tcp4", netip.AddrPortFrom(netip.MustParseAddr(resultB.IPs[0].Address.IP.String()), 8080).String(), 10*time.Second)
		require.NoError(t, err)
		defer conn.Close()
		got, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
	})

	store, found := h.store.GetContainerInterface(a.containerID)
	require.True(t, found)
	spoofGuard := regexp.MustCompile(fmt.Sprintf(`n_packets=(\d+),.*arp,in_port=(%d|"%s"),.*arp_spa=%s`, store.OFPort, store.InterfaceName, store.IPs[0]))
	eventually(t, func() bool {
		match := spoofGuard.FindStringSubmatch(o.Ofctl("dump-flows", "br-int"))
		if match == nil {
			return false
		}
		hits, err := strconv.Atoi(match[1])
		return err == nil && hits >= announcementCount
	}, "three gratuitous ARPs pass the Pod's spoof guard:\n%s", o.Ofctl("dump-flows", "br-int"))

	before := len(o.DumpFlows("br-int"))
	for _, p := range []*pod{a, b} {
		h.mustDel(p)
		h.requireNothing(p)
		_, found, err := bridge.GetPort(p.hostInterface())
		require.NoError(t, err)
		require.False(t, found)
	}
	require.Less(t, len(o.DumpFlows("br-int")), before)
	require.NotContains(t, o.Ofctl("dump-flows", "br-int"), store.IPs[0].String()+",")
}

func TestReconcileWithOVSAfterRestart(t *testing.T) {
	h, _, bridge := newOVSHarness(t)
	kept, vanished, dead := h.newPod("kept"), h.newPod("vanished"), h.newPod("dead")
	for _, p := range []*pod{kept, vanished, dead} {
		h.mustAdd(p)
	}
	flows := h.server.flows
	require.NoError(t, deleteHostLink(dead.hostInterface()))
	ports, err := bridge.ListPorts()
	require.NoError(t, err)
	var interfaces []*interfacestore.InterfaceConfig
	for _, port := range ports {
		if c, err := InterfaceFromPort(&port); err == nil {
			interfaces = append(interfaces, c)
		}
	}
	require.Len(t, interfaces, 3)
	h.store.Initialize(interfaces)
	h.ready = make(chan struct{})
	h.server, err = New(h.server.cfg, bridge, flows, h.store, h.ready)
	require.NoError(t, err)
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("kept", testNodeName), apiPod("dead", testNodeName)), synced))
	for p, want := range map[*pod]bool{kept: true, vanished: false, dead: false} {
		_, found, err := bridge.GetPort(p.hostInterface())
		require.NoError(t, err)
		require.Equal(t, want, found, p.name)
	}
	require.NotEmpty(t, flows.(openflow.Client).GetPodFlowKeys(kept.hostInterface()))
	require.Empty(t, flows.(openflow.Client).GetPodFlowKeys(dead.hostInterface()))
}

// The bridge must not keep the remains of an ADD that vswitchd could not complete.
func TestAddFailsWhenVswitchdIsDown(t *testing.T) {
	h, o, bridge := newOVSHarness(t)
	o.KillVswitchd()
	p := h.newPod("web")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	response, err := h.server.CmdAdd(ctx, h.request(p))
	require.NoError(t, err)
	require.NotNil(t, response.Error)
	h.requireNothing(p)
	_, found, err := bridge.GetPort(p.hostInterface())
	require.NoError(t, err)
	require.False(t, found)
	require.NoFileExists(t, filepath.Join(h.leases, "10.10.1.2"))
}
