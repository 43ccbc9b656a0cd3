// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"net/netip"
)

// sourceBits is how much of an IPv6 address tells sources apart: whoever has one address has the rest of its network, too.
const sourceBits = 64

// sourceOf is whom a remote address belongs to, as far as limits are concerned. Addresses that cannot be read are one source.
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
	// The length fits the address, which is the only thing that can be wrong.
	source, _ := ip.Prefix(bits)
	return source
}
