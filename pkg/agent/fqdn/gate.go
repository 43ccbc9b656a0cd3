// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"maps"
	"slices"
)

// need contains, by selector, the version of its addresses that the rules must have.
type need map[Selector]uint64

// add makes the need at least as great as other.
func (n need) add(other need) {
	for s, version := range other {
		n[s] = max(n[s], version)
	}
}

// gate knows which versions of the selectors' addresses the rules have.
type gate map[Selector]*versions

type versions struct {
	// latest is the number of changes of the addresses, realized the latest one that the rules have, requested the one that was asked for
	// last.
	latest, requested, realized uint64
}

func (g gate) of(s Selector) *versions {
	v := g[s]
	if v == nil {
		v = &versions{}
		g[s] = v
	}
	return v
}

// now returns the need for the present addresses of selectors.
func (g gate) now(of []Selector) need {
	n := need{}
	for _, s := range of {
		if v := g.of(s); v.realized < v.latest {
			n[s] = v.latest
		}
	}
	return n
}

// open reports whether the rules have all that is needed. A selector that is not known any more is not needed.
func (g gate) open(n need) bool {
	for s, version := range n {
		if v := g[s]; v != nil && v.realized < version {
			return false
		}
	}
	return true
}

// again requests what failed before, because someone needs it.
func (g gate) again(n need) {
	for s := range n {
		if v := g[s]; v != nil && v.requested == failed {
			v.requested = v.realized
		}
	}
}

// failed is the requested version of a selector whose latest request failed, until it is needed.
const failed = ^uint64(0)

// request returns the selectors to realize now, with their versions.
func (g gate) request() ([]Selector, need) {
	wanted := need{}
	for s, v := range g {
		if v.requested < v.latest {
			v.requested = v.latest
			wanted[s] = v.latest
		}
	}
	return slices.Sorted(maps.Keys(wanted)), wanted
}

// realized enters the outcome of a request.
func (g gate) realized(wanted need, failures map[Selector]error) {
	for s, version := range wanted {
		v := g[s]
		switch {
		case v == nil:
		case failures[s] == nil:
			v.realized = max(v.realized, version)
		case v.requested == version:
			v.requested = failed
		}
	}
}

// change enters a change of the addresses of a selector. It is requested also if the request for a former one has failed.
func (g gate) change(s Selector) {
	v := g.of(s)
	v.latest++
	if v.requested == failed {
		v.requested = v.realized
	}
}
