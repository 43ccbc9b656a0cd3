// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// Header is the part of a frame that the test reads. A rejection is a TCP reset or an ICMP message that a port is unreachable, a prohibition
// a TCP reset or an ICMP message that a policy forbids the communication: it has the number of the packet that it answers, and the addresses of
// an answer to that packet.
type Header struct {
	Source, Destination    netip.AddrPort
	Protocol               uint8
	Number                 uint32
	Rejection, Prohibition bool
}

// Read returns the header of an IP packet that has a number.
func Read(frame []byte) (Header, error) {
	if len(frame) > ethernetLength {
		if h, ok := readIP(frame[ethernetLength:]); ok {
			return h, nil
		}
	}
	return Header{}, fmt.Errorf("the frame %x has no number: it was not sent by the test", frame)
}

const (
	ipv4Length, ipv6Length = 20, 40
	icmpLength             = 8
	icmpUnreachable        = 3     // RFC 792
	ofPort, prohibited     = 3, 10 // RFC 792, RFC 1122
	icmp6Unreachable       = 1     // RFC 4443
	ofPort6, prohibited6   = 4, 1
)

func readIP(ip []byte) (h Header, ok bool) {
	var transport []byte
	var source, destination netip.Addr
	switch {
	case len(ip) >= ipv4Length && ip[0]>>4 == 4 && len(ip) >= int(ip[0]&0xf)*4:
		h.Protocol, transport = ip[9], ip[int(ip[0]&0xf)*4:]
		source, destination = netip.AddrFrom4([4]byte(ip[12:16])), netip.AddrFrom4([4]byte(ip[16:20]))
	case len(ip) >= ipv6Length && ip[0]>>4 == 6:
		h.Protocol, transport = ip[6], ip[ipv6Length:]
		source, destination = netip.AddrFrom16([16]byte(ip[8:24])), netip.AddrFrom16([16]byte(ip[24:40]))
	default:
		return h, false
	}
	if port, forbidden := unreachable(h.Protocol, transport); port || forbidden {
		quoted, ok := readIP(transport[icmpLength:])
		return Header{
			Source: netip.AddrPortFrom(source, quoted.Destination.Port()), Destination: netip.AddrPortFrom(destination, quoted.Source.Port()),
			Protocol: quoted.Protocol, Number: quoted.Number, Rejection: port, Prohibition: forbidden,
		}, ok
	}
	at := numberAt(h.Protocol)
	if at < 0 || len(transport) < at+4 {
		return h, false
	}
	if h.Protocol == unix.IPPROTO_ICMP || h.Protocol == unix.IPPROTO_ICMPV6 {
		h.Source, h.Destination, h.Number = netip.AddrPortFrom(source, 0), netip.AddrPortFrom(destination, 0), binary.BigEndian.Uint32(transport[at:])
		return h, true
	}
	h.Source = netip.AddrPortFrom(source, binary.BigEndian.Uint16(transport))
	h.Destination = netip.AddrPortFrom(destination, binary.BigEndian.Uint16(transport[2:]))
	h.Number = binary.BigEndian.Uint32(transport[at:])
	const ackAt, flagsAt = 8, 13
	if h.Protocol == unix.IPPROTO_TCP && len(transport) > flagsAt && transport[flagsAt]&byte(equality.RST) != 0 {
		h.Rejection, h.Prohibition, h.Number = true, true, binary.BigEndian.Uint32(transport[ackAt:])-1
	}
	return h, true
}

// unreachable reports whether a message of ICMP or ICMPv6 says that a port is unreachable, or that a policy forbids the communication.
func unreachable(protocol uint8, message []byte) (port, forbidden bool) {
	if len(message) < icmpLength {
		return false, false
	}
	switch kind, code := message[0], message[1]; {
	case protocol == unix.IPPROTO_ICMP && kind == icmpUnreachable:
		return code == ofPort, code == prohibited
	case protocol == unix.IPPROTO_ICMPV6 && kind == icmp6Unreachable:
		return code == ofPort6, code == prohibited6
	}
	return false, false
}

// numberAt returns the distance of the number from the header of the protocol.
func numberAt(protocol uint8) int {
	switch protocol {
	case unix.IPPROTO_TCP:
		return 4
	case unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		return 8
	case unix.IPPROTO_SCTP:
		return 16
	}
	return -1
}
