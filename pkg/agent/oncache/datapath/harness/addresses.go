// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net"
	"net/netip"
)

// The world of the tests: local Pod 10.10.1.2 on Node 192.168.77.11, remote Pod 10.10.2.2 on Node 192.168.77.12.
var (
	PodMAC         = net.HardwareAddr{0x0a, 0, 0, 0, 0, 1}
	GatewayMAC     = net.HardwareAddr{0x0a, 0, 0, 0, 1, 1}
	PeerGatewayMAC = net.HardwareAddr{0x0a, 0, 0, 0, 1, 2}
	VirtualMAC     = net.HardwareAddr{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	UplinkMAC      = net.HardwareAddr{0x02, 0, 0, 0, 2, 1}
	PeerMAC        = net.HardwareAddr{0x02, 0, 0, 0, 2, 2}
	PodIP          = netip.MustParseAddr("10.10.1.2")
	PeerPodIP      = netip.MustParseAddr("10.10.2.2")
	NodeIP         = netip.MustParseAddr("192.168.77.11")
	PeerIP         = netip.MustParseAddr("192.168.77.12")
	PeerCIDR       = netip.MustParsePrefix("10.10.2.0/24")
)

// The slots of the local Pod and the remote Node, and the epoch of the current rules.
const (
	PodSlot  = 3
	PeerSlot = 5
	Epoch    = 7
)

// RewritePort is the port for rewritten packets.
const RewritePort = 585

// Verdicts of the programs.
const (
	Next     = -1 // TC_ACT_UNSPEC
	Redirect = 7  // TC_ACT_REDIRECT
	Shot     = 2  // TC_ACT_SHOT
)

// Bits of the mark.
const (
	// TicketBits hold a ticket's number, EpochBits an epoch or, with StampBit, a stamp.
	TicketBits = 0x000f3f00
	EpochBits  = 0x3ff00000
	StampBit   = 0x20000000
	OwnBits    = TicketBits | EpochBits
)

// The Service through which the local Pod may reach the remote one: its address and port, and the Pod's port.
var (
	ServiceIP  = netip.MustParseAddr("10.96.0.10")
	ServiceIP6 = netip.MustParseAddr("fd00:96::10")
)

const (
	ServicePort  = 443
	EndpointPort = 8443
)

// The same world with IPv6.
var (
	PodIP6     = netip.MustParseAddr("fd00:10:1::2")
	PeerPodIP6 = netip.MustParseAddr("fd00:10:2::2")
	NodeIP6    = netip.MustParseAddr("fd00:77::11")
	PeerIP6    = netip.MustParseAddr("fd00:77::12")
	PeerCIDR6  = netip.MustParsePrefix("fd00:10:2::/64")
)
