// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policyreject

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Interfaces finds the interfaces of local Pods; interfacestore.InterfaceStore implements it.
type Interfaces interface {
	GetInterfaceByIP(ip netip.Addr) (*interfacestore.InterfaceConfig, bool)
}

// Node has what a path needs to know about the Node.
type Node struct {
	Interfaces Interfaces
	Gateway    config.GatewayConfig
	TunnelPort uint32
}

// way is the path of an answer, and its Ethernet addresses. A nil address is the one that the rejected packet implies.
type way struct {
	openflow.RejectPath
	src, dst net.HardwareAddr
}

// end is one end of the rejected packet. Of an end that is not a local Pod it has no port.
type end struct {
	port uint32
	mac  net.HardwareAddr
}

func (e end) local() bool { return e.port != 0 }

func (n *Node) end(addr netip.Addr) end {
	i, ok := n.Interfaces.GetInterfaceByIP(addr)
	if !ok || i.Type != interfacestore.ContainerInterface || i.OVSPortConfig == nil {
		return end{}
	}
	return end{uint32(i.OFPort), i.MAC}
}

// wayOf returns the way of the answer to a rejected packet.
//
// The server, which the answer seems to come from, is the destination of the packet behind the translation of a Service. Only at the Node
// where this pipeline has translated the packet does the answer need conntrack. A packet that comes from the host without that has been routed
// or, by kube-proxy, translated there, and the answer returns there.
func (n *Node) wayOf(p *openflow.PolicyPacket, packet *ippacket.Packet) (way, error) {
	server, client := n.end(packet.Dst), n.end(packet.Src)
	switch {
	case p.Translated && client.local() && client.port == p.InPort:
		if server.port == client.port {
			server = end{} // A packet does not leave through the port that it seems to come from.
		}
		return n.toOwnClient(server), nil
	case p.Translated:
		return n.toForeignClient(server), nil
	case p.InPort == n.Gateway.OFPort:
		w := way{RejectPath: openflow.RejectPath{Entry: openflow.RejectDirectly, InPort: server.port, OutPort: n.Gateway.OFPort}, dst: n.Gateway.MAC}
		if !server.local() {
			w.InPort = n.remotePort()
		}
		return w, nil
	case client.local() && server.local():
		return way{openflow.RejectPath{Entry: openflow.RejectDirectly, InPort: server.port, OutPort: client.port}, server.mac, client.mac}, nil
	case client.local():
		return way{openflow.RejectPath{Entry: openflow.RejectDirectly, InPort: n.Gateway.OFPort, OutPort: client.port}, n.Gateway.MAC, client.mac}, nil
	case server.local():
		return way{openflow.RejectPath{Entry: openflow.RejectFromRouting, InPort: server.port}, server.mac, nil}, nil
	}
	return way{}, fmt.Errorf("packet from %v to %v: neither is a Pod of this Node", packet.Src, packet.Dst)
}

// toOwnClient is the way to the Pod that has sent the packet to a Service, for which conntrack undoes the translation.
func (n *Node) toOwnClient(server end) way {
	if server.local() {
		return way{openflow.RejectPath{Entry: openflow.RejectFromConntrack, InPort: server.port}, server.mac, n.Gateway.MAC}
	}
	return way{openflow.RejectPath{Entry: openflow.RejectFromStart, InPort: n.Gateway.OFPort}, n.Gateway.MAC, nil}
}

// toForeignClient is the way to a client outside of this Node's Pods that has sent the packet to a Service. The answer of a server elsewhere
// seems to come from another Node: it leaves through the gateway, and no packet leaves through the port at which it has arrived.
func (n *Node) toForeignClient(server end) way {
	if server.local() {
		return way{openflow.RejectPath{Entry: openflow.RejectFromStart, InPort: server.port}, server.mac, n.Gateway.MAC}
	}
	return way{openflow.RejectPath{Entry: openflow.RejectFromStart, InPort: n.remotePort()}, nil, n.Gateway.MAC}
}

// remotePort is the port at which packets of other Nodes arrive.
func (n *Node) remotePort() uint32 {
	if n.TunnelPort != 0 {
		return n.TunnelPort
	}
	return n.Gateway.OFPort
}
