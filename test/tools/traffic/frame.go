// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// frame describes an Ethernet frame with an IPv4 or IPv6 packet, by the family of destination.
type frame struct {
	sourceMAC, destinationMAC net.HardwareAddr
	source, destination       netip.Addr
	proto                     string // tcp, udp, icmp
	sourcePort, port          uint16
	flags                     string // of TCP, a subset of tcpFlagNames
	sequence, ack             uint32
	ttl, tos                  uint8  // IPv6: hop limit, traffic class
	id                        uint16 // IPv6: flow label
	payload                   int
	option                    string // "", or a key of ipOptions or ipv6Options
	// fragment is the payload of each fragment in bytes, a multiple of 8; 0 to send one packet.
	fragment int
	// badChecksum makes the TCP, UDP or ICMP checksum wrong.
	badChecksum bool
}

// tcpFlagNames are the flags from bit 0 on.
const tcpFlagNames = "FSRPAUEC"

// ipOptions are IPv4 options by name, without padding (RFC 791, RFC 2113).
var ipOptions = map[string]layers.IPv4Option{
	"nop":          {OptionType: 1, OptionLength: 1},
	"record-route": {OptionType: 7, OptionLength: 7, OptionData: []byte{4, 0, 0, 0, 0}},
	"router-alert": {OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}},
}

// build returns the frame, or its fragments in order.
func (f *frame) build() ([][]byte, error) {
	if f.source.Is4() != f.destination.Is4() {
		return nil, fmt.Errorf("source %s and destination %s must be of one family", f.source, f.destination)
	}
	if f.fragment != 0 && (f.fragment < 8 || f.fragment%8 != 0) {
		return nil, fmt.Errorf("fragment size %d must be a multiple of 8", f.fragment)
	}
	if f.destination.Is6() {
		return f.build6()
	}
	ip := &layers.IPv4{
		Version: 4, TTL: f.ttl, TOS: f.tos, Id: f.id, SrcIP: f.source.AsSlice(), DstIP: f.destination.AsSlice(),
	}
	if f.option != "" {
		option, ok := ipOptions[f.option]
		if !ok {
			return nil, fmt.Errorf("option %q must be nop, record-route or router-alert", f.option)
		}
		ip.Options = []layers.IPv4Option{option}
	}
	transport, protocol, err := f.transport(ip)
	if err != nil {
		return nil, err
	}
	ip.Protocol = protocol
	if f.fragment == 0 {
		packet, err := f.assemble(ip, transport)
		return [][]byte{packet}, err
	}
	var frames [][]byte
	for offset := 0; offset < len(transport); offset += f.fragment {
		piece := *ip
		end := min(offset+f.fragment, len(transport))
		piece.FragOffset = uint16(offset / 8)
		if end < len(transport) {
			piece.Flags = layers.IPv4MoreFragments
		}
		packet, err := f.assemble(&piece, transport[offset:end])
		if err != nil {
			return nil, err
		}
		frames = append(frames, packet)
	}
	return frames, nil
}

// transport returns the TCP, UDP or ICMP packet with its checksum, and its protocol number. ip is the header before it.
func (f *frame) transport(ip gopacket.NetworkLayer) ([]byte, layers.IPProtocol, error) {
	var layer gopacket.SerializableLayer
	var protocol layers.IPProtocol
	checksumAt := 0
	payload := make([]byte, f.payload)
	copyContent(payload)
	switch f.proto {
	case "tcp":
		tcp := &layers.TCP{SrcPort: layers.TCPPort(f.sourcePort), DstPort: layers.TCPPort(f.port), Seq: f.sequence, Ack: f.ack, Window: 1024}
		for bit, field := range []*bool{&tcp.FIN, &tcp.SYN, &tcp.RST, &tcp.PSH, &tcp.ACK, &tcp.URG, &tcp.ECE, &tcp.CWR} {
			*field = strings.ContainsRune(f.flags, rune(tcpFlagNames[bit]))
		}
		if strings.Trim(f.flags, tcpFlagNames) != "" {
			return nil, 0, fmt.Errorf("TCP flags %q must be of %s", f.flags, tcpFlagNames)
		}
		protocol, checksumAt = layers.IPProtocolTCP, 16
		layer = tcp
		if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
			return nil, 0, err
		}
	case "udp":
		udp := &layers.UDP{SrcPort: layers.UDPPort(f.sourcePort), DstPort: layers.UDPPort(f.port)}
		protocol, checksumAt = layers.IPProtocolUDP, 6
		layer = udp
		if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
			return nil, 0, err
		}
	case "icmp":
		if ip, isIPv6 := ip.(*layers.IPv6); isIPv6 {
			protocol, checksumAt = layers.IPProtocolICMPv6, 2
			icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeEchoRequest, 0)}
			if err := icmp.SetNetworkLayerForChecksum(ip); err != nil {
				return nil, 0, err
			}
			layer = icmp
			payload = append([]byte{byte(f.sourcePort >> 8), byte(f.sourcePort), 0, 1}, payload...) // identifier, sequence number
			break
		}
		protocol, checksumAt = layers.IPProtocolICMPv4, 2
		layer = &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: f.sourcePort, Seq: 1}
	default:
		return nil, 0, fmt.Errorf("proto %q must be tcp, udp or icmp", f.proto)
	}
	buf := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, options, layer, gopacket.Payload(payload)); err != nil {
		return nil, 0, err
	}
	bytes := buf.Bytes()
	if f.badChecksum {
		bytes[checksumAt] ^= 0x55
	}
	return bytes, protocol, nil
}

func (f *frame) assemble(ip *layers.IPv4, transport []byte) ([]byte, error) {
	buf := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	ethernet := &layers.Ethernet{SrcMAC: f.sourceMAC, DstMAC: f.destinationMAC, EthernetType: layers.EthernetTypeIPv4}
	if err := gopacket.SerializeLayers(buf, options, ethernet, ip, gopacket.Payload(transport)); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
