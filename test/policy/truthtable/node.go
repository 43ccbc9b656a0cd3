// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/policy"
)

const (
	bridgeName = "br-int"
	// uplinkBridge has the tunnel's address and the wire.
	uplinkBridge = "br-phy"
	// firstPodPort is the OpenFlow port of the first Pod.
	firstPodPort = 11
	// epochShift is the position of the cache's epoch in the packet mark.
	epochShift = 20
)

// node is the switch of one Node: a private Open vSwitch with its userspace datapath and userspace conntrack, the Pods' ports, and a
// Geneve tunnel over the wire to the other Node.
type node struct {
	identity
	ovs     *ovstest.OVS
	gateway *port
	// pods are the ports of the Pods by IPv4 address.
	pods map[netip.Addr]*port
}

// identity is a Node's number, from which its names and addresses follow.
type identity struct{ number byte }

func (n identity) name() string { return fmt.Sprintf("node-%d", n.number) }

func (n identity) gatewayIPv4() netip.Addr { return netip.AddrFrom4([4]byte{10, 10, n.number, 1}) }

func (n identity) gatewayIPv6() netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("fd00:10:10:%d::1", n.number))
}

func (n identity) gatewayMAC() net.HardwareAddr { return net.HardwareAddr{0x0a, 0, 0, 0, n.number, 1} }

func (n identity) tunnelIP() netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 77, n.number}) }

func (n identity) tunnelMAC() net.HardwareAddr {
	return net.HardwareAddr{0x0a, 0xaa, 0, 0, 0, n.number}
}

func (n identity) podCIDRs() []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(n.gatewayIPv4(), 24).Masked(), netip.PrefixFrom(n.gatewayIPv6(), 64).Masked()}
}

// peer returns the other Node.
func (n identity) peer() identity { return identity{3 - n.number} }

// Port, port name, MAC address and epoch of the Pod that has this place in the world.
func podPort(i int) uint32          { return uint32(firstPodPort + i) }
func interfaceName(i int) string    { return fmt.Sprint("place-", i) }
func podMAC(i int) net.HardwareAddr { return net.HardwareAddr{0x0a, 0, 0, 0, 0x10, byte(i)} }
func podEpoch(i int) uint16         { return uint16(1 + i) }

func podKey(p *policy.Pod) string { return p.Namespace + "/" + p.Name }

// newNode starts the switch of a Node with the ports of its Pods. receive gets each frame that leaves through a port.
func newNode(t ovstest.TB, number byte, world *policy.World, receive func(*port, []byte)) (*node, error) {
	n := &node{identity: identity{number}, ovs: ovstest.Start(t), pods: map[netip.Addr]*port{}}
	n.ovs.Vsctl("add-br", uplinkBridge, "--", "set", "bridge", uplinkBridge, "datapath_type=dummy", "fail_mode=standalone",
		"other_config:hwaddr="+n.tunnelMAC().String())
	n.ovs.Vsctl("add-br", bridgeName, "--", "set", "bridge", bridgeName, "datapath_type=dummy", "fail_mode=secure", "--",
		"add-port", bridgeName, "antrea-tun0", "--", "set", "interface", "antrea-tun0", "type=geneve", "options:remote_ip=flow",
		"options:key=0", fmt.Sprint("ofport_request=", config.TunnelOFPort))
	n.ovs.Appctl("netdev-dummy/ip4addr", uplinkBridge, n.tunnelIP().String()+"/24")
	n.addRoute(0)

	n.gateway = &port{name: "antrea-gw0", ofPort: config.GatewayOFPort, mac: n.gatewayMAC()}
	ports := []*port{n.gateway}
	for i, pod := range world.Pods {
		if pod.Node == n.name() {
			p := &port{name: interfaceName(i), ofPort: podPort(i), mac: podMAC(i), ipv4: pod.IPv4}
			n.pods[pod.IPv4] = p
			ports = append(ports, p)
		}
	}
	for _, p := range ports {
		socket := filepath.Join(n.ovs.RunDir, p.name)
		n.ovs.Vsctl("add-port", bridgeName, p.name, "--", "set", "interface", p.name, "type=dummy", "options:pstream=punix:"+socket,
			fmt.Sprint("ofport_request=", p.ofPort))
		if err := p.open(socket, receive); err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = p.conn.Close() })
	}
	for i := range world.Pods {
		n.addRoute(uint32(podEpoch(i)) << epochShift)
	}
	return n, nil
}

// addRoute routes packets with this mark to the wire: when Open vSwitch itself encapsulates, it routes by mark.
func (n *node) addRoute(mark uint32) {
	n.ovs.Appctl("ovs/route/add", netip.PrefixFrom(n.tunnelIP(), 24).Masked().String(), uplinkBridge, fmt.Sprint("pkt_mark=", mark))
}

// connect plugs both Nodes into one wire.
func connect(a, b *node) {
	wire := filepath.Join(a.ovs.RunDir, "wire")
	for _, end := range []struct {
		node, peer *node
		option     string
	}{{a, b, "options:pstream=punix:" + wire}, {b, a, "options:stream=unix:" + wire}} {
		end.node.ovs.Vsctl("add-port", uplinkBridge, "wire", "--", "set", "interface", "wire", "type=dummy", end.option)
		end.node.ovs.Appctl("tnl/arp/set", uplinkBridge, end.peer.tunnelIP().String(), end.peer.tunnelMAC().String())
	}
}

// forgetConnections empties conntrack.
func (n *node) forgetConnections() { n.ovs.Appctl("dpctl/flush-conntrack") }

// forgetMegaflows empties the datapath, so that current flows apply to the next packets. Waiting for the revalidators is enough with
// the kernel's datapath, but not here: the userspace datapath of Open vSwitch 3.1 looks up the megaflow to change by its key instead
// of its identifier, and changes another one where two overlap. The end-to-end tests measure how long stale megaflows live in the
// kernel.
func (n *node) forgetMegaflows() { n.ovs.Appctl("revalidator/purge") }
