// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/binary"
	"net/netip"
)

// translate does to an IP packet what Open vSwitch did to the connection: it replaces address and port of the source or of the
// destination, and updates the checksums by equation 3 of RFC 1624. UDP without a checksum stays without (RFC 768, and as Linux
// does it also for IPv6); a checksum of UDP that becomes 0 is written as 0xffff.
func translate(ip []byte, source bool, to netip.AddrPort) {
	if !to.IsValid() {
		return
	}
	six := ip[0]>>4 == 6
	protocol, transport, first, size := ip[9], ip[20:], 12, 4
	if six {
		protocol, transport, first, size = ip[6], ip[40:], 8, 16
	}
	address, port := ip[first:first+size], transport[0:2]
	if !source {
		address, port = ip[first+size:first+2*size], transport[2:4]
	}
	newPort := binary.BigEndian.AppendUint16(nil, to.Port())
	change := replaced(address, to.Addr().AsSlice())
	at := 16 // of TCP
	if protocol == udp {
		at = 6
	}
	checksum := transport[at : at+2]
	if protocol != udp || be16(checksum) != 0 {
		apply(checksum, change+replaced(port, newPort))
		if protocol == udp && be16(checksum) == 0 {
			binary.BigEndian.PutUint16(checksum, 0xffff)
		}
	}
	if !six {
		apply(ip[10:12], change)
	}
	copy(address, to.Addr().AsSlice())
	copy(port, newPort)
}

// replaced returns the change of the one's complement sum of words when others take their place.
func replaced(from, to []byte) (change uint32) {
	for i := 0; i < len(from); i += 2 {
		change += uint32(^be16(from[i:])) + uint32(be16(to[i:]))
	}
	return change
}

func apply(checksum []byte, change uint32) {
	binary.BigEndian.PutUint16(checksum, ^fold(uint32(^be16(checksum))+change))
}
