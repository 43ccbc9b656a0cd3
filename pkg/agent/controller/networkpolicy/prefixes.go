// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// blockPrefixes returns the addresses of the block as the smallest set of prefixes that do not overlap.
func blockPrefixes(block v1beta2.IPBlock) ([]netip.Prefix, error) {
	cidr, err := block.CIDR.Prefix()
	if err != nil {
		return nil, fmt.Errorf("IP block: %w", err)
	}
	var excepts []netip.Prefix
	for _, n := range block.Except {
		except, err := n.Prefix()
		if err != nil {
			return nil, fmt.Errorf("exception of IP block %v: %w", cidr, err)
		}
		excepts = append(excepts, except.Masked())
	}
	return subtract(cidr.Masked(), excepts), nil
}

// subtract returns the part of cidr that is in none of excepts.
func subtract(cidr netip.Prefix, excepts []netip.Prefix) []netip.Prefix {
	var inside []netip.Prefix
	for _, except := range excepts {
		if except.Bits() <= cidr.Bits() && except.Contains(cidr.Addr()) {
			return nil
		}
		if cidr.Contains(except.Addr()) {
			inside = append(inside, except)
		}
	}
	if len(inside) == 0 {
		return []netip.Prefix{cidr}
	}
	low, high := halves(cidr)
	return append(subtract(low, inside), subtract(high, inside)...)
}

// halves splits a prefix that is not a single address.
func halves(cidr netip.Prefix) (low, high netip.Prefix) {
	bits := cidr.Bits()
	address := cidr.Addr().AsSlice()
	address[bits/8] |= 0x80 >> (bits % 8)
	upper, _ := netip.AddrFromSlice(address)
	return netip.PrefixFrom(cidr.Addr(), bits+1), netip.PrefixFrom(upper, bits+1)
}
