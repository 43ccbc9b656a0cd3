// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
)

// Sizes of headers.
const (
	tcpSize  = 20
	icmpSize = 8
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

// Reply returns the Ethernet frame that tells the sender of frame that the port is closed. Its addresses are the
// swapped addresses of frame. An error says why frame must not be answered (RFC 1122, section 3.2.2; RFC 4443, section
// 2.4), or cannot be.
func Reply(frame []byte) ([]byte, error) {
	p, err := parse(frame)
	if err != nil {
		return nil, err
	}
	var protocol uint8
	var payload []byte
	switch {
	case p.Protocol == ippacket.TCP:
		protocol = ippacket.TCP
		payload, err = p.reset()
	case (p.Protocol == ippacket.UDP || p.Protocol == ippacket.SCTP) && len(p.Transport) < icmpSize:
		err = fmt.Errorf("packet of protocol %d has %d bytes behind the IP header: want at least %d", p.Protocol, len(p.Transport), icmpSize)
	case p.Protocol == ippacket.UDP || p.Protocol == ippacket.SCTP:
		protocol, payload = p.portUnreachable()
	default:
		err = fmt.Errorf("packet of IP protocol %d: want TCP, UDP or SCTP", p.Protocol)
	}
	if err != nil {
		return nil, err
	}
	if p.Src.Is4() {
		return p.ipv4(protocol, payload), nil
	}
	return p.ipv6(protocol, payload), nil
}

// ipv4 returns the frame of an answer. It has no fragments, so its identification has no meaning (RFC 6864).
func (p *packet) ipv4(protocol uint8, payload []byte) []byte {
	b := append(p.ethernet(), 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(ippacket.IPv4Size+len(payload)))
	b = append(b, 0, 0, 0x40, 0, hopLimit, protocol, 0, 0)
	b = append(append(b, p.Dst.AsSlice()...), p.Src.AsSlice()...)
	binary.BigEndian.PutUint16(b[ippacket.EthernetSize+10:], ^sum(0, b[ippacket.EthernetSize:]))
	return append(b, payload...)
}

func (p *packet) ipv6(protocol uint8, payload []byte) []byte {
	b := append(p.ethernet(), 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	b = append(b, protocol, hopLimit)
	b = append(append(b, p.Dst.AsSlice()...), p.Src.AsSlice()...)
	return append(b, payload...)
}

// ethernet is the header of an answer.
func (p *packet) ethernet() []byte {
	b := make([]byte, 0, ippacket.EthernetSize+ippacket.IPv6Size+maxICMPv6)
	b = append(append(b, p.Frame[6:12]...), p.Frame[0:6]...)
	return append(b, p.Frame[12:14]...)
}

// reset returns the segment that ends a connection which does not exist (RFC 9293, section 3.10.7.1).
func (p *packet) reset() ([]byte, error) {
	t := p.Transport
	if len(t) < tcpSize || int(t[12]>>4)*4 < tcpSize || int(t[12]>>4)*4 > len(t) {
		return nil, fmt.Errorf("TCP segment of %d bytes: it has no complete header", len(t))
	}
	flags := t[13]
	if flags&flagRST != 0 {
		return nil, fmt.Errorf("TCP resets are not answered")
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
	binary.BigEndian.PutUint16(b[16:], ^sum(p.pseudoHeader(ippacket.TCP, len(b)), b))
	return b, nil
}

// An ICMP error has as much of the packet as fits into 576 bytes (RFC 1812, section 4.3.2.3), an ICMPv6 error as fits into the least
// MTU, 1280 (RFC 4443, section 3.1).
const (
	maxICMPv4 = 576 - ippacket.IPv4Size
	maxICMPv6 = 1280 - ippacket.IPv6Size
)

// portUnreachable returns the message (RFC 792, type 3, code 3; RFC 4443, type 1, code 4).
func (p *packet) portUnreachable() (protocol uint8, message []byte) {
	if p.Src.Is4() {
		b := append([]byte{3, 3, 0, 0, 0, 0, 0, 0}, p.IP[:min(len(p.IP), maxICMPv4-icmpSize)]...)
		binary.BigEndian.PutUint16(b[2:], ^sum(0, b))
		return ippacket.ICMP, b
	}
	b := append([]byte{1, 4, 0, 0, 0, 0, 0, 0}, p.IP[:min(len(p.IP), maxICMPv6-icmpSize)]...)
	binary.BigEndian.PutUint16(b[2:], ^sum(p.pseudoHeader(ippacket.ICMPv6, len(b)), b))
	return ippacket.ICMPv6, b
}

// pseudoHeader is the sum of the pseudo-header of an answer (RFC 9293, section 3.1; RFC 8200, section 8.1). Addresses may be in either
// order.
func (p *packet) pseudoHeader(protocol uint8, length int) uint32 {
	return partial(partial(uint32(protocol)+uint32(length), p.Src), p.Dst)
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
