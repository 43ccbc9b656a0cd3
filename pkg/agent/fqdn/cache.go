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

// add makes the selector known. An exact name is asked for at once.
func (c *cache) add(text Selector, now time.Time) {
	if text == "" || c.selectors[text] != nil {
		return
	}
	s := &selector{text: text, pattern: isPattern(text)}
	s.set = s.set.Edit().Set()
	c.selectors[text] = s
	if s.pattern {
		s.names = newLedger(c.perPattern)
	}
	c.remember(s, now)
	if !s.pattern {
		n := c.names[text]
		if n == nil {
			n = c.newName(text)
		}
		n.queryAt = now
		c.pods.remove(n)
		for other := range n.selectors {
			if other.pattern {
				other.names.remove(n)
			}
		}
		c.join(n, s)
		c.joinPatterns(n)
		return
	}
	for _, text := range slices.Sorted(maps.Keys(c.names)) {
		if matches(s.text, text) {
			c.join(c.names[text], s)
		}
	}
	c.shrink()
}

// remember makes the names known that the selector matches and an earlier agent knew.
func (c *cache) remember(s *selector, now time.Time) {
	for text, addresses := range c.former {
		if !matches(s.text, text) {
			continue
		}
		delete(c.former, text)
		n := c.newName(text)
		for addr, expires := range addresses {
			if expires.After(now) {
				n.addresses[addr] = expires
			}
		}
		if len(n.addresses) == 0 {
			delete(c.names, text)
			continue
		}
		c.schedule(n, now)
		c.join(n, s)
		c.joinPatterns(n)
		c.settle(n)
	}
}

func (c *cache) newName(text string) *name {
	delete(c.former, text)
	n := &name{text: text, addresses: map[netip.Addr]time.Time{}, selectors: map[*selector]bool{}, entered: map[*ledger]entry{}}
	c.names[text] = n
	return n
}

// exact reports whether a rule contains the name itself. Its number is bounded by the rules.
func (c *cache) exact(n *name) bool {
	return c.selectors[n.text] != nil && !c.selectors[n.text].pattern
}

// remove forgets the selector, and names that no other selector matches.
func (c *cache) remove(text Selector) {
	s := c.selectors[text]
	if s == nil {
		return
	}
	delete(c.selectors, text)
	delete(c.changed, text)
	for _, text := range slices.Sorted(maps.Keys(c.names)) {
		if n := c.names[text]; n.selectors[s] {
			delete(n.selectors, s)
			if s.pattern {
				s.names.remove(n)
			}
			if _, counted := n.entered[c.pods]; !counted || len(n.selectors) == 0 {
				c.settle(n)
			}
		}
	}
	c.shrink()
}

// settle forgets the name if no selector is left, and otherwise makes it the most recently resolved name.
func (c *cache) settle(n *name) {
	if len(n.selectors) == 0 {
		c.pods.remove(n)
		delete(c.names, n.text)
		return
	}
	if c.exact(n) {
		return
	}
	c.pods.enter(n)
	for s := range n.selectors {
		s.names.enter(n)
	}
}

func (c *cache) join(n *name, s *selector) {
	if n.selectors[s] {
		return
	}
	n.selectors[s] = true
	edit := s.set.Edit()
	for addr := range n.addresses {
		edit.Add(addr)
	}
	s.set = edit.Set()
	if len(n.addresses) > 0 {
		c.changed[s.text] = true
	}
	if s.pattern && !c.exact(n) {
		s.names.enter(n)
	}
}

// leave removes the name's addresses from the selector's.
func (c *cache) leave(n *name, s *selector) {
	edit := s.set.Edit()
	for addr := range n.addresses {
		edit.Remove(addr)
	}
	s.set = edit.Set()
	c.changed[s.text] = true
	delete(n.selectors, s)
	if s.pattern {
		s.names.remove(n)
	}
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

// track begins to know a name, if a pattern matches it.
func (c *cache) track(text string) *name {
	n := &name{text: text}
	for _, s := range c.selectors {
		if s.pattern && matches(s.text, text) {
			n = c.newName(text)
			c.joinPatterns(n)
			return n
		}
	}
	return nil
}

func (c *cache) joinPatterns(n *name) {
	for _, s := range c.selectors {
		if s.pattern && matches(s.text, n.text) {
			c.join(n, s)
		}
	}
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

// schedule decides when the name is asked for: when its first address expires.
func (c *cache) schedule(n *name, now time.Time) {
	n.queryAt, n.failures = time.Time{}, 0
	for _, expires := range n.addresses {
		if n.queryAt.IsZero() || expires.Before(n.queryAt) {
			n.queryAt = expires
		}
	}
	soonest := now.Add(soonestPattern)
	if c.exact(n) {
		soonest = now.Add(soonestExact)
		if n.queryAt.IsZero() {
			soonest = now.Add(emptyInterval)
		}
	}
	if n.queryAt.Before(soonest) {
		n.queryAt = soonest
	}
}

func (c *cache) forget(n *name) {
	for s := range n.selectors {
		c.leave(n, s)
	}
	c.settle(n)
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

// takeDue returns at most limit names to ask for now, exact ones first, and then the ones that have been due longest. They are due again
// when asked or failed is called.
func (c *cache) takeDue(limit int, now time.Time) []string {
	var due []*name
	for _, n := range c.names {
		if !n.queryAt.IsZero() && !n.queryAt.After(now) {
			due = append(due, n)
		}
	}
	slices.SortFunc(due, func(a, b *name) int {
		if exact := c.exact(a); exact != c.exact(b) {
			if exact {
				return -1
			}
			return 1
		}
		return cmp.Or(a.queryAt.Compare(b.queryAt), cmp.Compare(a.text, b.text))
	})
	var texts []string
	for _, n := range due[:min(limit, len(due))] {
		n.queryAt = time.Time{}
		texts = append(texts, n.text)
	}
	return texts
}

// asked enters the answer to a query of the agent, about both IP versions. A name that only patterns match is forgotten when it has no
// address any more.
func (c *cache) asked(a answer, now time.Time) {
	n := c.names[a.name]
	if n == nil {
		return
	}
	a.v4, a.v6 = true, true
	if err := c.update(n, a, now); err != nil {
		c.failed(a.name, now)
		return
	}
	if len(n.addresses) == 0 && !c.exact(n) {
		c.forget(n)
		return
	}
	for l := range n.entered {
		l.resize(n)
	}
	c.shrink()
}

// failed schedules the next query of a name after 5 s, 10 s, ... 300 s.
func (c *cache) failed(text string, now time.Time) {
	const first, last = 5 * time.Second, 300 * time.Second
	if n := c.names[text]; n != nil {
		n.queryAt = now.Add(min(first<<min(n.failures, 10), last))
		n.failures++
	}
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
