// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import "net/netip"

// keyDelta is how the shared flows that a rule uses change.
type keyDelta struct {
	// removed are flows that it uses no more, some of them several times.
	removed []clauseKey
	// added are flows that it uses from now on, or at another place in the conjunction than before.
	added map[clauseKey]dimension
}

func (d *keyDelta) empty() bool { return len(d.removed)+len(d.added) == 0 }

// keyDelta compares two versions of a rule, either of which may be nil. Peers may be very many, so as long as their flows have the
// same place in the conjunction only those are looked at that come and go.
func (g policyFlows) keyDelta(old, r *PolicyRule) *keyDelta {
	delta := &keyDelta{added: map[clauseKey]dimension{}}
	delta.addFixed(g.fixedKeys(old), g.fixedKeys(r))
	before, after := g.layout(old).peers, g.layout(r).peers
	remove := func(peer netip.Prefix) { delta.removed = append(delta.removed, old.peerKey(peer)) }
	add := func(peer netip.Prefix) { delta.added[r.peerKey(peer)] = after }
	var unused dimension
	if before != unused && before == after && old.Direction == r.Direction {
		g.peersOf(old).diff(g.peersOf(r), remove, add)
		return delta
	}
	if before != unused {
		g.peersOf(old).diff(g.peersOf(nil), remove, add)
	}
	if after != unused {
		g.peersOf(nil).diff(g.peersOf(r), remove, add)
	}
	return delta
}

// addFixed adds how the flows other than the peers' change.
func (d *keyDelta) addFixed(before, after map[clauseKey]dimension) {
	for key := range before {
		if _, stays := after[key]; !stays {
			d.removed = append(d.removed, key)
		}
	}
	for key, dimension := range after {
		if old, had := before[key]; !had || old != dimension {
			d.added[key] = dimension
		}
	}
}

// fixedKeys returns the shared flows that a rule uses, except for the peers'.
func (g policyFlows) fixedKeys(r *PolicyRule) map[clauseKey]dimension {
	keys := map[clauseKey]dimension{}
	if r == nil {
		return keys
	}
	if layout := g.layout(r); layout.applied.clauses > 0 {
		for _, key := range g.appliedClause(r, false) {
			keys[key] = layout.applied
		}
		for _, key := range g.serviceClause(r) {
			keys[key] = layout.services
		}
	}
	for _, key := range g.appliedClause(r, true) {
		keys[key] = dimension{}
	}
	return keys
}
