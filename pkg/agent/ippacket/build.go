// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ippacket

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
)

// Outline says what a packet without payload looks like.
type Outline struct {
	SrcMAC, DstMAC net.HardwareAddr
	// Src and Dst are both IPv4 or both IPv6 addresses.
	Src, Dst netip.Addr
	// DSCP has 6 bits. TTL is the hop limit with IPv6.
	DSCP, TTL uint8
	// IPFlags are the three flags of an IPv4 header: 2 is "don't fragment". IPv6 has none.
	IPFlags uint8
	// Protocol is ICMP (an echo request), TCP or UDP with IPv4, ICMPv6 (the same), TCP or UDP with IPv6.
	Protocol         uint8
	SrcPort, DstPort uint16
	// TCPFlags are the flags of a TCP header, from FIN (1) on.
	TCPFlags uint8
	// ICMPID and ICMPSequence belong to an echo request.
	ICMPID, ICMPSequence uint16
}

// Types of echo requests (RFC 792; RFC 4443, section 4.1).
const (
	echoRequest   = 8
	echoRequestV6 = 128
)

// Build returns the Ethernet frame of the packet, with correct checksums.
func Build(o Outline) ([]byte, error) {
	switch {
	case len(o.SrcMAC) != 6 || len(o.DstMAC) != 6:
		return nil, fmt.Errorf("packet from the MAC address %q to %q: both must have 6 bytes", o.SrcMAC, o.DstMAC)
	case o.Src.Is4() && o.Dst.Is4():
		return o.ipv4()
	case o.Src.Is6() && o.Dst.Is6():
		return o.ipv6()
	}
	return nil, fmt.Errorf("packet from %v to %v: both must be IPv4 addresses, or both IPv6", o.Src, o.Dst)
}

func (o *Outline) ipv4() ([]byte, error) {
	transport, err := o.transport(ICMP)
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint16(append(append([]byte{}, o.DstMAC...), o.SrcMAC...), etherTypeIPv4)
	b = append(b, 0x45, o.DSCP<<2)
	b = binary.BigEndian.AppendUint16(b, uint16(IPv4Size+len(transport)))
	b = append(b, 0, 0, o.IPFlags<<5, 0, o.TTL, o.Protocol, 0, 0)
	b = append(append(b, o.Src.AsSlice()...), o.Dst.AsSlice()...)
	binary.BigEndian.PutUint16(b[EthernetSize+10:], ^fold(words(0, b[EthernetSize:])))
	return append(b, transport...), nil
}

func (o *Outline) ipv6() ([]byte, error) {
	transport, err := o.transport(ICMPv6)
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint16(append(append([]byte{}, o.DstMAC...), o.SrcMAC...), etherTypeIPv6)
	b = append(b, 0x60|o.DSCP>>2, o.DSCP<<6, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(transport)))
	b = append(b, o.Protocol, o.TTL)
	b = append(append(b, o.Src.AsSlice()...), o.Dst.AsSlice()...)
	return append(b, transport...), nil
}

// transport returns the header behind the IP header; icmp is the protocol of echo requests.
func (o *Outline) transport(icmp uint8) ([]byte, error) {
	var b []byte
	var checksum int // its place
	switch o.Protocol {
	case icmp:
		b = []byte{echoRequest, 0, 0, 0}
		if icmp == ICMPv6 {
			b[0] = echoRequestV6
		}
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, o.ICMPID), o.ICMPSequence)
		checksum = 2
	case TCP:
		const window = 64240
		b = make([]byte, 12, 20)
		b = append(b, 5<<4, o.TCPFlags)
		b = binary.BigEndian.AppendUint16(b, window)
		b = append(b, 0, 0, 0, 0)
		o.ports(b)
		checksum = 16
	case UDP:
		b = []byte{0, 0, 0, 0, 0, 8, 0, 0}
		o.ports(b)
		checksum = 6
	default:
		return nil, fmt.Errorf("packet of IP protocol %d from %v: want %d (echo request), %d (TCP) or %d (UDP)", o.Protocol, o.Src, icmp, TCP, UDP)
	}
	var total uint32
	if o.Protocol != ICMP {
		total = words(words(uint32(o.Protocol)+uint32(len(b)), o.Src.AsSlice()), o.Dst.AsSlice())
	}
	sum := ^fold(words(total, b))
	if sum == 0 && o.Protocol == UDP {
		sum = 0xffff // 0 stands for none (RFC 768)
	}
	binary.BigEndian.PutUint16(b[checksum:], sum)
	return b, nil
}

func (o *Outline) ports(b []byte) {
	binary.BigEndian.PutUint16(b, o.SrcPort)
	binary.BigEndian.PutUint16(b[2:], o.DstPort)
}

// words adds the 16-bit words of b, which has an even number of bytes.
func words(total uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		total += uint32(binary.BigEndian.Uint16(b))
	}
	return total
}

// fold is the sum in ones' complement (RFC 1071).
func fold(total uint32) uint16 {
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return uint16(total)
}
