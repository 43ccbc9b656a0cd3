// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Sizes of headers.
const (
	ethernetSize = 14
	ipv4Size     = 20
	ipv6Size     = 40
	tcpSize      = 20
	icmpSize     = 8
)

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd

	protocolICMP   = 1
	protocolTCP    = 6
	protocolUDP    = 17
	protocolICMPv6 = 58
	protocolSCTP   = 132
)

// Flags of TCP (RFC 9293, section 3.1).
const (
	flagFIN = 1 << 0
	flagSYN = 1 << 1
	flagRST = 1 << 2
	flagACK = 1 << 4
)

// hopLimit is the TTL of answers.
const hopLimit = 64

// Reply returns the Ethernet frame that tells the sender of frame that the port is closed. Its addresses are those of frame, swapped.
// An error says why nobody may answer frame (RFC 1122, section 3.2.2; RFC 4443, section 2.4), or nobody can.
func Reply(frame []byte) ([]byte, error) {
	p, err := parse(frame)
	if err != nil {
		return nil, err
	}
	var protocol uint8
	var payload []byte
	switch {
	case p.protocol == protocolTCP:
		protocol = protocolTCP
		payload, err = p.reset()
	case (p.protocol == protocolUDP || p.protocol == protocolSCTP) && len(p.transport) < icmpSize:
		err = fmt.Errorf("packet of protocol %d has %d bytes behind the IP header: want at least %d", p.protocol, len(p.transport), icmpSize)
	case p.protocol == protocolUDP || p.protocol == protocolSCTP:
		protocol, payload = p.portUnreachable()
	default:
		err = fmt.Errorf("packet of IP protocol %d: want TCP, UDP or SCTP", p.protocol)
	}
	if err != nil {
		return nil, err
	}
	if p.src.Is4() {
		return p.ipv4(protocol, payload), nil
	}
	return p.ipv6(protocol, payload), nil
}

// ipv4 returns the frame of an answer. It has no fragments, so its identification has no meaning (RFC 6864).
func (p *packet) ipv4(protocol uint8, payload []byte) []byte {
	b := append(p.ethernet(), 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(ipv4Size+len(payload)))
	b = append(b, 0, 0, 0x40, 0, hopLimit, protocol, 0, 0)
	b = append(append(b, p.dst.AsSlice()...), p.src.AsSlice()...)
	binary.BigEndian.PutUint16(b[ethernetSize+10:], ^sum(0, b[ethernetSize:]))
	return append(b, payload...)
}

func (p *packet) ipv6(protocol uint8, payload []byte) []byte {
	b := append(p.ethernet(), 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	b = append(b, protocol, hopLimit)
	b = append(append(b, p.dst.AsSlice()...), p.src.AsSlice()...)
	return append(b, payload...)
}

// ethernet is the header of an answer.
func (p *packet) ethernet() []byte {
	b := make([]byte, 0, ethernetSize+ipv6Size+maxICMPv6)
	b = append(append(b, p.frame[6:12]...), p.frame[0:6]...)
	return append(b, p.frame[12:14]...)
}

// reset returns the segment that ends a connection which does not exist (RFC 9293, section 3.10.7.1).
func (p *packet) reset() ([]byte, error) {
	t := p.transport
	if len(t) < tcpSize || int(t[12]>>4)*4 < tcpSize || int(t[12]>>4)*4 > len(t) {
		return nil, fmt.Errorf("TCP segment of %d bytes: it has no complete header", len(t))
	}
	flags := t[13]
	if flags&flagRST != 0 {
		return nil, fmt.Errorf("TCP reset: nobody answers these")
	}
	b := append([]byte{}, t[2], t[3], t[0], t[1])
	if flags&flagACK != 0 {
		b = append(append(b, t[8:12]...), 0, 0, 0, 0)
		b = append(b, tcpSize/4<<4, flagRST)
	} else {
		length := uint32(len(t) - int(t[12]>>4)*4)
		if flags&flagSYN != 0 {
			length++
		}
		if flags&flagFIN != 0 {
			length++
		}
		b = append(b, 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint32(b, binary.BigEndian.Uint32(t[4:])+length)
		b = append(b, tcpSize/4<<4, flagRST|flagACK)
	}
	b = append(b, 0, 0, 0, 0, 0, 0)
	binary.BigEndian.PutUint16(b[16:], ^sum(p.pseudoHeader(protocolTCP, len(b)), b))
	return b, nil
}

// An ICMP error has as much of the packet as fits into 576 bytes (RFC 1812, section 4.3.2.3), an ICMPv6 error as fits into the least
// MTU, 1280 (RFC 4443, section 3.1).
const (
	maxICMPv4 = 576 - ipv4Size
	maxICMPv6 = 1280 - ipv6Size
)

// portUnreachable returns the message (RFC 792, type 3, code 3; RFC 4443, type 1, code 4).
func (p *packet) portUnreachable() (protocol uint8, message []byte) {
	if p.src.Is4() {
		b := append([]byte{3, 3, 0, 0, 0, 0, 0, 0}, p.ip[:min(len(p.ip), maxICMPv4-icmpSize)]...)
		binary.BigEndian.PutUint16(b[2:], ^sum(0, b))
		return protocolICMP, b
	}
	b := append([]byte{1, 4, 0, 0, 0, 0, 0, 0}, p.ip[:min(len(p.ip), maxICMPv6-icmpSize)]...)
	binary.BigEndian.PutUint16(b[2:], ^sum(p.pseudoHeader(protocolICMPv6, len(b)), b))
	return protocolICMPv6, b
}

// pseudoHeader is the sum of the pseudo-header of an answer (RFC 9293, section 3.1; RFC 8200, section 8.1). Addresses may be in either
// order.
func (p *packet) pseudoHeader(protocol uint8, length int) uint32 {
	return partial(partial(uint32(protocol)+uint32(length), p.src), p.dst)
}

func partial(total uint32, addr netip.Addr) uint32 { return add(total, addr.AsSlice()) }

// add adds the 16-bit words of b, the last one padded with 0. It cannot overflow with 64 KiB.
func add(total uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		total += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		total += uint32(b[0]) << 8
	}
	return total
}

// sum is the sum of b in ones' complement, on top of total (RFC 1071).
func sum(total uint32, b []byte) uint16 {
	total = add(total, b)
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return uint16(total)
}
