// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// FromPod returns a packet from the local Pod with the world's IP version, ToPod one to it.
func (w *World) FromPod() Packet {
	p := FromPod()
	if w.Family.Inner6 {
		p.Src, p.Dst = PodIP6, PeerPodIP6
	}
	return p
}

// ToPod: see FromPod.
func (w *World) ToPod() Packet {
	p := ToPod()
	if w.Family.Inner6 {
		p.Src, p.Dst = PeerPodIP6, PodIP6
	}
	return p
}

// Packet describes a TCP or UDP packet, with defaults for the flow between the two Pods.
type Packet struct {
	SrcMAC, DstMAC   net.HardwareAddr
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	UDP              bool
	Flags            string // of S, F, R, P
	TTL, ToS         uint8
	ID               uint16
	Frag             uint16
	MF               bool
	Options          bool
	Protocol         layers.IPProtocol // other than TCP, UDP
	Payload          int
	VLAN             bool
	Seq, Ack         uint32
	ClosedWindow     bool // the window is 0 instead of 500
	CorruptIPLength  int
	CorruptUDPLength int
	FlowLabel        uint32
	Extended         bool
	Extension        layers.IPProtocol // IPv6 extension header, followed by the rest, when extended
}

// FromPod returns an IPv4 packet as the local Pod sends it.
func FromPod() Packet {
	return Packet{SrcMAC: PodMAC, DstMAC: GatewayMAC, Src: PodIP, Dst: PeerPodIP, SrcPort: 40000, DstPort: 80, TTL: 64, Payload: 100, ID: 4711, Seq: 1000, Flags: "P"}
}

// ToPod returns an IPv4 packet from the remote Pod as it is in the tunnel.
func ToPod() Packet {
	return Packet{SrcMAC: PeerGatewayMAC, DstMAC: VirtualMAC, Src: PeerPodIP, Dst: PodIP, SrcPort: 80, DstPort: 40000, TTL: 63, Payload: 200, ID: 815, Seq: 5000, Flags: "P"}
}

// BehindOVS returns the packet as Open vSwitch passes it on: TTL decremented, other MACs.
func (p Packet) BehindOVS(src, dst net.HardwareAddr) Packet {
	p.TTL--
	p.SrcMAC, p.DstMAC = src, dst
	return p
}

// Bytes returns the frame. Lengths and checksums are right unless a Corrupt field changes them.
func (p Packet) Bytes(t testing.TB) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: p.SrcMAC, DstMAC: p.DstMAC, EthernetType: layers.EthernetTypeIPv4}
	if p.Src.Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
	}
	stack := []gopacket.SerializableLayer{eth}
	if p.VLAN {
		stack = append(stack, &layers.Dot1Q{VLANIdentifier: 5, Type: eth.EthernetType})
		eth.EthernetType = layers.EthernetTypeDot1Q
	}
	proto := layers.IPProtocolTCP
	switch {
	case p.Protocol != 0:
		proto = p.Protocol
	case p.UDP:
		proto = layers.IPProtocolUDP
	}
	network := p.network(proto)
	stack = append(stack, network)
	if p.Extended {
		stack = append(stack, gopacket.Payload(append([]byte{byte(proto), 0}, make([]byte, 6)...)))
	}
	switch proto {
	case layers.IPProtocolUDP:
		udp := &layers.UDP{SrcPort: layers.UDPPort(p.SrcPort), DstPort: layers.UDPPort(p.DstPort)}
		require.NoError(t, udp.SetNetworkLayerForChecksum(network.(gopacket.NetworkLayer)))
		stack = append(stack, udp)
	case layers.IPProtocolTCP:
		tcp := &layers.TCP{SrcPort: layers.TCPPort(p.SrcPort), DstPort: layers.TCPPort(p.DstPort), Seq: p.Seq, Ack: p.Ack, ACK: !strings.Contains(p.Flags, "-"), Window: 500,
			SYN: strings.Contains(p.Flags, "S"), FIN: strings.Contains(p.Flags, "F"), RST: strings.Contains(p.Flags, "R"), PSH: strings.Contains(p.Flags, "P")}
		if p.ClosedWindow {
			tcp.Window = 0
		}
		require.NoError(t, tcp.SetNetworkLayerForChecksum(network.(gopacket.NetworkLayer)))
		stack = append(stack, tcp)
	}
	payload := make(gopacket.Payload, p.Payload)
	for i := range payload {
		payload[i] = byte(i)
	}
	b := serialize(t, append(stack, payload)...)
	ipAt := 14
	if p.VLAN {
		ipAt = 18
	}
	// gopacket pads short frames to 60 bytes, veth devices do not.
	if p.Src.Is4() {
		b = b[:ipAt+int(binary.BigEndian.Uint16(b[ipAt+2:]))]
	}
	if p.CorruptIPLength != 0 {
		binary.BigEndian.PutUint16(b[ipAt+2:], uint16(int(binary.BigEndian.Uint16(b[ipAt+2:]))+p.CorruptIPLength))
	}
	if p.CorruptUDPLength != 0 {
		binary.BigEndian.PutUint16(b[ipAt+24:], uint16(int(binary.BigEndian.Uint16(b[ipAt+24:]))+p.CorruptUDPLength))
	}
	return b
}

// network is the IP header.
func (p Packet) network(proto layers.IPProtocol) gopacket.SerializableLayer {
	if p.Src.Is6() {
		ip := &layers.IPv6{Version: 6, TrafficClass: p.ToS, FlowLabel: p.FlowLabel, HopLimit: p.TTL, NextHeader: proto,
			SrcIP: p.Src.AsSlice(), DstIP: p.Dst.AsSlice()}
		if p.Extended {
			ip.NextHeader = p.Extension
		}
		return ip
	}
	ip := &layers.IPv4{Version: 4, IHL: 5, TOS: p.ToS, Id: p.ID, TTL: p.TTL, FragOffset: p.Frag, SrcIP: p.Src.AsSlice(), DstIP: p.Dst.AsSlice(), Protocol: proto, Flags: layers.IPv4DontFragment}
	if p.MF || p.Frag > 0 {
		ip.Flags = 0
	}
	if p.MF {
		ip.Flags = layers.IPv4MoreFragments
	}
	if p.Options {
		ip.Options = []layers.IPv4Option{{OptionType: 7, OptionLength: 7, OptionData: make([]byte, 5)}}
	}
	return ip
}

func serialize(t testing.TB, stack ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...))
	return buf.Bytes()
}
