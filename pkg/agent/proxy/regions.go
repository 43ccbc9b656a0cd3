// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import "net/netip"

// Regions are networks of this length, for each IP version: the length of an ordinary Node's Pod network.
const (
	regionBits4 = 24
	regionBits6 = 64
)

// regions counts by region what has addresses there, so that what has one in the Pod network of a Node is found without a look at everything.
type regions[T comparable] map[netip.Prefix]map[T]int

func regionOf(addr netip.Addr) netip.Prefix {
	bits := regionBits4
	if addr.Is6() {
		bits = regionBits6
	}
	return netip.PrefixFrom(addr, bits).Masked()
}

// count adds by to the number of addresses of x in the region of addr.
func (r regions[T]) count(addr netip.Addr, x T, by int) {
	region := regionOf(addr)
	if r[region] == nil {
		r[region] = map[T]int{}
	}
	if r[region][x] += by; r[region][x] == 0 {
		delete(r[region], x)
	}
	if len(r[region]) == 0 {
		delete(r, region)
	}
}

// near returns what has an address in the regions that the network overlaps, each once.
func (r regions[T]) near(network netip.Prefix) map[T]bool {
	found := map[T]bool{}
	note := func(region netip.Prefix) {
		for x := range r[region] {
			found[x] = true
		}
	}
	first := regionOf(network.Addr())
	more := first.Bits() - network.Bits()
	if more > 16 || more > 0 && 1<<more > len(r) {
		for region := range r {
			if network.Overlaps(region) {
				note(region)
			}
		}
		return found
	}
	for region := first; region.Overlaps(network); region = next(region) {
		note(region)
	}
	return found
}

// next returns the region after this one, the zero Prefix after the last.
func next(region netip.Prefix) netip.Prefix {
	b := region.Addr().AsSlice()
	for i := region.Bits()/8 - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			addr, _ := netip.AddrFromSlice(b)
			return netip.PrefixFrom(addr, region.Bits())
		}
	}
	return netip.Prefix{}
}
