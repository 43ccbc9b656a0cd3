// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/equality"
	"github.com/antrea-oncache/antrea/test/policy"
)

// Every frame carries a number by which it is recognised where it arrives: TCP as its sequence number, UDP as its payload,
// SCTP as the initiate tag of its chunk, ARP behind the message.

const (
	ethernetLength = 14
	arpLength      = 28
	etherTypeIPv4  = 0x0800
	etherTypeARP   = 0x0806
	etherTypeIPv6  = 0x86dd
)

// leg is where a packet is on its way: from one address to another, between two MAC addresses.
type leg struct {
	sourceMAC, destinationMAC net.HardwareAddr
	source, destination       netip.AddrPort
}

// openingFrame is the first packet of a connection, with a number.
func openingFrame(l leg, protocol uint8, id uint32) []byte {
	p := packet(l, protocol)
	switch protocol {
	case unix.IPPROTO_TCP:
		p.Flags, p.Sequence = equality.SYN, id
	case unix.IPPROTO_UDP:
		p.Payload = binary.BigEndian.AppendUint32(nil, id)
	default:
		const chunkInit = 1
		p.Payload = sctp(l, 0, chunkInit, id)
	}
	return p.Bytes()
}

// answerFrame is the second packet of a connection, which answers the first one with this number and carries the same.
func answerFrame(l leg, protocol uint8, id uint32) []byte {
	p := packet(l, protocol)
	switch protocol {
	case unix.IPPROTO_TCP:
		p.Flags, p.Sequence, p.Ack = equality.SYN|equality.ACK, id, id+1
	case unix.IPPROTO_UDP:
		p.Payload = binary.BigEndian.AppendUint32(nil, id)
	default:
		const chunkInitAck = 2
		p.Payload = sctp(l, id, chunkInitAck, id)
	}
	return p.Bytes()
}

func packet(l leg, protocol uint8) equality.Packet {
	return equality.Packet{
		SourceMAC: l.sourceMAC, DestinationMAC: l.destinationMAC, Source: l.source.Addr(), Destination: l.destination.Addr(),
		SourcePort: l.source.Port(), DestinationPort: l.destination.Port(), Protocol: protocol, TTL: 64,
	}
}

// sctp is a packet with an INIT or INIT ACK chunk (RFC 9260, 3.3.2).
func sctp(l leg, verificationTag uint32, chunk uint8, initiateTag uint32) []byte {
	const chunkLength, window, streams = 20, 1 << 16, 1
	b := binary.BigEndian.AppendUint16(nil, l.source.Port())
	b = binary.BigEndian.AppendUint16(b, l.destination.Port())
	b = binary.BigEndian.AppendUint32(b, verificationTag)
	b = append(b, 0, 0, 0, 0, chunk, 0, 0, chunkLength)
	b = binary.BigEndian.AppendUint32(b, initiateTag)
	b = binary.BigEndian.AppendUint32(b, window)
	b = append(b, 0, streams, 0, streams, 0, 0, 0, 1)
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// arpFrame is an ARP request with a number behind it.
func arpFrame(sourceMAC, destinationMAC net.HardwareAddr, source, asked netip.Addr, id uint32) []byte {
	b := append(append([]byte(nil), destinationMAC...), sourceMAC...)
	b = append(b, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1) // Ethernet, IPv4, request
	b = append(append(b, sourceMAC...), source.AsSlice()...)
	b = append(append(b, 0, 0, 0, 0, 0, 0), asked.AsSlice()...)
	return binary.BigEndian.AppendUint32(b, id)
}

// numberOf is the number that a frame carries.
func numberOf(frame []byte) (uint32, error) {
	at := -1
	if len(frame) > ethernetLength {
		ip := frame[ethernetLength:]
		switch etherType := binary.BigEndian.Uint16(frame[12:]); {
		case etherType == etherTypeARP:
			at = ethernetLength + arpLength
		case etherType == etherTypeIPv4 && len(ip) >= 20:
			at = numberAt(ip[9], ethernetLength+int(ip[0]&0xf)*4)
		case etherType == etherTypeIPv6 && len(ip) >= 40:
			at = numberAt(ip[6], ethernetLength+40)
		}
	}
	if at < 0 || len(frame) < at+4 {
		return 0, fmt.Errorf("the frame %x has no number: nobody has sent it", frame)
	}
	return binary.BigEndian.Uint32(frame[at:]), nil
}

func numberAt(protocol uint8, transport int) int {
	switch protocol {
	case unix.IPPROTO_TCP:
		return transport + 4
	case unix.IPPROTO_UDP:
		return transport + 8
	case unix.IPPROTO_SCTP:
		return transport + 16
	}
	return -1
}

// ends are the addresses of a probe's connection as its client sees it.
func ends(p *policy.Probe, sourcePort uint16) (source, destination netip.AddrPort) {
	from, to := p.Addresses()
	return netip.AddrPortFrom(from, sourcePort), netip.AddrPortFrom(to, p.Port)
}
