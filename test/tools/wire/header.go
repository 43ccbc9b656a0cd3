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

// Header is the part of a frame that the test reads. A rejection is a TCP reset or an ICMP message that a port is
// unreachable: it has the number of the packet that it rejects, and the addresses of an answer to that packet.
type Header struct {
	Source, Destination netip.AddrPort
	Protocol            uint8
	Number              uint32
	Rejection           bool
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
	ipv4Length, ipv6Length  = 20, 40
	icmpLength              = 8
	icmpUnreachable, ofPort = 3, 3 // RFC 792
	icmp6Unreachable        = 1    // RFC 4443
	ofPort6                 = 4
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
	unreachable := h.Protocol == unix.IPPROTO_ICMP && len(transport) >= icmpLength && transport[0] == icmpUnreachable && transport[1] == ofPort ||
		h.Protocol == unix.IPPROTO_ICMPV6 && len(transport) >= icmpLength && transport[0] == icmp6Unreachable && transport[1] == ofPort6
	if unreachable {
		quoted, ok := readIP(transport[icmpLength:])
		return Header{
			Source: netip.AddrPortFrom(source, quoted.Destination.Port()), Destination: netip.AddrPortFrom(destination, quoted.Source.Port()),
			Protocol: quoted.Protocol, Number: quoted.Number, Rejection: true,
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
		h.Rejection, h.Number = true, binary.BigEndian.Uint32(transport[ackAt:])-1
	}
	return h, true
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
