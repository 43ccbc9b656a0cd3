// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

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

// ipv6Fragment is the number of the fragment header (RFC 8200, section 4.5).
const ipv6Fragment = 44

// hopLimit is the TTL of answers.
const hopLimit = 64

// A reason has the codes of the messages that a destination is unreachable (RFC 792, type 3; RFC 4443, type 1).
type reason struct{ icmp, icmpv6 uint8 }

var (
	portUnreachable = reason{icmp: 3, icmpv6: 4}
	prohibited      = reason{icmp: 10, icmpv6: 1}
)

// Reply returns the Ethernet frame that tells the sender of frame that the port is closed. Its addresses are the
// swapped addresses of frame. An error says why frame must not be answered (RFC 1122, section 3.2.2; RFC 4443, section
// 2.4), or cannot be.
func Reply(frame []byte) ([]byte, error) {
	p, err := parse(frame)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]uint8{ippacket.TCP, ippacket.UDP, ippacket.SCTP}, p.Protocol) {
		return nil, fmt.Errorf("packet of IP protocol %d: want TCP, UDP or SCTP", p.Protocol)
	}
	return p.answer(portUnreachable)
}

// Prohibited returns the Ethernet frame that tells the sender of frame, of any IP protocol, that a policy forbids it: a TCP reset, or the
// message that communication with the destination is administratively prohibited (RFC 1122, section 3.2.2.1: host; RFC 4443). Addresses and
// errors are as for Reply; errors of ICMP are not answered.
func Prohibited(frame []byte) ([]byte, error) {
	p, err := parse(frame)
	if err != nil {
		return nil, err
	}
	switch {
	case p.Protocol == ipv6Fragment:
		return nil, errors.New("IPv6 fragment: conntrack should have put it together")
	case p.isICMPError():
		return nil, fmt.Errorf("packet of IP protocol %d: errors of ICMP are not answered", p.Protocol)
	}
	return p.answer(prohibited)
}

// isICMPError reports whether the packet is an ICMP message that must not be answered: anything but a query or its answer, and a message that
// is too short to tell.
func (p *packet) isICMPError() bool {
	switch p.Protocol {
	case ippacket.ICMP:
		const destinationUnreachable, sourceQuench, redirect, timeExceeded, parameterProblem = 3, 4, 5, 11, 12
		return len(p.Transport) < icmpSize || slices.Contains([]byte{destinationUnreachable, sourceQuench, redirect, timeExceeded, parameterProblem}, p.Transport[0])
	case ippacket.ICMPv6:
		const firstInformational, redirect = 128, 137
		return len(p.Transport) < icmpSize || p.Transport[0] < firstInformational || p.Transport[0] == redirect
	}
	return false
}

// answer returns the frame of a TCP reset or of an ICMP message with the reason.
func (p *packet) answer(r reason) ([]byte, error) {
	protocol, payload, err := uint8(ippacket.TCP), []byte(nil), error(nil)
	switch {
	case p.Protocol == ippacket.TCP:
		payload, err = p.reset()
	case len(p.Transport) < icmpSize:
		err = fmt.Errorf("packet of protocol %d has %d bytes behind the IP header: want at least %d", p.Protocol, len(p.Transport), icmpSize)
	default:
		protocol, payload = p.unreachable(r)
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

// unreachable returns the message that the destination is unreachable for the reason.
func (p *packet) unreachable(r reason) (protocol uint8, message []byte) {
	if p.Src.Is4() {
		b := append([]byte{3, r.icmp, 0, 0, 0, 0, 0, 0}, p.IP[:min(len(p.IP), maxICMPv4-icmpSize)]...)
		binary.BigEndian.PutUint16(b[2:], ^sum(0, b))
		return ippacket.ICMP, b
	}
	b := append([]byte{1, r.icmpv6, 0, 0, 0, 0, 0, 0}, p.IP[:min(len(p.IP), maxICMPv6-icmpSize)]...)
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
