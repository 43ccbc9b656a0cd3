// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
)

// Egress is an Egress with an address of a pool.
type Egress struct {
	Name    string
	Created time.Time
	Pool    string
	Addr    netip.Addr
}

// Schedule returns the Nodes of Egresses by name. Without an entry no Node can have the address. rings has the Nodes that are alive and
// that a pool selects, by pool. limit is the number of addresses that a Node may have; an address of several Egresses counts once. The
// oldest Egress is first, and of equal age the first by name.
func Schedule(egresses []Egress, rings map[string]*memberlist.Ring, limit func(node string) int) map[string]string {
	egresses = slices.SortedFunc(slices.Values(egresses), func(a, b Egress) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	nodes := map[string]string{}
	addresses := map[string]map[netip.Addr]struct{}{}
	for _, e := range egresses {
		ring := rings[e.Pool]
		if ring == nil {
			continue
		}
		node, ok := ring.Owner(e.Addr.String(), func(node string) bool {
			_, has := addresses[node][e.Addr]
			return has || len(addresses[node]) < limit(node)
		})
		if !ok {
			continue
		}
		if addresses[node] == nil {
			addresses[node] = map[netip.Addr]struct{}{}
		}
		addresses[node][e.Addr] = struct{}{}
		nodes[e.Name] = node
	}
	return nodes
}
