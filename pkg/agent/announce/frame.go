// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package announce tells the machines of a network that an address has a new place: by gratuitous ARP, and by unsolicited neighbor
// advertisements. It also answers who asks for an address that is not on the device of the network.
package announce

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Frame returns an Ethernet frame that announces the address at the MAC address.
func Frame(addr netip.Addr, mac net.HardwareAddr) []byte {
	if addr.Is4() {
		return gratuitousARPFrame(addr, mac)
	}
	return unsolicitedNeighborAdvertisement(addr, mac)
}

// gratuitousARPFrame returns an Ethernet frame with an ARP request for the sender's own address (RFC 5227, 3:
// announcement).
func gratuitousARPFrame(ip netip.Addr, mac net.HardwareAddr) []byte {
	addr := ip.As4()
	frame := make([]byte, 0, 42)
	frame = append(frame, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	frame = append(frame, mac...)
	frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_ARP)
	frame = binary.BigEndian.AppendUint16(frame, 1) // Ethernet
	frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_IP)
	frame = append(frame, 6, 4)
	frame = binary.BigEndian.AppendUint16(frame, 1) // request
	frame = append(frame, mac...)
	frame = append(frame, addr[:]...)
	frame = append(frame, make([]byte, 6)...)
	return append(frame, addr[:]...)
}

// unsolicitedNeighborAdvertisement returns an Ethernet frame that tells all nodes (ff02::1) the MAC address of ip, and
// makes them forget any other (RFC 4861, 7.2.6).
func unsolicitedNeighborAdvertisement(ip netip.Addr, mac net.HardwareAddr) []byte {
	const (
		ipv6Header = 40
		icmpLen    = 32 // header and flags (8), target (16), option (8)
	)
	src, allNodes := ip.As16(), netip.IPv6LinkLocalAllNodes().As16()
	frame := []byte{0x33, 0x33, 0, 0, 0, 1}
	frame = append(frame, mac...)
	frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_IPV6)
	ip6 := len(frame)
	frame = append(frame, 0x60, 0, 0, 0, 0, icmpLen, unix.IPPROTO_ICMPV6, 255)
	frame = append(frame, src[:]...)
	frame = append(frame, allNodes[:]...)
	frame = append(frame, advertisement(ip, mac, flagOverride)...)
	sum := InternetSum(frame[ip6+8:]) + icmpLen + unix.IPPROTO_ICMPV6 // pseudo-header: RFC 8200, 8.1
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(frame[ip6+ipv6Header+2:], ^uint16(sum))
	return frame
}

// InternetSum returns the sum of 16-bit words (RFC 1071); b has an even number of bytes.
func InternetSum(b []byte) (sum uint32) {
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return sum
}
