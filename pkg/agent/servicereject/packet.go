// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// packet is a packet that may be answered.
type packet struct {
	frame    []byte
	src, dst netip.Addr
	protocol uint8
	// ip begins with the IP header, transport behind it and extension headers. Both end with the IP packet, not with the frame.
	ip, transport []byte
}

func parse(frame []byte) (*packet, error) {
	if len(frame) < ethernetSize {
		return nil, fmt.Errorf("frame of %d bytes: it has no Ethernet header", len(frame))
	}
	const group = 1 // the bit of MAC addresses of several receivers
	if (frame[0]|frame[6])&group != 0 {
		return nil, fmt.Errorf("frame from %x to %x: nobody answers those with several receivers", frame[6:12], frame[:6])
	}
	p := &packet{frame: frame, ip: frame[ethernetSize:]}
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
	for _, addr := range []netip.Addr{p.src, p.dst} {
		if !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast() || addr.IsLoopback() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return nil, fmt.Errorf("packet from %v to %v: nobody answers those without one sender and one receiver", p.src, p.dst)
		}
	}
	return p, nil
}

func (p *packet) parseIPv4() error {
	b := p.ip
	if len(b) < ipv4Size {
		return fmt.Errorf("IPv4 packet of %d bytes: want at least %d", len(b), ipv4Size)
	}
	header, total := int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
	if b[0]>>4 != 4 || header < ipv4Size || total < header || total > len(b) {
		return fmt.Errorf("IPv4 packet of %d bytes with version %d, a header of %d bytes and a total length of %d", len(b), b[0]>>4, header, total)
	}
	const offsetAndMore = 0x3fff
	if binary.BigEndian.Uint16(b[6:])&offsetAndMore != 0 {
		return fmt.Errorf("IPv4 fragment: conntrack should have put it together")
	}
	p.ip = b[:total]
	p.src, p.dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	p.protocol, p.transport = b[9], p.ip[header:]
	return nil
}

// Extension headers (IANA "IPv6 Extension Header Types") that can stand before the payload of a packet that is no fragment.
const (
	hopByHopOptions    = 0
	routingHeader      = 43
	destinationOptions = 60
)

func (p *packet) parseIPv6() error {
	b := p.ip
	if len(b) < ipv6Size {
		return fmt.Errorf("IPv6 packet of %d bytes: want at least %d", len(b), ipv6Size)
	}
	total := ipv6Size + int(binary.BigEndian.Uint16(b[4:]))
	if b[0]>>4 != 6 || total > len(b) {
		return fmt.Errorf("IPv6 packet of %d bytes with version %d and %d bytes according to its header", len(b), b[0]>>4, total)
	}
	p.ip = b[:total]
	p.src, p.dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	p.protocol, p.transport = b[6], p.ip[ipv6Size:]
	for p.protocol == hopByHopOptions || p.protocol == routingHeader || p.protocol == destinationOptions {
		if len(p.transport) < 8 {
			return fmt.Errorf("IPv6 extension header %d of %d bytes: want at least 8", p.protocol, len(p.transport))
		}
		size := 8 + int(p.transport[1])*8
		if size > len(p.transport) {
			return fmt.Errorf("IPv6 extension header %d of %d bytes: %d are left", p.protocol, size, len(p.transport))
		}
		p.protocol, p.transport = p.transport[0], p.transport[size:]
	}
	return nil
}
