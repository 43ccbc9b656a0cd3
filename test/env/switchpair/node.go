// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package switchpair

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// BridgeName is the bridge of the pipeline.
const BridgeName = "br-int"

const (
	// uplinkBridge has the tunnel's address and the wire.
	uplinkBridge = "br-phy"
	// firstPodPort is the OpenFlow port of the first Pod.
	firstPodPort = 11
	// epochShift is the position of the cache's epoch in the packet mark.
	epochShift = 20
)

// Node is the switch of one Node: a private Open vSwitch with its userspace datapath and userspace conntrack, the Pods' ports, and a
// Geneve tunnel over the wire to the other Node.
type Node struct {
	Identity
	OVS     *ovstest.OVS
	Gateway *Port
	// Pods are the ports of the Pods by IPv4 address.
	Pods map[netip.Addr]*Port
}

// Identity is a Node's number, from which its names and addresses follow.
type Identity struct{ Number byte }

// Name returns the Node's name.
func (n Identity) Name() string { return fmt.Sprintf("node-%d", n.Number) }

// GatewayIPv4, GatewayIPv6 and GatewayMAC are the addresses of the gateway.
func (n Identity) GatewayIPv4() netip.Addr { return netip.AddrFrom4([4]byte{10, 10, n.Number, 1}) }

// GatewayIPv6 is described with GatewayIPv4.
func (n Identity) GatewayIPv6() netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("fd00:10:10:%d::1", n.Number))
}

// GatewayMAC is described with GatewayIPv4.
func (n Identity) GatewayMAC() net.HardwareAddr { return net.HardwareAddr{0x0a, 0, 0, 0, n.Number, 1} }

// TunnelIP is the Node's own address.
func (n Identity) TunnelIP() netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 77, n.Number}) }

func (n Identity) tunnelMAC() net.HardwareAddr {
	return net.HardwareAddr{0x0a, 0xaa, 0, 0, 0, n.Number}
}

// PodCIDRs are the networks of the Node's Pods, IPv4 and IPv6.
func (n Identity) PodCIDRs() []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(n.GatewayIPv4(), 24).Masked(), netip.PrefixFrom(n.GatewayIPv6(), 64).Masked()}
}

// Peer returns the other Node.
func (n Identity) Peer() Identity { return Identity{3 - n.Number} }

// PodPort, InterfaceName and PodMAC are the properties of the Pod in a place on the bridge.
func PodPort(i int) uint32 { return uint32(firstPodPort + i) }

// InterfaceName is described with PodPort.
func InterfaceName(i int) string { return fmt.Sprint("place-", i) }

// PodMAC is described with PodPort.
func PodMAC(i int) net.HardwareAddr { return net.HardwareAddr{0x0a, 0, 0, 0, 0x10, byte(i)} }

func podEpoch(i int) uint16 { return uint16(1 + i) }

// newNode starts the switch of a Node with the ports of its Pods. receive gets each frame that leaves through a port.
func newNode(t ovstest.TB, number byte, places []Place, receive func(*Port, []byte)) (*Node, error) {
	n := &Node{Identity: Identity{number}, OVS: ovstest.Start(t), Pods: map[netip.Addr]*Port{}}
	n.OVS.Vsctl("add-br", uplinkBridge, "--", "set", "bridge", uplinkBridge, "datapath_type=dummy", "fail_mode=standalone",
		"other_config:hwaddr="+n.tunnelMAC().String())
	n.OVS.Vsctl("add-br", BridgeName, "--", "set", "bridge", BridgeName, "datapath_type=dummy", "fail_mode=secure", "--",
		"add-port", BridgeName, "antrea-tun0", "--", "set", "interface", "antrea-tun0", "type=geneve", "options:remote_ip=flow",
		"options:key=0", fmt.Sprint("ofport_request=", config.TunnelOFPort))
	n.OVS.Appctl("netdev-dummy/ip4addr", uplinkBridge, n.TunnelIP().String()+"/24")
	n.addRoute(0)

	n.Gateway = &Port{Name: "antrea-gw0", OFPort: config.GatewayOFPort, MAC: n.GatewayMAC()}
	ports := []*Port{n.Gateway}
	for i, pod := range places {
		if pod.Node == n.Name() {
			p := &Port{Name: InterfaceName(i), OFPort: PodPort(i), MAC: PodMAC(i), IPv4: pod.IPv4}
			n.Pods[pod.IPv4] = p
			ports = append(ports, p)
		}
	}
	for _, p := range ports {
		socket := filepath.Join(n.OVS.RunDir, p.Name)
		n.OVS.Vsctl("add-port", BridgeName, p.Name, "--", "set", "interface", p.Name, "type=dummy", "options:pstream=punix:"+socket,
			fmt.Sprint("ofport_request=", p.OFPort))
		if err := p.open(socket, receive); err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = p.conn.Close() })
	}
	for i := range places {
		n.addRoute(uint32(podEpoch(i)) << epochShift)
	}
	return n, nil
}

// addRoute routes packets with this mark to the wire: when Open vSwitch itself encapsulates, it routes by mark.
func (n *Node) addRoute(mark uint32) {
	n.OVS.Appctl("ovs/route/add", netip.PrefixFrom(n.TunnelIP(), 24).Masked().String(), uplinkBridge, fmt.Sprint("pkt_mark=", mark))
}

// connect plugs both Nodes into one wire.
func connect(a, b *Node) {
	wire := filepath.Join(a.OVS.RunDir, "wire")
	for _, end := range []struct {
		node, peer *Node
		option     string
	}{{a, b, "options:pstream=punix:" + wire}, {b, a, "options:stream=unix:" + wire}} {
		end.node.OVS.Vsctl("add-port", uplinkBridge, "wire", "--", "set", "interface", "wire", "type=dummy", end.option)
		end.node.OVS.Appctl("tnl/arp/set", uplinkBridge, end.peer.TunnelIP().String(), end.peer.tunnelMAC().String())
	}
}

// ForgetConnections empties conntrack.
func (n *Node) ForgetConnections() { n.order("dpctl/flush-conntrack") }

// ForgetMegaflows empties the datapath, so that current flows apply to the next packets. Waiting for the revalidators is enough with
// the kernel's datapath, but not here: the userspace datapath of Open vSwitch 3.1 looks up the megaflow to change by its key instead
// of its identifier, and changes another one where two overlap. The end-to-end tests measure how long stale megaflows live in the
// kernel.
func (n *Node) ForgetMegaflows() { n.order("revalidator/purge") }
