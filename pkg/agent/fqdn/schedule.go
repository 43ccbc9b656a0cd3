// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"cmp"
	"slices"
	"time"
)

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

// failed schedules the next query of a name after 5 s, 10 s, ... 300 s.
func (c *cache) failed(text string, now time.Time) {
	const first, last = 5 * time.Second, 300 * time.Second
	if n := c.names[text]; n != nil {
		n.queryAt = now.Add(min(first<<min(n.failures, 10), last))
		n.failures++
	}
}

// hasten lets the next query of a name that has failed in part be no later than the end of an address, which the other part will answer.
func (c *cache) hasten(n *name, now time.Time) {
	for _, expires := range n.addresses {
		if expires.After(now) && expires.Before(n.queryAt) {
			n.queryAt = expires
		}
	}
	if soonest := now.Add(soonestPattern); n.queryAt.Before(soonest) {
		n.queryAt = soonest
	}
}
