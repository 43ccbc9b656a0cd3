// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"fmt"
	"net/netip"
)

// Addr is the address; one that is 16 bytes long but holds an IPv4 address becomes that IPv4 address.
func (ip IPAddress) Addr() (netip.Addr, error) {
	addr, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.Addr{}, fmt.Errorf("an address has %d bytes, want 4 or 16", len(ip))
	}
	return addr.Unmap(), nil
}

// Prefix is the CIDR.
func (n IPNet) Prefix() (netip.Prefix, error) {
	addr, err := n.IP.Addr()
	if err != nil {
		return netip.Prefix{}, err
	}
	prefix := netip.PrefixFrom(addr, int(n.PrefixLength))
	if !prefix.IsValid() {
		return netip.Prefix{}, fmt.Errorf("%s cannot have a prefix of %d bits", addr, n.PrefixLength)
	}
	return prefix, nil
}
