// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

const (
	// The bounds of the number of names that only patterns match. Exact names are as many as rules have.
	maxPatternNames = 1024
	maxNames        = 10000
	// The bounds of the number of their addresses.
	maxPatternAddresses = 16384
	maxAllAddresses     = 65536

	// A name is asked for again when an address expires, but not sooner than this.
	soonestExact, soonestPattern = time.Second, 5 * time.Second
	// emptyInterval is the time after which an exact name without an address is asked for again.
	emptyInterval = 5 * time.Minute
)

// cache knows the addresses of the names that selectors match. It does no I/O and has no clock: each event has its time, and returns what
// follows from it.
type cache struct {
	minTTL     time.Duration
	perPattern limits
	selectors  map[Selector]*selector
	names      map[string]*name
	// former are addresses that an earlier agent knew, of names that no selector has matched yet.
	former map[string]map[netip.Addr]time.Time
	// pods orders the names that no exact selector matches.
	pods *ledger
	// evictions counts evicted names by the limit that was exceeded.
	evictions map[string]uint64
	// changed contains the selectors whose addresses have changed since takeChanged.
	changed map[Selector]bool
}

// limits bound the names of a ledger, and their addresses.
type limits struct{ names, addresses int }

type selector struct {
	text    Selector
	pattern bool
	set     policy.AddressSet
	// names are ordered for patterns only.
	names *ledger
}

// name is a name that at least one selector matches.
type name struct {
	text      string
	addresses map[netip.Addr]time.Time
	selectors map[*selector]bool
	// incomplete is set if a pattern that matches the name has no room for it.
	incomplete bool
	asker      Asker
	entered    map[*ledger]entry
	// queryAt is the time at which the name is asked for; zero for never. failures is the number of failed queries since the last one that succeeded.
	queryAt  time.Time
	failures int
}

func newCache(minTTL time.Duration) *cache {
	return &cache{minTTL: minTTL, perPattern: limits{maxPatternNames, maxPatternAddresses}, selectors: map[Selector]*selector{}, names: map[string]*name{}, former: map[string]map[netip.Addr]time.Time{}, pods: newLedger(limits{maxNames, maxAllAddresses}),
		evictions: map[string]uint64{}, changed: map[Selector]bool{}}
}

// takeChanged returns the selectors whose addresses have changed since the last call.
func (c *cache) takeChanged() []Selector {
	changed := slices.Sorted(maps.Keys(c.changed))
	clear(c.changed)
	return changed
}

// answered enters what a Pod was answered. It returns the selectors that match the name, none if none does. An error says that the
// addresses cannot be entered.
func (c *cache) answered(a answer, asker Asker, now time.Time) ([]Selector, error) {
	if len(a.addresses) == 0 {
		return nil, nil
	}
	n := c.names[a.name]
	if n == nil {
		if n = c.track(a.name); n == nil {
			return nil, nil
		}
		n.asker = asker
	} else if n.asker != asker {
		n.asker = several
	}
	if n.incomplete {
		n.incomplete = false
		c.joinPatterns(n)
	}
	if err := c.update(n, a, now); err != nil {
		return nil, err
	}
	c.settle(n)
	c.shrink()
	var of []Selector
	for s := range n.selectors {
		of = append(of, s.text)
	}
	slices.Sort(of)
	return of, nil
}

// update enters addresses, removes others of the same IP version that have expired, and decides when to ask again.
func (c *cache) update(n *name, a answer, now time.Time) error {
	var gone, come []netip.Addr
	for addr, expires := range n.addresses {
		asked := a.v4 && addr.Is4() || a.v6 && addr.Is6()
		if _, present := a.addresses[addr]; asked && !present && !expires.After(now) {
			gone = append(gone, addr)
		}
	}
	for addr := range a.addresses {
		if _, known := n.addresses[addr]; !known {
			come = append(come, addr)
		}
	}
	if len(n.addresses)-len(gone)+len(come) > maxAddresses {
		if len(n.addresses) == 0 && !c.exact(n) {
			c.forget(n)
		}
		return errTooMany
	}
	for addr, ttl := range a.addresses {
		expires := now.Add(max(ttl, c.minTTL))
		if old, known := n.addresses[addr]; !known || expires.After(old) {
			n.addresses[addr] = expires
		}
	}
	for _, addr := range gone {
		delete(n.addresses, addr)
	}
	c.schedule(n, now)
	if len(gone)+len(come) == 0 {
		return nil
	}
	for s := range n.selectors {
		edit := s.set.Edit()
		for _, addr := range gone {
			edit.Remove(addr)
		}
		for _, addr := range come {
			edit.Add(addr)
		}
		s.set = edit.Set()
		c.changed[s.text] = true
	}
	return nil
}

// shrink evicts names until all limits are kept.
func (c *cache) shrink() {
	for _, s := range c.selectors {
		if !s.pattern {
			continue
		}
		for n := s.names.victim(); n != nil; n = s.names.victim() {
			c.leave(n, s)
			n.incomplete = true
			c.evictions[limitSelector]++
			if len(n.selectors) == 0 {
				c.settle(n)
			}
		}
	}
	for n := c.pods.victim(); n != nil; n = c.pods.victim() {
		c.forget(n)
		c.evictions[limitTotal]++
	}
}

// Names of limits, in metrics.
const (
	limitSelector = "selector"
	limitTotal    = "total"
)

// asked enters the answer to a query of the agent. If it is not about both IP versions, the query has failed for the other version. A name that only
// patterns match is forgotten when it has no address any more.
func (c *cache) asked(a answer, now time.Time) {
	n := c.names[a.name]
	if n == nil {
		return
	}
	failures := n.failures
	if err := c.update(n, a, now); err != nil {
		c.failed(a.name, now)
		return
	}
	if !a.v4 || !a.v6 {
		n.failures = failures
		c.failed(a.name, now)
		c.hasten(n, now)
	} else if len(n.addresses) == 0 && !c.exact(n) {
		c.forget(n)
		return
	}
	for l := range n.entered {
		l.resize(n)
	}
	c.shrink()
}

// Entry is an address of a name.
type Entry struct {
	Name    string
	Address netip.Addr
	Expires time.Time
}

// entries returns all addresses, by name and address.
func (c *cache) entries() []Entry {
	var all []Entry
	for _, n := range c.names {
		for addr, expires := range n.addresses {
			all = append(all, Entry{n.text, addr, expires})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Name, b.Name), a.Address.Compare(b.Address)) })
	return all
}
