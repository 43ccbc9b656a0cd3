// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/binary"
	"net/netip"
)

// Wire4 is an IPv4 address as a __be32 field: in memory, not in value, it is big endian.
func Wire4(a netip.Addr) uint32 {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}

// Wire6 is an IPv6 address as a __be32[4] field.
func Wire6(a netip.Addr) (out [4]uint32) {
	if a.Is6() {
		b := a.As16()
		for i := range out {
			out[i] = binary.NativeEndian.Uint32(b[4*i:])
		}
	}
	return out
}

// Addr6 is the address in such a field.
func Addr6(v [4]uint32) netip.Addr {
	var b [16]byte
	for i := range v {
		binary.NativeEndian.PutUint32(b[4*i:], v[i])
	}
	return netip.AddrFrom16(b)
}

// Addr4 is the address in a __be32 field.
func Addr4(v uint32) netip.Addr {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], v)
	return netip.AddrFrom4(b)
}

// Port is the number in a __be16 field.
func Port(v uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], v)
	return binary.BigEndian.Uint16(b[:])
}

// WirePort is a number, such as a port, as a __be16 field.
func WirePort(number uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, number))
}
