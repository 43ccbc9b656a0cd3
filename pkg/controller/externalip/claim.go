// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
)

// planning is the state of one computation.
type planning struct {
	*core
	pools map[string]*pool
	// owners have the claimants by address, failures the reasons why a claimant has none.
	owners   map[netip.Addr][]*claimant
	failures map[types.UID]error
	// moved are the Egresses whose address has left their pool.
	moved map[types.UID]bool
	// leaving have the claimants whose objects must not show an address any more, by address.
	leaving map[netip.Addr][]*claimant
}

// forget releases the addresses of claimants that were deleted, or that have another pool or none.
func (p *planning) forget(claimants []*claimant) {
	current := map[types.UID]*claimant{}
	for _, c := range claimants {
		current[c.GetUID()] = c
	}
	for uid, h := range p.held {
		c := current[uid]
		if c != nil && (h.unknown(c) || c.pool == h.pool && p.pools[h.pool] != nil) {
			continue
		}
		delete(p.held, uid)
		if c != nil && c.service != nil {
			p.released[uid] = h.addr
		}
	}
	for uid, addr := range p.released {
		if c := current[uid]; c == nil || c.shows != addr {
			delete(p.released, uid)
		}
	}
	for uid := range p.told {
		if current[uid] == nil {
			delete(p.told, uid)
		}
	}
}

// keep reserves what a claimant has, or will have when its object shows it. A write that was begun is finished, even if the pool has changed.
func (p *planning) keep(c *claimant, pool *pool) {
	h, found := p.held[c.GetUID()]
	if !found {
		return
	}
	same := c.asksFor(h.addr)
	if h.unknown(c) || same && pool != nil && pool.Contains(h.addr) && c.families.accept(h.addr) {
		p.hold(c, h.pool, h.addr)
		return
	}
	p.moved[c.GetUID()] = same && c.egress != nil
	delete(p.held, c.GetUID())
}

// restore lets a Service have what it shows: a former controller has allocated it.
func (p *planning) restore(c *claimant, pool *pool) {
	if _, held := p.held[c.GetUID()]; held || pool == nil || c.service == nil || !c.shows.IsValid() || !c.asksFor(c.shows) {
		return
	}
	if pool.Contains(c.shows) && c.families.accept(c.shows) && p.refuses(c, c.shows) == nil {
		p.hold(c, pool.name, c.shows)
	}
}

// claim gives a claimant the address that it asks for.
func (p *planning) claim(c *claimant, pool *pool) {
	uid := c.GetUID()
	if _, held := p.held[uid]; held || pool == nil || c.asks == "" || p.moved[uid] {
		return
	}
	addr, err := externalip.ParseAddr(c.asks)
	switch other := p.refuses(c, addr); {
	case err != nil:
		p.failures[uid] = fmt.Errorf("IP %s is not valid", c.asks)
	case !pool.Contains(addr):
		p.failures[uid] = fmt.Errorf("IP %s is not within the IP range of ExternalIPPool %s", addr, pool.name)
	case !c.families.accept(addr):
		p.failures[uid] = fmt.Errorf("IP %s is not of an IP family of the Service", addr)
	case other != nil:
		p.failures[uid] = fmt.Errorf("IP %s is allocated to %s %s", addr, other.kind, other.name)
	default:
		p.hold(c, pool.name, addr)
	}
}

// refuses returns an owner of the address that does not share it with the claimant; nil if there is none. Services continue to share what they shared
// under a former controller.
func (p *planning) refuses(c *claimant, addr netip.Addr) *claimant {
	for _, owner := range p.owners[addr] {
		bothShow := !p.planned && c.service != nil && owner.service != nil && c.shows == addr && owner.shows == addr
		if c.pool != p.held[owner.GetUID()].pool || !bothShow && !(c.shares && owner.shares) {
			return owner
		}
	}
	return nil
}

// allocate gives a claimant that asks for no address a free one.
func (p *planning) allocate(c *claimant, pool *pool) {
	uid := c.GetUID()
	if _, held := p.held[uid]; held || pool == nil || c.asks != "" && !p.moved[uid] {
		return
	}
	addr, err := pool.free(c.families, func(addr netip.Addr) bool { return len(p.owners[addr]) > 0 })
	if err != nil {
		p.failures[uid] = err
		return
	}
	p.hold(c, pool.name, addr)
}

// reserve lets no others have the addresses that some claimants show.
func (p *planning) reserve(claimants []*claimant, which func(*claimant) bool) {
	for _, c := range claimants {
		if which(c) && c.shows.IsValid() && len(p.owners[c.shows]) == 0 {
			p.owners[c.shows] = []*claimant{c}
		}
	}
}

func (p *planning) hold(c *claimant, pool string, addr netip.Addr) {
	p.owners[addr] = append(p.owners[addr], c)
	former := p.held[c.GetUID()]
	h := holding{pool: pool, addr: addr, granted: former.granted && former.addr == addr}
	if c.shows != addr {
		h.version = c.GetResourceVersion()
	}
	p.held[c.GetUID()] = h
}
