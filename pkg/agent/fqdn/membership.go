// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

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

// remember makes the names known that the selector matches and an earlier agent knew. A name with an expired address is due now.
func (c *cache) remember(s *selector, now time.Time) {
	for text, addresses := range c.former {
		if !matches(s.text, text) {
			continue
		}
		delete(c.former, text)
		n := c.newName(text)
		n.addresses = addresses
		c.schedule(n, now)
		for _, expires := range addresses {
			if !expires.After(now) {
				n.queryAt = now
			}
		}
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

func (c *cache) forget(n *name) {
	for s := range n.selectors {
		c.leave(n, s)
	}
	c.settle(n)
}
