// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config holds what the agent has found out about its Node and network at start: immutable afterwards, shared
// by all controllers. The configuration file itself is pkg/config/agent.
package config

import (
	"net"
	"net/netip"
	"slices"

	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

const (
	DefaultTunPortName = "antrea-tun0"
	// WireGuardDevice encrypts packets to Pods of other Nodes, with WireGuard.
	WireGuardDevice = "antrea-wg0"
	// ClusterWireGuardDevice encrypts packets to gateway Nodes of other clusters, with WireGuard.
	ClusterWireGuardDevice = "antrea-mc-wg0"
	// TunnelOFPort, GatewayOFPort are the ofport_request of the two fixed ports.
	TunnelOFPort  = 32768
	GatewayOFPort = 32769
	// NeighborProbes is the kernel setting ucast_solicit of Pods' interfaces and of the gateway port: the number of
	// probes, one a second, that a neighbor may leave unanswered before its address counts as unknown. While Open
	// vSwitch is being replaced there is no answer. With the kernel's 3, a Pod that only sends, or whose connections
	// stand still, would lose its gateway in that time.
	NeighborProbes = 60
	// HostLocalSourceMark is the fwmark (and its mask) of packets that the Node itself sends to local Pods.
	HostLocalSourceMark = 0x80000000
	// ServiceMark is the fwmark (and its mask) of packets to external addresses of Services between the host's first look at them and their
	// way to the bridge. No single bit is free: Antrea's Egress has bit 30 for answers and the low byte for ids, kube-proxy has bits 14 and
	// 15, ONCache the others. 255 is an id that no Egress may get.
	ServiceMark = 0xff
	// RouteProtocol is the protocol number of the agent's routes and rules (rtnetlink(7), rtm_protocol), by which they differ from all others of
	// the Node. No program in iproute2's table of protocols has it.
	RouteProtocol = 170
)

// TrafficEncapMode says how Pod traffic between Nodes travels.
type TrafficEncapMode string

const (
	TrafficEncapModeEncap             TrafficEncapMode = agentconfig.EncapModeEncap
	TrafficEncapModeNoEncap           TrafficEncapMode = agentconfig.EncapModeNoEncap
	TrafficEncapModeHybrid            TrafficEncapMode = agentconfig.EncapModeHybrid
	TrafficEncapModeNetworkPolicyOnly TrafficEncapMode = agentconfig.EncapModeNetworkPolicyOnly
)

// BuiltEncapModes are the modes that this version has.
var BuiltEncapModes = []TrafficEncapMode{TrafficEncapModeEncap, TrafficEncapModeNoEncap, TrafficEncapModeHybrid}

// IsBuilt reports whether this version has the mode.
func (m TrafficEncapMode) IsBuilt() bool { return slices.Contains(BuiltEncapModes, m) }

// TunnelType is the OVS interface type of the tunnel port.
type TunnelType string

const (
	TunnelTypeGeneve TunnelType = agentconfig.TunnelGeneve
	TunnelTypeVXLAN  TunnelType = agentconfig.TunnelVXLAN
	TunnelTypeGRE    TunnelType = agentconfig.TunnelGRE
	TunnelTypeSTT    TunnelType = agentconfig.TunnelSTT
)

// PodInterfaceType is the kind of device pair that connects a Pod.
type PodInterfaceType string

const (
	PodInterfaceVeth PodInterfaceType = agentconfig.PodInterfaceVeth
	// PodInterfaceNetkit (Linux 6.7) runs ONCache's Egress as part of the Pod's own transmission.
	PodInterfaceNetkit PodInterfaceType = agentconfig.PodInterfaceNetkit
	// PodInterfaceAuto leaves the choice to the agent: veth in this version.
	PodInterfaceAuto PodInterfaceType = agentconfig.PodInterfaceAuto
)

// GlobalVirtualMAC is the inner destination MAC of every packet in the tunnel.
var GlobalVirtualMAC = net.HardwareAddr{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}

// MulticlusterMAC is the inner destination MAC of packets in the tunnel that cross clusters, on their way to a gateway Node.
var MulticlusterMAC = net.HardwareAddr{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xf0}

// VirtualServiceIPv4 and VirtualServiceIPv6 are the source of Service connections that come from the gateway and return there, and
// the next hop of the host's routes to Services. The host translates the destination of connections to NodePorts to
// VirtualNodePortIPv4 or VirtualNodePortIPv6.
var (
	VirtualServiceIPv4  = netip.MustParseAddr("169.254.0.253")
	VirtualServiceIPv6  = netip.MustParseAddr("fc01::aabb:ccdd:eeff")
	VirtualNodePortIPv4 = netip.MustParseAddr("169.254.0.252")
	VirtualNodePortIPv6 = netip.MustParseAddr("fc01::aabb:ccdd:eefe")
)

// IsVirtual reports whether the address is one of these.
func IsVirtual(addr netip.Addr) bool {
	switch addr.Unmap().WithZone("") {
	case VirtualServiceIPv4, VirtualServiceIPv6, VirtualNodePortIPv4, VirtualNodePortIPv6:
		return true
	}
	return false
}

// GatewayConfig is the agent's gateway port.
type GatewayConfig struct {
	Name      string
	LinkIndex int
	MAC       net.HardwareAddr
	// IPv4, IPv6 are the first addresses of the Node's Pod CIDRs; the zero Addr when the family is absent.
	IPv4, IPv6 netip.Addr
	OFPort     uint32
}

// Uplink is the network device that carries tunnel packets.
type Uplink struct {
	Name      string
	LinkIndex int
	MAC       net.HardwareAddr
	MTU       int
	// IPv4, IPv6 are the transport addresses with their prefix length; zero when the family is absent.
	IPv4, IPv6 netip.Prefix
}

// NodeConfig describes the agent's own Node.
type NodeConfig struct {
	Name      string
	OVSBridge string
	// PodIPv4CIDR, PodIPv6CIDR are the Node's Pod networks; zero when the family is absent.
	PodIPv4CIDR, PodIPv6CIDR netip.Prefix
	// NodeIP is the address in the Node object that peers use when no transport address is configured.
	NodeIP netip.Addr
	Uplink Uplink
	// Addresses are all to which peers may send tunnel packets: the addresses of the Node object and the transport
	// addresses.
	Addresses []netip.Addr
	// EgressExcept are destinations of Pods outside the cluster that Egress leaves alone.
	EgressExcept []netip.Prefix
	Gateway      GatewayConfig
	TunnelOFPort uint32
	// MTU is the MTU of Pods and the gateway.
	MTU int
}

// NetworkConfig is the configuration that all Nodes share.
type NetworkConfig struct {
	TrafficEncapMode TrafficEncapMode
	TunnelType       TunnelType
	// TunnelPort is the UDP destination port actually used (the protocol's default already filled in).
	TunnelPort uint16
	TunnelCsum bool
	// WireGuardPort is the UDP port of encrypted packets to Pods of other Nodes; 0 without WireGuard.
	WireGuardPort uint16
	// ClusterWireGuardPort is the UDP port of encrypted packets between gateway Nodes of clusters; 0 without WireGuard there.
	ClusterWireGuardPort uint16
	// RewritePort is the port, of TCP and UDP, of packets that are rewritten instead of encapsulated; 0 if none are.
	RewritePort              uint16
	IPv4Enabled, IPv6Enabled bool
	// NoSNAT leaves the source of Pods' packets to outside the cluster alone.
	NoSNAT bool
	// SNATFullyRandomPorts makes MASQUERADE choose ports at random.
	SNATFullyRandomPorts bool
}
