// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"net/netip"
)

// sourceBits is the number of bits of an IPv6 address that identify a source: whoever owns an address also owns the
// rest of its network.
const sourceBits = 64

// sourceOf returns the source of a remote address, for the limits. Addresses that cannot be parsed are one source.
func sourceOf(remote string) netip.Prefix {
	address, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip := address.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = sourceBits
	}
	// The length fits the address, so Prefix cannot fail.
	source, _ := ip.Prefix(bits)
	return source
}
