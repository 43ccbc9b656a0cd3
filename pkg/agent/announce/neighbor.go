// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"net"
	"net/netip"
)

const (
	neighborSolicitation  = 135
	neighborAdvertisement = 136
	// Flags of an advertisement: it answers, and it replaces what the neighbour knew.
	flagSolicited, flagOverride = 0x40, 0x20
	// ndLength is the length of a solicitation or advertisement without options, in bytes.
	ndLength = 24
)

// solicitedNode returns the multicast group of an IPv6 address (RFC 4291, 2.7.1).
func solicitedNode(addr netip.Addr) netip.Addr {
	a := addr.As16()
	return netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 11: 1, 12: 0xff, 13: a[13], 14: a[14], 15: a[15]})
}

// solicited returns the address that an ICMPv6 message asks for; asked is false if it is not a neighbor solicitation.
func solicited(message []byte) (target netip.Addr, asked bool) {
	if len(message) < ndLength || message[0] != neighborSolicitation || message[1] != 0 {
		return target, false
	}
	return netip.AddrFrom16([16]byte(message[8:ndLength])), true
}

// answer returns the ICMPv6 message that tells a neighbour the MAC address of target, without checksum, and its destination. A neighbour
// without an address examines whether it may use this one: all neighbours get the answer (RFC 4861, 7.2.4).
func answer(target, asker netip.Addr, mac net.HardwareAddr) (to netip.Addr, message []byte) {
	flags := byte(flagOverride)
	if to = asker; asker.IsUnspecified() {
		to = netip.IPv6LinkLocalAllNodes()
	} else {
		flags |= flagSolicited
	}
	return to, advertisement(target, mac, flags)
}

// advertisement returns a neighbor advertisement of target, with its MAC address and without checksum.
func advertisement(target netip.Addr, mac net.HardwareAddr, flags byte) []byte {
	message := []byte{neighborAdvertisement, 0, 0, 0, flags, 0, 0, 0}
	message = append(message, target.AsSlice()...)
	message = append(message, 2, 1) // target link-layer address, in units of 8 bytes
	return append(message, mac...)
}
