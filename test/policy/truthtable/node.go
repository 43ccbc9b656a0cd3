// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/policy"
)

const (
	bridgeName = "br-int"
	// uplinkBridge has the tunnel's address and the wire.
	uplinkBridge = "br-phy"
	// firstPodPort is the OpenFlow port of the first Pod.
	firstPodPort = 11
	// epochShift is where the cache's epoch is in the packet mark.
	epochShift   = 20
	setupTimeout = time.Minute
)

// node is the switch of one Node: a private Open vSwitch with its userspace datapath and userspace conntrack, the agent's pipeline
// on it, the Pods' ports, and a Geneve tunnel over the wire to the other Node.
type node struct {
	name    string
	number  byte
	ovs     *ovstest.OVS
	flows   openflow.Client
	gateway *port
	// pods are the ports of the Pods by namespace/name.
	pods map[string]*port
}

func podKey(p *policy.Pod) string { return p.Namespace + "/" + p.Name }

func (n *node) gatewayIPv4() netip.Addr { return netip.AddrFrom4([4]byte{10, 10, n.number, 1}) }

func (n *node) gatewayIPv6() netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("fd00:10:%d::1", n.number))
}

func (n *node) tunnelIP() netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 77, n.number}) }

func (n *node) tunnelMAC() net.HardwareAddr { return net.HardwareAddr{0x0a, 0xaa, 0, 0, 0, n.number} }

func (n *node) podCIDRs() []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(n.gatewayIPv4(), 24).Masked(), netip.PrefixFrom(n.gatewayIPv6(), 64).Masked()}
}

// newNode starts the switch of a Node with the ports of its Pods. receive is given what leaves through any port.
func newNode(t ovstest.TB, number byte, world *policy.World, receive func(*port, []byte)) (*node, error) {
	n := &node{name: fmt.Sprintf("node-%d", number), number: number, ovs: ovstest.Start(t), pods: map[string]*port{}}
	n.ovs.Vsctl("add-br", uplinkBridge, "--", "set", "bridge", uplinkBridge, "datapath_type=dummy", "fail_mode=standalone",
		"other_config:hwaddr="+n.tunnelMAC().String())
	n.ovs.Vsctl("add-br", bridgeName, "--", "set", "bridge", bridgeName, "datapath_type=dummy", "fail_mode=secure", "--",
		"add-port", bridgeName, "antrea-tun0", "--", "set", "interface", "antrea-tun0", "type=geneve", "options:remote_ip=flow",
		"options:key=0", fmt.Sprint("ofport_request=", config.TunnelOFPort))
	n.ovs.Appctl("netdev-dummy/ip4addr", uplinkBridge, n.tunnelIP().String()+"/24")
	n.addRoute(0)

	n.gateway = &port{name: "antrea-gw0", ofPort: config.GatewayOFPort, mac: net.HardwareAddr{0x0a, 0, 0, 0, n.number, 1}}
	ports := []*port{n.gateway}
	for i, pod := range world.Pods {
		if pod.Node == n.name {
			p := &port{name: pod.Namespace + "-" + pod.Name, ofPort: podPort(i), mac: net.HardwareAddr{0x0a, 0, 0, 0, 0x10, byte(i)}, ipv4: pod.IPv4}
			n.pods[podKey(pod)] = p
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
	return n, n.startPipeline(t, world)
}

// podPort is the OpenFlow port of the Pod with this place in the world.
func podPort(i int) uint32 { return uint32(firstPodPort + i) }

// startPipeline installs what the agent installs of base and Pods.
func (n *node) startPipeline(t ovstest.TB, world *policy.World) error {
	n.flows = openflow.NewClient(of.NewSwitch(n.ovs.MgmtSocket(bridgeName)), func(map[uint8]string) error { return nil },
		openflow.Features{AntreaProxy: true, AntreaPolicy: true, Egress: true, ONCache: true})
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	cidrs := n.podCIDRs()
	_, err := n.flows.Initialize(ctx, openflow.RoundInfo{RoundNum: 1}, &config.NodeConfig{
		Name: n.name, OVSBridge: bridgeName, PodIPv4CIDR: cidrs[0], PodIPv6CIDR: cidrs[1], TunnelOFPort: config.TunnelOFPort,
		Gateway: config.GatewayConfig{
			Name: n.gateway.name, MAC: n.gateway.mac, IPv4: n.gatewayIPv4(), IPv6: n.gatewayIPv6(), OFPort: n.gateway.ofPort,
		},
	}, &config.NetworkConfig{
		TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true, IPv6Enabled: true,
	})
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = n.flows.Disconnect() })
	for i, pod := range world.Pods {
		p := n.pods[podKey(pod)]
		if p == nil {
			continue
		}
		if err := n.flows.InstallPodFlows(p.name, []netip.Addr{pod.IPv4, pod.IPv6}, p.mac, p.ofPort); err != nil {
			return err
		}
		epoch := uint16(1 + i)
		if err := n.flows.InstallMarkFlows([]coherency.Mark{{InterfaceName: p.name, OFPort: p.ofPort, Epoch: epoch}}); err != nil {
			return err
		}
		n.addRoute(uint32(epoch) << epochShift)
	}
	return nil
}

// addRoute makes packets with this mark find the wire: where Open vSwitch itself encapsulates, it routes by mark.
func (n *node) addRoute(mark uint32) {
	n.ovs.Appctl("ovs/route/add", netip.PrefixFrom(n.tunnelIP(), 24).Masked().String(), uplinkBridge, fmt.Sprint("pkt_mark=", mark))
}

// connect plugs both Nodes into one wire and tells each about the other.
func connect(a, b *node) error {
	wire := filepath.Join(a.ovs.RunDir, "wire")
	for _, end := range []struct {
		node, peer *node
		option     string
	}{{a, b, "options:pstream=punix:" + wire}, {b, a, "options:stream=unix:" + wire}} {
		end.node.ovs.Vsctl("add-port", uplinkBridge, "wire", "--", "set", "interface", "wire", "type=dummy", end.option)
		end.node.ovs.Appctl("tnl/arp/set", uplinkBridge, end.peer.tunnelIP().String(), end.peer.tunnelMAC().String())
		peers := map[netip.Prefix]openflow.Peer{}
		for i, gateway := range []netip.Addr{end.peer.gatewayIPv4(), end.peer.gatewayIPv6()} {
			peers[end.peer.podCIDRs()[i]] = openflow.Peer{Gateway: gateway, TunnelIP: end.peer.tunnelIP()}
		}
		if err := end.node.flows.InstallNodeFlows(end.peer.name, peers); err != nil {
			return err
		}
	}
	return nil
}

// forgetConnections empties conntrack.
func (n *node) forgetConnections() { n.ovs.Appctl("dpctl/flush-conntrack") }

// forgetMegaflows empties the datapath, so that the next packets meet present flows. To wait for the revalidators, as is enough
// with the kernel's datapath, is not enough here: the userspace datapath of Open vSwitch 3.1 looks for the megaflow that they tell it
// to change by its key and not by its identifier, and so changes another one where two overlap. How long stale megaflows live
// in the kernel is measured end to end.
func (n *node) forgetMegaflows() { n.ovs.Appctl("revalidator/purge") }
