// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// keyDelta is the difference in the shared flows that two versions of a rule use.
type keyDelta struct {
	// removed are flows that the rule no longer uses, some several times.
	removed []clauseKey
	// added are flows that the rule newly uses, or uses at another place in the conjunction than before.
	added map[clauseKey]dimension
	// fixed is the number of those that are not peers.
	fixed int
}

func (d *keyDelta) empty() bool { return len(d.removed)+len(d.added) == 0 }

// keyDelta compares two versions of a rule, either of which may be nil. A rule can have very many peers: while their flows
// keep their place in the conjunction, only added and removed peers are visited.
func (g policyFlows) keyDelta(old, r *policy.Rule) *keyDelta {
	delta := &keyDelta{added: map[clauseKey]dimension{}}
	delta.addFixed(g.fixedKeys(old), g.fixedKeys(r))
	delta.fixed = len(delta.removed) + len(delta.added)
	before, after := g.layout(old).peers, g.layout(r).peers
	from, to := peerBase(old), peerBase(r)
	remove := func(peer netip.Prefix) { delta.removed = append(delta.removed, from.peer(peer)) }
	add := func(peer netip.Prefix) { delta.added[to.peer(peer)] = after }
	var unused dimension
	if before != unused && before == after && from == to {
		g.peersOf(old).Diff(g.peersOf(r), remove, add)
		return delta
	}
	if before != unused {
		g.peersOf(old).Diff(g.peersOf(nil), remove, add)
	}
	if after != unused {
		g.peersOf(nil).Diff(g.peersOf(r), remove, add)
	}
	return delta
}

// peerBase returns the common part of the keys of a rule's peers at level 0. The rule may be nil. Of a rule that is applied to NodePorts, they
// are the clients' addresses: the source may be translated by the time that the packet meets the rule.
func peerBase(r *policy.Rule) clauseKey {
	key := baseKey(r)
	key.original = r != nil && len(r.AppliedToServices) > 0
	return key
}

// addFixed adds the changes of all flows except for the peers'.
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
func (g policyFlows) fixedKeys(r *policy.Rule) map[clauseKey]dimension {
	keys := map[clauseKey]dimension{}
	if r == nil {
		return keys
	}
	if layout := g.layout(r); layout.applied.clauses > 0 {
		for _, key := range g.appliedClause(baseKey(r), r) {
			keys[key] = layout.applied
		}
		for _, key := range g.serviceClause(r) {
			keys[key] = layout.services
		}
		for _, key := range g.peerServices(r) {
			keys[key] = layout.peers
		}
	}
	if r.Effect.Isolates {
		for _, key := range g.appliedClause(isolationKey(r.Direction), r) {
			keys[key] = dimension{logged: r.LogReference != ""}
		}
	}
	return keys
}
