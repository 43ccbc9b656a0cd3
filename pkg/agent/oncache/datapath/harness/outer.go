// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// ToPeer returns the tunnel from the Node to the peer with the world's IP version, FromPeer that in the other direction.
func (w *World) ToPeer() Outer {
	o := ToPeer()
	if w.Family.Outer6 {
		o.Src, o.Dst = NodeIP6, PeerIP6
	}
	return o
}

// FromPeer: see ToPeer.
func (w *World) FromPeer() Outer {
	o := FromPeer()
	if w.Family.Outer6 {
		o.Src, o.Dst = PeerIP6, NodeIP6
	}
	return o
}

// Outer is the tunnel around an inner packet.
type Outer struct {
	srcMAC, DstMAC   net.HardwareAddr
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	ToS              uint8
	ID               uint16
	Tunnel           [8]byte
	Checksum         bool
	Options          bool
	Frag             bool
}

// ToPeer returns the ordinary tunnel over IPv4 from the Node to the peer.
func ToPeer() Outer {
	return Outer{srcMAC: UplinkMAC, DstMAC: PeerMAC, Src: NodeIP, Dst: PeerIP, SrcPort: 12345, DstPort: 6081, Tunnel: [8]byte{0, 0, 0x65, 0x58}}
}

// FromPeer returns the tunnel over IPv4 from the peer to the Node.
func FromPeer() Outer {
	return Outer{srcMAC: PeerMAC, DstMAC: UplinkMAC, Src: PeerIP, Dst: NodeIP, SrcPort: 12345, DstPort: 6081, Tunnel: [8]byte{0, 0, 0x65, 0x58}}
}

// Wrap returns the frame around an inner frame. Its lengths and the IP checksum are right.
func (o Outer) Wrap(t testing.TB, inner []byte) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: o.srcMAC, DstMAC: o.DstMAC, EthernetType: layers.EthernetTypeIPv4}
	udp := &layers.UDP{SrcPort: layers.UDPPort(o.SrcPort), DstPort: layers.UDPPort(o.DstPort)}
	var network gopacket.SerializableLayer
	checksumAt := 14 + 20 + 6
	if o.Src.Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
		network = &layers.IPv6{Version: 6, TrafficClass: o.ToS, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: o.Src.AsSlice(), DstIP: o.Dst.AsSlice()}
		checksumAt = 14 + 40 + 6
	} else {
		ip := &layers.IPv4{Version: 4, IHL: 5, TOS: o.ToS, Id: o.ID, TTL: 64, Flags: layers.IPv4DontFragment, SrcIP: o.Src.AsSlice(), DstIP: o.Dst.AsSlice(), Protocol: layers.IPProtocolUDP}
		if o.Options {
			ip.Options = []layers.IPv4Option{{OptionType: 7, OptionLength: 7, OptionData: make([]byte, 5)}}
			checksumAt += 8
		}
		if o.Frag {
			ip.Flags = layers.IPv4MoreFragments
		}
		network = ip
	}
	require.NoError(t, udp.SetNetworkLayerForChecksum(network.(gopacket.NetworkLayer)))
	b := serialize(t, eth, network, udp, gopacket.Payload(append(o.Tunnel[:], inner...)))
	if !o.Checksum {
		b[checksumAt], b[checksumAt+1] = 0, 0
	}
	return b
}
