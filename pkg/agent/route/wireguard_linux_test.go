// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

var byWireGuard = reach.Reach{Kind: reach.WireGuard, Address: peerIP}

// newEncryptedClient makes a client of an agent that encrypts, and a device in the place of the one that does it.
func newEncryptedClient(t *testing.T) *Client {
	t.Helper()
	network, node := testConfigs()
	network.WireGuardPort, network.IPv6Enabled, node.PodIPv6CIDR = 51820, true, localCIDR6
	c, err := NewClient(network, node, Options{Sysctls: newRecord(t)})
	require.NoError(t, err)
	return c
}

func makeWireGuard(t *testing.T) {
	t.Helper()
	run(t, "ip", "link", "add", "antrea-wg0", "type", "veth", "peer", "name", "cipher")
	run(t, "ip", "link", "set", "cipher", "up")
	run(t, "ip", "link", "set", "antrea-wg0", "up")
	run(t, "ip", "addr", "add", "10.10.0.1/32", "dev", "antrea-wg0")
	run(t, "ip", "addr", "add", localCIDR6.Addr().Next().String()+"/128", "dev", "antrea-wg0", "nodad")
}

// TestEncryptedRoutes: routes to peers lead to the device, in place of those into the tunnel that a former agent has left, and return when the device
// is made again.
func TestEncryptedRoutes(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	newUplink(t)
	former := newTestClient6(t, true)
	require.NoError(t, former.Initialize())
	require.NoError(t, former.AddRoutes(peerCIDR, "node2", byTunnel, peerGateway))
	require.NoError(t, former.AddRoutes(peerCIDR6, "node2", byTunnel, peerGateway6))

	c := newEncryptedClient(t)
	require.NoError(t, c.Initialize())
	err := c.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway)
	require.ErrorContains(t, err, "find device antrea-wg0")
	makeWireGuard(t)
	peers := map[netip.Prefix]netip.Addr{peerCIDR: peerGateway, peerCIDR6: peerGateway6}
	requireRoutes := func(when string) {
		t.Helper()
		for cidr := range peers {
			source := localCIDR.Addr().Next()
			if cidr.Addr().Is6() {
				source = localCIDR6.Addr().Next()
			}
			got := routesTo(t, cidr)
			require.Contains(t, got, "dev antrea-wg0"+protoOwn, when)
			require.Contains(t, got, "src "+source.String(), when)
			require.NotContains(t, got, "antrea-gw0", when)
		}
	}
	for cidr, gateway := range peers {
		require.NoError(t, c.AddRoutes(cidr, "node2", byWireGuard, gateway))
		require.NoError(t, c.AddRoutes(cidr, "node2", byWireGuard, gateway), "idempotent")
	}
	requireRoutes("added")
	require.NoError(t, c.Reconcile([]netip.Prefix{peerCIDR, peerCIDR6}))
	require.NoError(t, c.sync(t.Context()))
	requireRoutes("nothing to do")
	run(t, "ip", "link", "del", "antrea-wg0")
	require.ErrorContains(t, c.sync(t.Context()), "find device antrea-wg0")
	makeWireGuard(t)
	require.NoError(t, c.sync(t.Context()))
	requireRoutes("another device")
	run(t, "ip", "link", "set", "antrea-wg0", "down")
	run(t, "ip", "link", "set", "antrea-wg0", "up")
	require.Empty(t, routesTo(t, peerCIDR))
	require.NoError(t, c.RestoreEncrypted())
	requireRoutes("up again")
	for cidr, gateway := range peers { // encryption is off again
		require.NoError(t, former.AddRoutes(cidr, "node2", byTunnel, gateway))
		require.Contains(t, routesTo(t, cidr), "dev antrea-gw0")
		require.NoError(t, c.AddRoutes(cidr, "node2", byWireGuard, gateway))
	}
	requireRoutes("on again")
	for cidr := range peers {
		require.NoError(t, c.DeleteRoutes(cidr))
		require.Empty(t, routesTo(t, cidr))
	}
}

// TestRoutesOfAntrea: Antrea's routes to the device are replaced, and deleted if there is no such Node, unlike routes of other programs.
func TestRoutesOfAntrea(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	newUplink(t)
	makeWireGuard(t)
	for _, cidr := range []netip.Prefix{peerCIDR, otherCIDR} {
		run(t, "ip", "route", "add", cidr.String(), "dev", "antrea-wg0", "proto", "boot", "scope", "link", "src", "10.10.0.1")
	}
	c := newEncryptedClient(t)
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway))
	require.Contains(t, routesTo(t, peerCIDR), "dev antrea-wg0"+protoOwn)
	require.NoError(t, c.Reconcile([]netip.Prefix{peerCIDR}))
	require.Contains(t, routesTo(t, peerCIDR), "dev antrea-wg0"+protoOwn)
	require.Empty(t, routesTo(t, otherCIDR))

	run(t, "ip", "route", "add", otherCIDR.String(), "proto", "boot", "nexthop", "dev", "up0", "nexthop", "dev", "antrea-gw0")
	require.ErrorContains(t, c.AddRoutes(otherCIDR, "node3", byWireGuard, otherGW), "the Node has a route of its own to it")
}

// inject sends a UDP packet to the Node's transport address, from the other end of the uplink.
func inject(t *testing.T, device string, source netip.Addr, port uint16) {
	t.Helper()
	injectTo(t, device, "up0", source, netip.AddrFrom4([4]byte{192, 168, 77, 11}), port)
}

// injectTo sends a UDP packet from the other end of the device into.
func injectTo(t *testing.T, device, into string, source, destination netip.Addr, port uint16) {
	t.Helper()
	uplink, err := net.InterfaceByName(into)
	require.NoError(t, err)
	out, err := net.InterfaceByName(device)
	require.NoError(t, err)
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: source.AsSlice(), DstIP: destination.AsSlice()}
	udp := &layers.UDP{SrcPort: 5555, DstPort: layers.UDPPort(port)}
	require.NoError(t, udp.SetNetworkLayerForChecksum(ip))
	frame := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(frame, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: out.HardwareAddr, DstMAC: uplink.HardwareAddr, EthernetType: layers.EthernetTypeIPv4}, ip, udp, gopacket.Payload("forged")))
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	require.NoError(t, err)
	defer unix.Close(socket)
	require.NoError(t, unix.Sendto(socket, frame.Bytes(), 0, &unix.SockaddrLinklayer{Ifindex: out.Index}))
}

// dropped returns the number of packets that a rule has dropped.
func dropped(t *testing.T, rule string) (packets int) {
	t.Helper()
	for line := range strings.Lines(run(t, "iptables-save", "-c")) {
		if strings.Contains(line, rule) && (strings.Contains(line, "-A ANTREA-PREROUTING ") || strings.Contains(line, "-A ANTREA-POSTROUTING ")) {
			_, err := fmt.Sscanf(line, "[%d:", &packets)
			require.NoError(t, err)
			return packets
		}
	}
	t.Fatalf("there is no rule %q", rule)
	return 0
}

// TestNothingLeavesOrComesInClear: packets to a peer's Pods do not leave when the device is gone, and packets that claim to be from one are not accepted
// from another device. Rules of a former configuration go.
func TestNothingLeavesOrComesInClear(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	newUplink(t)
	run(t, "ip", "neighbor", "add", "192.168.77.1", "lladdr", "02:00:00:00:00:01", "dev", "up0")
	run(t, "ip", "route", "add", "default", "via", "192.168.77.1")
	makeWireGuard(t)
	c := newEncryptedClient(t)
	require.NoError(t, c.Initialize())
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway))
	dropped := func(rule string) bool { return dropped(t, rule) > 0 }
	send := func(to string) { _ = exec.Command("ping", "-c1", "-W1", to).Run() }
	const leaves, comes = "drop packets to Pods of other Nodes that are not encrypted", "drop packets from Pods of other Nodes that are not encrypted"
	send(peerGateway.String())
	require.False(t, dropped(leaves), "it leaves by the device")
	run(t, "ip", "link", "del", "antrea-wg0")
	send("192.168.77.1")
	require.False(t, dropped(leaves), "it is for no Pod")
	send(peerGateway.String())
	require.True(t, dropped(leaves))

	const tunnel = "drop tunnel packets, which are not encrypted"
	inject(t, "wire0", netip.MustParseAddr("192.168.77.12"), 7777)
	require.False(t, dropped(comes))
	require.False(t, dropped(tunnel))
	inject(t, "wire0", peerGateway, 7777)
	require.True(t, dropped(comes))
	inject(t, "wire0", netip.MustParseAddr("192.168.77.12"), 6081)
	require.True(t, dropped(tunnel))

	off, node := testConfigs()
	off.IPv6Enabled, node.PodIPv6CIDR = true, localCIDR6
	former, err := NewClient(off, node, Options{Sysctls: newRecord(t)})
	require.NoError(t, err)
	require.NoError(t, former.Initialize())
	saved := run(t, "iptables-save")
	require.NotContains(t, saved, "not encrypted")
	require.NotContains(t, saved, config.WireGuardDevice)
	require.NotContains(t, saved, "51820")
}

// podEntries returns the networks of Pods in the set.
func podEntries(t *testing.T) []netip.Prefix {
	t.Helper()
	entries, err := familyIPv4.podSet().entries()
	require.NoError(t, err)
	return entries
}

// TestRefusedRouteLeavesNothingInClear: packets to and from a peer's Pods are dropped although the Node has a route of its own to them, or the device is
// not there yet.
func TestRefusedRouteLeavesNothingInClear(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	newUplink(t)
	c := newEncryptedClient(t)
	require.NoError(t, c.Initialize())
	requireEntry := func() {
		t.Helper()
		require.Contains(t, podEntries(t), peerCIDR)
	}
	require.ErrorContains(t, c.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway), "find device antrea-wg0")
	requireEntry()
	makeWireGuard(t)
	run(t, "ip", "route", "add", peerCIDR.String(), "via", "192.168.77.12")
	for range 2 {
		require.ErrorContains(t, c.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway), "the Node has a route of its own to it")
		requireEntry()
		require.NoError(t, c.Reconcile(nil))
		requireEntry()
		c = newEncryptedClient(t) // another agent
		require.NoError(t, c.Initialize())
	}
	require.Error(t, c.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway))
	run(t, "ip", "route", "del", peerCIDR.String())
	require.NoError(t, c.sync(t.Context()))
	require.Contains(t, routesTo(t, peerCIDR), "dev antrea-wg0")
	require.NoError(t, c.DeleteRoutes(peerCIDR))
	requireEntry()
}

// TestGuard: networks stay in the set whether there is a route or not, for another Node that has them, and when the Node is gone, until nothing is encrypted.
func TestGuard(t *testing.T) {
	newNetNS(t)
	newGateway6(t)
	newUplink(t)
	makeWireGuard(t)
	former := newEncryptedClient(t)
	require.NoError(t, former.Initialize())
	require.NoError(t, former.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway))

	c := newEncryptedClient(t)
	require.NoError(t, c.Initialize())
	require.NoError(t, c.Guard("node2", []netip.Prefix{peerCIDR, peerCIDR6, localCIDR}))
	require.NoError(t, c.Reconcile(nil))
	require.Contains(t, podEntries(t), peerCIDR)
	require.Empty(t, routesTo(t, peerCIDR))
	require.NoError(t, c.AddRoutes(peerCIDR, "node2", byWireGuard, peerGateway))
	require.NoError(t, c.DeleteRoutes(peerCIDR))
	require.Contains(t, podEntries(t), peerCIDR, "without a route")
	require.NoError(t, familyIPv4.podSet().remove(peerCIDR))
	require.NoError(t, c.sync(t.Context()))
	require.Contains(t, podEntries(t), peerCIDR, "repaired")
	require.NoError(t, c.Guard("node3", []netip.Prefix{peerCIDR}))
	require.NoError(t, c.Guard("node2", nil))
	require.Contains(t, podEntries(t), peerCIDR, "of another Node")
	require.NoError(t, c.AddRoutes(peerCIDR, "node3", byWireGuard, peerGateway))
	require.NoError(t, c.Guard("node3", nil))
	require.Contains(t, podEntries(t), peerCIDR, "with a route")
	require.NoError(t, c.DeleteRoutes(peerCIDR))
	require.Contains(t, podEntries(t), peerCIDR, "of a Node that is gone: a connection to its Pods may be alive")
	require.NoError(t, c.sync(t.Context()))
	next := newEncryptedClient(t)
	require.NoError(t, next.Initialize())
	require.NoError(t, next.Reconcile(nil))
	require.Contains(t, podEntries(t), peerCIDR, "of a former agent's time")
	require.NoError(t, familyIPv4.podSet().remove(peerCIDR))
	require.NoError(t, next.sync(t.Context()))
	require.Contains(t, podEntries(t), peerCIDR, "repaired")

	off := newTestClient6(t, true)
	require.NoError(t, off.Initialize())
	require.NoError(t, off.Guard("node2", []netip.Prefix{peerCIDR}))
	require.NoError(t, off.Reconcile(nil))
	require.Equal(t, []netip.Prefix{localCIDR}, podEntries(t))
}
