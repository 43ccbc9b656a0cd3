// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// holding is an address that a claimant has from a pool.
type holding struct {
	pool string
	addr netip.Addr
	// version is the object's version at which the address is written; empty if the object shows it. While it is the version of the
	// object, the result of the write is unknown.
	version string
	// granted is set for an Egress once no other object showed the address any more.
	granted bool
}

// unknown reports whether the address may have been written to the object or not.
func (h holding) unknown(c *claimant) bool {
	return h.version == c.GetResourceVersion() && c.shows != h.addr
}

// core remembers what was allocated: the objects show it later.
type core struct {
	held map[types.UID]holding
	// released are the addresses of Services that want none any more, until these do not show them.
	released map[types.UID]netip.Addr
	// told has the last message to users of an object.
	told map[types.UID]string
	// planned is set after the first plan. Until then what Services show was allocated by a former controller.
	planned bool
}

func newCore() core {
	return core{held: map[types.UID]holding{}, released: map[types.UID]netip.Addr{}, told: map[types.UID]string{}}
}

// addressChange is a new address of a claimant; an invalid address is none.
type addressChange struct {
	*claimant
	addr netip.Addr
}

// statusChange has the conditions that an Egress ought to have.
type statusChange struct {
	egress     *v1beta1.Egress
	conditions []v1beta1.EgressCondition
}

// usageChange is the usage that the status of a pool ought to have.
type usageChange struct {
	pool  *v1beta1.ExternalIPPool
	usage v1beta1.IPPoolUsage
}

// refusal is a message for users of a claimant.
type refusal struct {
	*claimant
	message string
}

// plan has all writes that are due. An Egress is in one of the first two lists at most: its status follows when its address is written.
type plan struct {
	addresses []addressChange
	statuses  []statusChange
	usages    []usageChange
	refusals  []refusal
}

// plan returns what has to be written so that all claimants have addresses of their pools. It depends on the order of nothing but the
// creation of claimants, and keeps what was allocated.
func (c *core) plan(claimants []*claimant, pools []*v1beta1.ExternalIPPool) plan {
	claimants = slices.SortedFunc(slices.Values(claimants), (*claimant).before)
	p := &planning{core: c, pools: map[string]*pool{}, owners: map[netip.Addr][]*claimant{}, failures: map[types.UID]error{}, moved: map[types.UID]bool{}, leaving: map[netip.Addr][]*claimant{}}
	for _, source := range pools {
		p.pools[source.Name] = newPool(source)
	}
	p.forget(claimants)
	each := func(step func(*claimant, *pool)) {
		for _, c := range claimants {
			if c.pool != "" {
				step(c, p.pools[c.pool])
			}
		}
	}
	each(p.keep)
	each(p.restore)
	p.reserve(claimants, func(c *claimant) bool { return c.passive })
	each(p.claim)
	p.reserve(claimants, (*claimant).reserves)
	each(p.allocate)
	var out plan
	for _, c := range claimants {
		if c.shows.IsValid() && p.due(c) {
			p.leaving[c.shows] = append(p.leaving[c.shows], c)
		}
	}
	for _, c := range claimants {
		p.write(c, &out)
	}
	out.usages = p.usages(pools)
	c.planned = true
	return out
}

// usages returns what the statuses of pools ought to say. An address that Services share is used once.
func (p *planning) usages(pools []*v1beta1.ExternalIPPool) (changes []usageChange) {
	type use struct {
		pool string
		addr netip.Addr
	}
	uses, used := map[use]struct{}{}, map[string]int64{}
	for _, h := range p.held {
		uses[use{h.pool, h.addr}] = struct{}{}
	}
	for u := range uses {
		used[u.pool]++
	}
	for _, source := range slices.SortedFunc(slices.Values(pools), func(a, b *v1beta1.ExternalIPPool) int { return cmp.Compare(a.Name, b.Name) }) {
		usage := v1beta1.IPPoolUsage{Total: p.pools[source.Name].total(), Used: used[source.Name]}
		if source.Status.Usage != usage {
			changes = append(changes, usageChange{source, usage})
		}
	}
	return changes
}

// write adds what has to be written for a claimant.
func (p *planning) write(c *claimant, out *plan) {
	if c.passive {
		return
	}
	h, held := p.held[c.GetUID()]
	if c.pool != "" && p.pools[c.pool] == nil && !held {
		p.failures[c.GetUID()] = fmt.Errorf("ExternalIPPool %s does not exist", c.pool)
	}
	if c.service != nil {
		p.tell(c, out)
	}
	switch {
	case held && c.shows != h.addr && len(p.leaving[h.addr]) > 0:
		// Others still show the address. If two want to exchange their addresses, both show none for now.
		if c.service != nil && c.showsAnything() {
			out.addresses = append(out.addresses, addressChange{c, netip.Addr{}})
		}
	case held && c.shows != h.addr:
		out.addresses = append(out.addresses, addressChange{c, h.addr})
	case p.due(c):
		out.addresses = append(out.addresses, addressChange{c, netip.Addr{}})
	case c.egress != nil:
		failure := p.failures[c.GetUID()]
		if others := p.leaving[h.addr]; held && !h.granted && len(others) > 0 {
			failure = fmt.Errorf("IP %s is still shown by %s %s", h.addr, others[0].kind, others[0].name)
		} else if held {
			h.granted = true
			p.held[c.GetUID()] = h
		}
		conditions := conditionsOf(c.egress, failure)
		differ := !slices.Equal(conditions, c.egress.Status.Conditions)
		if differ {
			out.statuses = append(out.statuses, statusChange{c.egress, conditions})
		}
		if differ || p.failures[c.GetUID()] == nil {
			p.tell(c, out) // a former controller has told what the status says
		}
	}
}

// due reports whether an object must not show what it shows.
func (p *planning) due(c *claimant) bool {
	h, held := p.held[c.GetUID()]
	return !c.passive && (held && c.shows != h.addr || !held && c.showsAnything() && p.mustGo(c))
}

// mustGo reports whether a claimant that has no address must not show any. The address that an Egress asks for stays.
func (p *planning) mustGo(c *claimant) bool {
	if c.service != nil {
		released, ok := p.released[c.GetUID()]
		return c.pool != "" || ok && released == c.shows
	}
	return c.pool != "" && (p.pools[c.pool] == nil || p.moved[c.GetUID()])
}

// tell lets users know once why a Service or Egress has no address.
func (p *planning) tell(c *claimant, out *plan) {
	failure := p.failures[c.GetUID()]
	if failure == nil {
		delete(p.told, c.GetUID())
		return
	}
	if message := failure.Error(); p.told[c.GetUID()] != message {
		p.told[c.GetUID()] = message
		out.refusals = append(out.refusals, refusal{c, message})
	}
}
