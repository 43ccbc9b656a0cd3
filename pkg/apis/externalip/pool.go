// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Range is a range of a pool: all addresses from First to Last.
type Range struct {
	// Text is the range as the user wrote it.
	Text        string
	First, Last netip.Addr
	cidr        bool
}

// ReadRange reads a range, with all addresses of a CIDR.
func ReadRange(r v1beta1.IPRange) (Range, error) {
	if r.CIDR != "" {
		prefix, err := netip.ParsePrefix(r.CIDR)
		if err != nil {
			return Range{}, fmt.Errorf("invalid cidr %s", r.CIDR)
		}
		prefix = prefix.Masked()
		return Range{Text: r.CIDR, First: prefix.Addr(), Last: lastOf(prefix), cidr: true}, nil
	}
	first, errFirst := ParseAddr(r.Start)
	last, errLast := ParseAddr(r.End)
	if err := errors.Join(errFirst, errLast); err != nil {
		return Range{}, fmt.Errorf("range start %s or range end %s is not an IP address", r.Start, r.End)
	}
	switch {
	case first.Is4() != last.Is4():
		return Range{}, fmt.Errorf("range start %s and range end %s should belong to same family", r.Start, r.End)
	case first.Compare(last) > 0:
		return Range{}, fmt.Errorf("range start %s should not be greater than range end %s", r.Start, r.End)
	}
	return Range{Text: r.Start + "-" + r.End, First: first, Last: last}, nil
}

// ParseAddr reads an address without a zone; an IPv4 address in the form of IPv6 is an IPv4 address.
func ParseAddr(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err == nil && addr.Zone() != "" {
		err = fmt.Errorf("address %s has a zone", text)
	}
	return addr.Unmap(), err
}

// lastOf returns the last address of a prefix.
func lastOf(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Addr().AsSlice()
	for i := prefix.Bits(); i < len(bytes)*8; i++ {
		bytes[i/8] |= 0x80 >> (i % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// Contains reports whether the range has an address.
func (r Range) Contains(addr netip.Addr) bool {
	return addr.BitLen() == r.First.BitLen() && r.First.Compare(addr) <= 0 && addr.Compare(r.Last) <= 0
}

// Overlaps reports whether both ranges have an address.
func (r Range) Overlaps(other Range) bool {
	return r.Contains(other.First) || other.Contains(r.First)
}

// usable leaves out the first address of a CIDR and, for IPv4, the last one; ok is false if nothing remains.
func (r Range) usable() (usable Range, ok bool) {
	if !r.cidr {
		return r, true
	}
	if r.First == r.Last {
		return r, false
	}
	r.First = r.First.Next()
	if r.Last.Is4() {
		r.Last = r.Last.Prev()
	}
	return r, r.First.Compare(r.Last) <= 0
}

// Size is the number of addresses.
func (r Range) Size() *big.Int {
	first, last := new(big.Int).SetBytes(r.First.AsSlice()), new(big.Int).SetBytes(r.Last.AsSlice())
	return last.Add(last.Sub(last, first), big.NewInt(1))
}

// Addresses are the addresses of an ExternalIPPool that can be allocated.
type Addresses struct {
	// Ranges do not contain what is never allocated of a CIDR.
	Ranges []Range
	// Gateway is never allocated; invalid if there is none.
	Gateway netip.Addr
	// Unreadable is not nil if the pool has ranges that cannot be read.
	Unreadable error
}

// AddressesOf reads a pool.
func AddressesOf(pool *v1beta1.ExternalIPPool) (a Addresses) {
	if info := pool.Spec.SubnetInfo; info != nil {
		a.Gateway, _ = ParseAddr(info.Gateway)
	}
	for _, text := range pool.Spec.IPRanges {
		r, err := ReadRange(text)
		if err != nil {
			a.Unreadable = errors.Join(a.Unreadable, err)
		} else if usable, ok := r.usable(); ok {
			a.Ranges = append(a.Ranges, usable)
		}
	}
	return a
}

// Contains reports whether an address can be allocated.
func (a Addresses) Contains(addr netip.Addr) bool {
	return addr != a.Gateway && slices.ContainsFunc(a.Ranges, func(r Range) bool { return r.Contains(addr) })
}
