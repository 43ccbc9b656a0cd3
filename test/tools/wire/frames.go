// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire makes the packets that test whether a connection is possible, as whole frames. Each carries a number by which the test
// recognizes it where it arrives.
package wire

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// Step is the distance between the numbers of two connections: the packets of a connection have its number and the following ones. TCP
// carries the number as sequence number, UDP as payload, SCTP as initiate tag of its chunk, ARP after the message.
const Step = 64

// Connection returns the number of the connection to which the packet with this number belongs.
func Connection(number uint32) uint32 { return number - number%Step }

const (
	ethernetLength = 14
	arpLength      = 28
	etherTypeARP   = 0x0806
)

// Leg is a section of a packet's path: from one address to another, between two MAC addresses.
type Leg struct {
	SourceMAC, DestinationMAC net.HardwareAddr
	Source, Destination       netip.AddrPort
}

// Opening returns the first packet of the connection with this number, which has this number. The protocol is TCP's, UDP's, SCTP's, or ICMP's
// or ICMPv6's for an echo request.
func Opening(l Leg, protocol uint8, id uint32) []byte {
	p := packet(l, protocol)
	switch protocol {
	case unix.IPPROTO_TCP:
		p.Flags, p.Sequence = equality.SYN, id
	case unix.IPPROTO_UDP:
		p.Payload = binary.BigEndian.AppendUint32(nil, id)
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		p.Payload = echo(l, protocol, EchoRequest(protocol == unix.IPPROTO_ICMPV6), id)
	default:
		const chunkInit = 1
		p.Payload = sctp(l, 0, chunkInit, id)
	}
	return p.Bytes()
}

// Answer returns the second packet of the connection with this number, which has the same number.
func Answer(l Leg, protocol uint8, id uint32) []byte {
	p := packet(l, protocol)
	switch protocol {
	case unix.IPPROTO_TCP:
		p.Flags, p.Sequence, p.Ack = equality.SYN|equality.ACK, id, id+1
	case unix.IPPROTO_UDP:
		p.Payload = binary.BigEndian.AppendUint32(nil, id)
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		reply := byte(icmpEchoReply)
		if protocol == unix.IPPROTO_ICMPV6 {
			reply = icmp6EchoReply
		}
		p.Payload = echo(l, protocol, reply, id)
	default:
		const chunkInitAck = 2
		p.Payload = sctp(l, id, chunkInitAck, id)
	}
	return p.Bytes()
}

// Data returns a packet with data in an open connection of TCP or UDP: the nth (0 to Step-3), with the number id+1+n. The ends take turns;
// the client begins.
func Data(l Leg, protocol uint8, id uint32, n int, fromServer bool) []byte {
	p := packet(l, protocol)
	number := id + 1 + uint32(n)
	if protocol == unix.IPPROTO_UDP {
		p.Payload = binary.BigEndian.AppendUint32(nil, number)
		return p.Bytes()
	}
	p.Flags, p.Sequence, p.Ack, p.Payload = equality.ACK|equality.PSH, number, number, []byte{0}
	if fromServer {
		p.Ack++
	}
	return p.Bytes()
}

// Datagram returns a packet of UDP with this payload, the first four bytes of which are its number.
func Datagram(l Leg, payload []byte) []byte {
	p := packet(l, unix.IPPROTO_UDP)
	p.Payload = payload
	return p.Bytes()
}

func packet(l Leg, protocol uint8) equality.Packet {
	return equality.Packet{
		SourceMAC: l.SourceMAC, DestinationMAC: l.DestinationMAC, Source: l.Source.Addr(), Destination: l.Destination.Addr(),
		SourcePort: l.Source.Port(), DestinationPort: l.Destination.Port(), Protocol: protocol, TTL: 64,
		Fragment: 0x4000, // do not fragment, as sockets of Linux ask: the cache rewrites no others
	}
}

// sctp is a packet with an INIT or INIT ACK chunk (RFC 9260, 3.3.2).
func sctp(l Leg, verificationTag uint32, chunk uint8, initiateTag uint32) []byte {
	const chunkLength, window, streams = 20, 1 << 16, 1
	b := binary.BigEndian.AppendUint16(nil, l.Source.Port())
	b = binary.BigEndian.AppendUint16(b, l.Destination.Port())
	b = binary.BigEndian.AppendUint32(b, verificationTag)
	b = append(b, 0, 0, 0, 0, chunk, 0, 0, chunkLength)
	b = binary.BigEndian.AppendUint32(b, initiateTag)
	b = binary.BigEndian.AppendUint32(b, window)
	b = append(b, 0, streams, 0, streams, 0, 0, 0, 1)
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// The types of echo messages (RFC 792, RFC 4443).
const (
	icmpEchoReply, icmpEchoRequest   = 0, 8
	icmp6EchoRequest, icmp6EchoReply = 128, 129
)

// EchoRequest returns the type of an echo request in ICMP or ICMPv6.
func EchoRequest(six bool) uint8 {
	if six {
		return icmp6EchoRequest
	}
	return icmpEchoRequest
}

// echo is an echo message. Its identifier is the number of the connection, which is also its data.
func echo(l Leg, protocol, kind uint8, id uint32) []byte {
	b := []byte{kind, 0, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(id/Step))
	b = append(b, 0, 1)
	b = binary.BigEndian.AppendUint32(b, id)
	sum := uint32(0)
	add := func(data []byte) {
		for i := 0; i < len(data); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(data[i:]))
		}
	}
	add(b)
	if protocol == unix.IPPROTO_ICMPV6 { // with the pseudo header of RFC 8200, 8.1
		ends := append(l.Source.Addr().AsSlice(), l.Destination.Addr().AsSlice()...)
		add(append(ends, 0, byte(len(b)), 0, protocol))
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(b[2:], ^uint16(sum))
	return b
}

// ARP returns an ARP request with a number after it.
func ARP(sourceMAC, destinationMAC net.HardwareAddr, source, asked netip.Addr, id uint32) []byte {
	b := append(append([]byte(nil), destinationMAC...), sourceMAC...)
	b = append(b, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1) // Ethernet, IPv4, request
	b = append(append(b, sourceMAC...), source.AsSlice()...)
	b = append(append(b, 0, 0, 0, 0, 0, 0), asked.AsSlice()...)
	return binary.BigEndian.AppendUint32(b, id)
}

// Number returns the number that a frame carries.
func Number(frame []byte) (uint32, error) {
	if len(frame) >= ethernetLength+arpLength+4 && binary.BigEndian.Uint16(frame[12:]) == etherTypeARP {
		return binary.BigEndian.Uint32(frame[ethernetLength+arpLength:]), nil
	}
	h, err := Read(frame)
	return h.Number, err
}
