// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import "encoding/binary"

// Sum returns the one's complement sum of 16-bit words; the length of b is even.
func Sum(b []byte) uint16 {
	var total uint32
	for i := 0; i < len(b); i += 2 {
		total += uint32(be16(b[i:]))
	}
	return fold(total)
}

func fold(total uint32) uint16 {
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return uint16(total)
}

// hop decrements TTL or hop limit. It updates an IPv4 checksum by equation 3 of RFC 1624, as Open vSwitch does: a wrong
// checksum stays wrong.
func hop(ip []byte, six bool) {
	if six {
		ip[7]--
		return
	}
	before := uint32(ip[8]) << 8
	ip[8]--
	after := uint32(ip[8]) << 8
	binary.BigEndian.PutUint16(ip[10:], ^fold(uint32(^be16(ip[10:]))+0xffff-before+after))
}

// congest sets CE in an ECN-capable packet. The kernel adds the difference of the IPv4 words to the checksum
// (IP_ECN_set_ce), which gives 0xffff where equation 3 gives 0.
func congest(ip []byte, six bool) {
	if six {
		ip[1] |= 0x30
		return
	}
	before := uint32(ip[1])
	ip[1] |= 3
	binary.BigEndian.PutUint16(ip[10:], fold(uint32(be16(ip[10:]))+0xffff-(uint32(ip[1])-before)))
}
