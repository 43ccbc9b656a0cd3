// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

var (
	podMAC, gatewayMAC = net.HardwareAddr{0x0a, 0, 0, 0, 0, 0x11}, net.HardwareAddr{0x0a, 0, 0, 0, 0, 1}

	client4, service4 = netip.MustParseAddr("10.10.0.11"), netip.MustParseAddr("10.96.0.10")
	client6, service6 = netip.MustParseAddr("fd00:10:0:a::11"), netip.MustParseAddr("fd00:96::10")
)

const clientPort, servicePort = 33333, 80

// frame returns what a client sends to a Service: Ethernet, IP and the layers.
func frame(t testing.TB, client, service netip.Addr, protocol layers.IPProtocol, transport ...gopacket.SerializableLayer) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: podMAC, DstMAC: gatewayMAC, EthernetType: layers.EthernetTypeIPv4}
	var network gopacket.NetworkLayer = &layers.IPv4{Version: 4, TTL: 63, Id: 0x1234, Protocol: protocol, SrcIP: client.AsSlice(), DstIP: service.AsSlice()}
	if client.Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
		network = &layers.IPv6{Version: 6, HopLimit: 63, FlowLabel: 0xabcde, NextHeader: protocol, SrcIP: client.AsSlice(), DstIP: service.AsSlice()}
	}
	for _, l := range transport {
		if l, ok := l.(interface {
			SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
		}); ok {
			require.NoError(t, l.SetNetworkLayerForChecksum(network))
		}
	}
	b := gopacket.NewSerializeBuffer()
	all := append([]gopacket.SerializableLayer{eth, network.(gopacket.SerializableLayer)}, transport...)
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...))
	return b.Bytes()
}

// segment is a TCP segment with some bytes of data.
func segment(t testing.TB, client, service netip.Addr, edit func(*layers.TCP), data int) []byte {
	tcp := &layers.TCP{SrcPort: clientPort, DstPort: servicePort, Seq: 1000, Window: 65000}
	edit(tcp)
	return frame(t, client, service, layers.IPProtocolTCP, tcp, gopacket.Payload(make([]byte, data)))
}

func datagram(t testing.TB, client, service netip.Addr, data int) []byte {
	return frame(t, client, service, layers.IPProtocolUDP, &layers.UDP{SrcPort: clientPort, DstPort: servicePort}, gopacket.Payload(make([]byte, data)))
}

// answer is a reply, decoded. Its checksums are right.
type answer struct {
	*layers.TCP
	*layers.ICMPv4
	*layers.ICMPv6
	quoted []byte
}

// decode checks all that answers have in common, and decodes the rest. It computes the checksums in its own way.
func decode(t testing.TB, reply []byte, client, service netip.Addr) (a answer) {
	t.Helper()
	packet := gopacket.NewPacket(reply, layers.LayerTypeEthernet, gopacket.Default)
	eth := packet.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	require.Equal(t, []net.HardwareAddr{gatewayMAC, podMAC}, []net.HardwareAddr{eth.SrcMAC, eth.DstMAC})
	flow := packet.NetworkLayer().NetworkFlow()
	require.Equal(t, [][]byte{service.AsSlice(), client.AsSlice()}, [][]byte{flow.Src().Raw(), flow.Dst().Raw()})
	pseudo := append(service.AsSlice(), client.AsSlice()...)
	var protocol layers.IPProtocol
	transport := packet.NetworkLayer().LayerPayload()
	switch ip := packet.NetworkLayer().(type) {
	case *layers.IPv4:
		protocol = ip.Protocol
		require.Equal(t, []any{uint8(64), layers.IPv4DontFragment, int(ip.Length)}, []any{ip.TTL, ip.Flags, len(eth.Payload)})
		require.Equal(t, uint16(0xffff), onesComplement(eth.Payload[:20]))
	case *layers.IPv6:
		protocol = ip.NextHeader
		require.Equal(t, []any{uint8(64), int(ip.Length)}, []any{ip.HopLimit, len(transport)})
	}
	pseudo = append(pseudo, 0, byte(protocol), byte(len(transport)>>8), byte(len(transport)))
	if protocol == layers.IPProtocolICMPv4 {
		pseudo = nil
	}
	require.Equal(t, uint16(0xffff), onesComplement(append(pseudo, transport...)), "checksum of protocol %d", protocol)
	switch protocol {
	case layers.IPProtocolTCP:
		a.TCP = packet.Layer(layers.LayerTypeTCP).(*layers.TCP)
		require.Equal(t, []any{layers.TCPPort(servicePort), layers.TCPPort(clientPort)}, []any{a.TCP.SrcPort, a.TCP.DstPort})
		require.Len(t, transport, 20)
	case layers.IPProtocolICMPv4:
		a.ICMPv4 = packet.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		a.quoted = transport[8:]
	case layers.IPProtocolICMPv6:
		a.ICMPv6 = packet.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
		a.quoted = transport[8:]
	}
	return a
}

// onesComplement is the sum of RFC 1071, in 64 bits.
func onesComplement(b []byte) uint16 {
	var total uint64
	for i, v := range b {
		total += uint64(v) << (8 * (1 - i%2))
	}
	return uint16((total-1)%0xffff + 1)
}
