// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import "math/bits"

// Each packet that opens a connection to a port with affinity makes the switch learn a flow, also from a forged source or one of the
// 2^64 addresses of an IPv6 network. Measured on Open vSwitch 3.1, a learned flow takes 2.7 KB of ovs-vswitchd's memory. So the learn
// action bounds their number. At the bound a new client gets an Endpoint for each connection, as without affinity. Each port and scope
// (a list) has its own bound, so that clients of one Service do not use up the affinities of others.
const (
	// maxAffinities is the number of learned flows of all lists: 90 MB. More than maxAffinities/MinAffinitiesOfList lists have more, which
	// only those who create Services can reach.
	maxAffinities = 32768
	// MaxAffinitiesOfList also bounds the flows that the switch counts whenever it learns.
	MaxAffinitiesOfList = 8192
	MinAffinitiesOfList = 64
)

// affinityLimit returns the bound of each list if there are this many lists. It changes only when their number passes a power of two.
func affinityLimit(lists int) uint32 {
	if lists <= 1 {
		return MaxAffinitiesOfList
	}
	power := 1 << bits.Len(uint(lists-1))
	return uint32(min(max(maxAffinities/power, MinAffinitiesOfList), MaxAffinitiesOfList))
}

// lists returns the scopes for which the switch learns flows of the port.
func (p *installedPort) lists() (lists []scope) {
	if p == nil || p.Affinity == 0 {
		return nil
	}
	var has [scopes]bool
	for _, f := range p.Frontends {
		has[scopeOf(f)] = true
	}
	for to := range scopes {
		if has[to] {
			lists = append(lists, to)
		}
	}
	return lists
}

// bounds is the bound of the lists before or after a change.
type bounds struct {
	// lists is the number of lists, limit the bound of each.
	lists int
	limit uint32
}

// after returns the bounds once new (nil: none) replaces the port old. A bound that was lowered rises again only when there is room
// for twice as many lists, so that a port that comes and goes does not change the flows of all others.
func (b bounds) after(old, new *installedPort) bounds {
	b.lists += len(new.lists()) - len(old.lists())
	if limit := affinityLimit(b.lists); limit < b.limit || affinityLimit(2*b.lists) > b.limit {
		b.limit = limit
	}
	return b
}
