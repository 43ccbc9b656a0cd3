// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// addressRange is a range of a pool: all addresses from first to last.
type addressRange struct {
	// text is the range as the user wrote it.
	text        string
	first, last netip.Addr
	cidr        bool
}

// readRange reads a range, with all addresses of a CIDR.
func readRange(r v1beta1.IPRange) (addressRange, error) {
	if r.CIDR != "" {
		prefix, err := netip.ParsePrefix(r.CIDR)
		if err != nil {
			return addressRange{}, fmt.Errorf("invalid cidr %s", r.CIDR)
		}
		prefix = prefix.Masked()
		return addressRange{text: r.CIDR, first: prefix.Addr(), last: lastOf(prefix), cidr: true}, nil
	}
	first, errFirst := parseAddr(r.Start)
	last, errLast := parseAddr(r.End)
	if err := errors.Join(errFirst, errLast); err != nil {
		return addressRange{}, fmt.Errorf("range start %s or range end %s is not an IP address", r.Start, r.End)
	}
	switch {
	case first.Is4() != last.Is4():
		return addressRange{}, fmt.Errorf("range start %s and range end %s should belong to same family", r.Start, r.End)
	case first.Compare(last) > 0:
		return addressRange{}, fmt.Errorf("range start %s should not be greater than range end %s", r.Start, r.End)
	}
	return addressRange{text: r.Start + "-" + r.End, first: first, last: last}, nil
}

// parseAddr reads an address without a zone; an IPv4 address in the form of IPv6 is an IPv4 address.
func parseAddr(text string) (netip.Addr, error) {
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

func (r addressRange) contains(addr netip.Addr) bool {
	return addr.BitLen() == r.first.BitLen() && r.first.Compare(addr) <= 0 && addr.Compare(r.last) <= 0
}

func (r addressRange) overlaps(other addressRange) bool {
	return r.contains(other.first) || other.contains(r.first)
}

// usable leaves out the first address of a CIDR and, for IPv4, the last one; ok is false if nothing remains.
func (r addressRange) usable() (usable addressRange, ok bool) {
	if !r.cidr {
		return r, true
	}
	if r.first == r.last {
		return r, false
	}
	r.first = r.first.Next()
	if r.last.Is4() {
		r.last = r.last.Prev()
	}
	return r, r.first.Compare(r.last) <= 0
}

func (r addressRange) size() *big.Int {
	first, last := new(big.Int).SetBytes(r.first.AsSlice()), new(big.Int).SetBytes(r.last.AsSlice())
	return last.Add(last.Sub(last, first), big.NewInt(1))
}

// pool contains what can be allocated.
type pool struct {
	name    string
	ranges  []addressRange
	gateway netip.Addr
	// unreadable is not nil if the pool has ranges that cannot be read.
	unreadable error
	// next has the places of the next searches in a plan; nothing before them is free.
	next map[families]place
}

// place is an address of a range, by its number; an invalid one is the first.
type place struct {
	number int
	addr   netip.Addr
}

func newPool(source *v1beta1.ExternalIPPool) *pool {
	p := &pool{name: source.Name, next: map[families]place{}}
	if info := source.Spec.SubnetInfo; info != nil {
		p.gateway, _ = parseAddr(info.Gateway)
	}
	for _, text := range source.Spec.IPRanges {
		r, err := readRange(text)
		if err != nil {
			p.unreadable = errors.Join(p.unreadable, err)
		} else if usable, ok := r.usable(); ok {
			p.ranges = append(p.ranges, usable)
		}
	}
	return p
}

func (p *pool) contains(addr netip.Addr) bool {
	for _, r := range p.ranges {
		if r.contains(addr) {
			return addr != p.gateway
		}
	}
	return false
}

// total is the number of addresses that can be allocated, at most the highest int64.
func (p *pool) total() int64 {
	sum := new(big.Int)
	for _, r := range p.ranges {
		sum.Add(sum, r.size())
		if r.contains(p.gateway) {
			sum.Sub(sum, big.NewInt(1))
		}
	}
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return sum.Int64()
}

// free returns the first address of the families that is not used, and begins the next search for them behind it.
func (p *pool) free(f families, used func(netip.Addr) bool) (netip.Addr, error) {
	for at := p.next[f]; at.number < len(p.ranges); {
		r, addr := p.ranges[at.number], at.addr
		if !addr.IsValid() {
			addr = r.first
		}
		if at.addr = addr.Next(); addr == r.last || !f.accept(addr) {
			at = place{number: at.number + 1}
		}
		p.next[f] = at
		if addr != p.gateway && f.accept(addr) && !used(addr) {
			return addr, nil
		}
	}
	return netip.Addr{}, errors.Join(fmt.Errorf("no available IP in ExternalIPPool %s", p.name), p.unreadable)
}
