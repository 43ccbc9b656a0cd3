// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Lengths of headers without options, in bytes.
const (
	ethernetLength = 14
	ipv4Length     = 20
	ipv6Length     = 40
	tcpLength      = 20
	udpLength      = 8
)

// TCP flags.
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

// Checksum is the kind of value in the TCP or UDP checksum field.
type Checksum uint8

// The checksums that a sender can write.
const (
	Right Checksum = iota
	Wrong
	// None is zero: for UDP over IPv4, no checksum.
	None
	// Partial is the sum of the pseudo header, to be completed by a device (CHECKSUM_PARTIAL).
	Partial
)

// Packet describes an Ethernet frame with a TCP or UDP packet over IPv4 or IPv6.
type Packet struct {
	SourceMAC, DestinationMAC net.HardwareAddr
	Source, Destination       netip.Addr
	// Protocol is the IP protocol; if it is neither TCP nor UDP, Payload follows the IP header.
	Protocol                    uint8
	SourcePort, DestinationPort uint16
	// ID is the IPv4 identification (16 bits) or IPv6 flow label (20 bits).
	ID       uint32
	TOS, TTL uint8
	// Fragment is the field of IPv4 with flags and offset, host byte order.
	Fragment uint16
	// Options are IPv4 options or IPv6 extension headers as they are in the packet; NextHeader is the number of the first IPv6 one.
	Options    []byte
	NextHeader uint8

	Flags         uint8
	Sequence, Ack uint32
	// Window is TCP's; nil for 1024.
	Window *uint16
	// TCPOptions are padded by the caller to a multiple of 4.
	TCPOptions []byte
	Payload    []byte
	Checksum   Checksum
	// IPChecksumWrong makes the checksum of the IPv4 header wrong; LengthError and UDPLengthError are added to the lengths in the
	// headers.
	IPChecksumWrong             bool
	LengthError, UDPLengthError int
	// HeaderWords is TCP's data offset, 0 for the right one.
	HeaderWords int
	// Padding is the number of bytes after the IP packet.
	Padding int

	// raw, if set, is everything after the IP header.
	raw []byte
}

// Bytes returns the frame.
func (p *Packet) Bytes() []byte {
	frame := append(append([]byte(nil), p.DestinationMAC...), p.SourceMAC...)
	transport := p.transport()
	if p.Source.Is6() {
		frame = p.ipv6(append(frame, 0x86, 0xdd), len(transport))
	} else {
		frame = p.ipv4(append(frame, 0x08, 0x00), len(transport))
	}
	return append(append(frame, transport...), make([]byte, p.Padding)...)
}

// IPLength returns the length of the IP header with its options.
func (p *Packet) IPLength() int {
	if p.Source.Is6() {
		return ipv6Length + len(p.Options)
	}
	return ipv4Length + len(p.Options)
}

func (p *Packet) ipv4(frame []byte, transport int) []byte {
	length := p.IPLength()
	h := make([]byte, length)
	h[0], h[1], h[8], h[9] = 0x40|byte(length/4), p.TOS, p.TTL, p.Protocol
	binary.BigEndian.PutUint16(h[2:], uint16(length+transport+p.LengthError))
	binary.BigEndian.PutUint16(h[4:], uint16(p.ID))
	binary.BigEndian.PutUint16(h[6:], p.Fragment)
	copy(h[12:], p.Source.AsSlice())
	copy(h[16:], p.Destination.AsSlice())
	copy(h[ipv4Length:], p.Options)
	binary.BigEndian.PutUint16(h[10:], ^fold(sum(h)))
	if p.IPChecksumWrong {
		h[10] ^= 0x55
	}
	return append(frame, h...)
}

func (p *Packet) ipv6(frame []byte, transport int) []byte {
	h := make([]byte, ipv6Length)
	binary.BigEndian.PutUint32(h, 6<<28|uint32(p.TOS)<<20|p.ID&0xfffff)
	binary.BigEndian.PutUint16(h[4:], uint16(len(p.Options)+transport+p.LengthError))
	h[6], h[7] = p.Protocol, p.TTL
	if len(p.Options) > 0 {
		h[6] = p.NextHeader
	}
	copy(h[8:], p.Source.AsSlice())
	copy(h[24:], p.Destination.AsSlice())
	return append(append(frame, h...), p.Options...)
}

func (p *Packet) transport() []byte {
	if p.raw != nil {
		return p.raw
	}
	var h []byte
	checksumAt := p.checksumOffset()
	switch p.Protocol {
	case unix.IPPROTO_TCP:
		h = make([]byte, tcpLength)
		binary.BigEndian.PutUint32(h[4:], p.Sequence)
		binary.BigEndian.PutUint32(h[8:], p.Ack)
		words := (tcpLength + len(p.TCPOptions)) / 4
		if p.HeaderWords != 0 {
			words = p.HeaderWords
		}
		h[12], h[13] = byte(words)<<4, p.Flags
		window := uint16(1024)
		if p.Window != nil {
			window = *p.Window
		}
		binary.BigEndian.PutUint16(h[14:], window)
		h = append(h, p.TCPOptions...)
	case unix.IPPROTO_UDP:
		h = make([]byte, udpLength)
		binary.BigEndian.PutUint16(h[4:], uint16(udpLength+len(p.Payload)+p.UDPLengthError))
	default:
		return p.Payload
	}
	binary.BigEndian.PutUint16(h, p.SourcePort)
	binary.BigEndian.PutUint16(h[2:], p.DestinationPort)
	all := append(h, p.Payload...)
	pseudo := sum(p.Source.AsSlice()) + sum(p.Destination.AsSlice()) + uint32(p.Protocol) + uint32(len(all))
	value := uint16(0)
	switch p.Checksum {
	case Partial:
		value = fold(pseudo)
	case Right, Wrong:
		if value = ^fold(pseudo + sum(all)); value == 0 && p.Protocol == unix.IPPROTO_UDP {
			value = 0xffff
		}
		if p.Checksum == Wrong {
			value ^= 0x5a5a
		}
	}
	binary.BigEndian.PutUint16(all[checksumAt:], value)
	return all
}

// checksumOffset is the offset of the checksum in the TCP or UDP header.
func (p *Packet) checksumOffset() int {
	if p.Protocol == unix.IPPROTO_TCP {
		return 16
	}
	return 6
}

// sum is a one's complement sum (RFC 1071) of at most 64 KiB, not folded.
func sum(b []byte) (s uint32) {
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
