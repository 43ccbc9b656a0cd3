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
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
)

// pool contains what can be allocated.
type pool struct {
	externalip.Addresses
	name string
	// next has the places of the next searches in a plan; nothing before them is free.
	next map[families]place
}

// place is an address of a range, by its number; an invalid one is the first.
type place struct {
	number int
	addr   netip.Addr
}

func newPool(source *v1beta1.ExternalIPPool) *pool {
	return &pool{name: source.Name, Addresses: externalip.AddressesOf(source), next: map[families]place{}}
}

// total is the number of addresses that can be allocated, at most the highest int64.
func (p *pool) total() int64 {
	sum := new(big.Int)
	for _, r := range p.Ranges {
		sum.Add(sum, r.Size())
		if r.Contains(p.Gateway) {
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
	for at := p.next[f]; at.number < len(p.Ranges); {
		r, addr := p.Ranges[at.number], at.addr
		if !addr.IsValid() {
			addr = r.First
		}
		if at.addr = addr.Next(); addr == r.Last || !f.accept(addr) {
			at = place{number: at.number + 1}
		}
		p.next[f] = at
		if addr != p.Gateway && f.accept(addr) && !used(addr) {
			return addr, nil
		}
	}
	return netip.Addr{}, errors.Join(fmt.Errorf("no available IP in ExternalIPPool %s", p.name), p.Unreadable)
}
