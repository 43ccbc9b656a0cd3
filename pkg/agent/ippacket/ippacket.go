// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ippacket finds the parts of an IP packet in an Ethernet frame, and builds frames.
package ippacket

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Sizes of headers, without options.
const (
	EthernetSize = 14
	IPv4Size     = 20
	IPv6Size     = 40
)

// IP protocol numbers (IANA "Assigned Internet Protocol Numbers").
const (
	ICMP   = 1
	TCP    = 6
	UDP    = 17
	ICMPv6 = 58
	SCTP   = 132
)

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
)

// Packet is an IP packet that is no fragment. Its slices are parts of the frame.
type Packet struct {
	Frame    []byte
	Src, Dst netip.Addr
	Protocol uint8
	// IP begins with the IP header, Transport behind it and extension headers. Both end with the IP packet, not with the frame.
	IP, Transport []byte
}

// Parse returns the packet in a frame, or why there is none.
func Parse(frame []byte) (*Packet, error) {
	if len(frame) < EthernetSize {
		return nil, fmt.Errorf("frame of %d bytes: it has no Ethernet header", len(frame))
	}
	p := &Packet{Frame: frame, IP: frame[EthernetSize:]}
	var err error
	switch etherType := binary.BigEndian.Uint16(frame[12:]); etherType {
	case etherTypeIPv4:
		err = p.parseIPv4()
	case etherTypeIPv6:
		err = p.parseIPv6()
	default:
		err = fmt.Errorf("frame of the EtherType %#04x: want IPv4 or IPv6", etherType)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Ports returns the ports of a packet whose protocol has them; ok is false for others.
func (p *Packet) Ports() (src, dst uint16, ok bool) {
	hasPorts := p.Protocol == TCP || p.Protocol == UDP || p.Protocol == SCTP
	if !hasPorts || len(p.Transport) < 4 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint16(p.Transport), binary.BigEndian.Uint16(p.Transport[2:]), true
}

func (p *Packet) parseIPv4() error {
	b := p.IP
	if len(b) < IPv4Size {
		return fmt.Errorf("IPv4 packet of %d bytes: want at least %d", len(b), IPv4Size)
	}
	header, total := int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
	if b[0]>>4 != 4 || header < IPv4Size || total < header || total > len(b) {
		return fmt.Errorf("IPv4 packet of %d bytes with version %d, a header of %d bytes and a total length of %d", len(b), b[0]>>4, header, total)
	}
	const offsetAndMore = 0x3fff
	if binary.BigEndian.Uint16(b[6:])&offsetAndMore != 0 {
		return fmt.Errorf("IPv4 fragment: conntrack should have put it together")
	}
	p.IP = b[:total]
	p.Src, p.Dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	p.Protocol, p.Transport = b[9], p.IP[header:]
	return nil
}

// Extension headers (IANA "IPv6 Extension Header Types") that can stand before the payload of a packet that is no fragment.
const (
	hopByHopOptions    = 0
	routingHeader      = 43
	destinationOptions = 60
)

func (p *Packet) parseIPv6() error {
	b := p.IP
	if len(b) < IPv6Size {
		return fmt.Errorf("IPv6 packet of %d bytes: want at least %d", len(b), IPv6Size)
	}
	total := IPv6Size + int(binary.BigEndian.Uint16(b[4:]))
	if b[0]>>4 != 6 || total > len(b) {
		return fmt.Errorf("IPv6 packet of %d bytes with version %d and %d bytes according to its header", len(b), b[0]>>4, total)
	}
	p.IP = b[:total]
	p.Src, p.Dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	p.Protocol, p.Transport = b[6], p.IP[IPv6Size:]
	for p.Protocol == hopByHopOptions || p.Protocol == routingHeader || p.Protocol == destinationOptions {
		if len(p.Transport) < 8 {
			return fmt.Errorf("IPv6 extension header %d of %d bytes: want at least 8", p.Protocol, len(p.Transport))
		}
		size := 8 + int(p.Transport[1])*8
		if size > len(p.Transport) {
			return fmt.Errorf("IPv6 extension header %d of %d bytes: %d are left", p.Protocol, size, len(p.Transport))
		}
		p.Protocol, p.Transport = p.Transport[0], p.Transport[size:]
	}
	return nil
}
