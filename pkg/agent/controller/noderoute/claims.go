// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"cmp"
	"container/heap"
	"net/netip"
	"reflect"
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/prefixindex"
)

// crowd is the number of other Nodes that must have an address in a Pod network to prove that it is not one. A single Node is not
// enough: any Node can claim an address in another's Pod network, and must not deprive it of the network.
const crowd = 2

// claim is one Pod network of a Node object.
type claim struct {
	node *object
	cidr netip.Prefix
	// by is the older claim that keeps this one from winning; crowd are the Nodes whose addresses are in it. A claim with
	// neither has won, once it has been settled.
	by    *claim
	crowd []string
	// beaten are the claims that have lost to this one.
	beaten map[*claim]bool

	queued, gone bool
}

func (c *claim) won() bool { return c.by == nil && len(c.crowd) == 0 }

// older is the order in which claims are decided. Creation times are in whole seconds; among equal ones the UID, which
// cannot be chosen, decides.
func (c *claim) older(other *claim) bool {
	return cmp.Or(cmp.Compare(c.node.created, other.node.created), cmp.Compare(c.node.uid, other.node.uid),
		cmp.Compare(c.node.name, other.node.name), c.cidr.Compare(other.cidr)) < 0
}

// verdict is the result of a claim.
type verdict struct {
	won bool
	// by and byCIDR are the claim to which it has lost; zero if it has not lost to one.
	by     string
	byCIDR netip.Prefix
	// crowd are some Nodes whose addresses are in the network.
	crowd []string
}

func (c *claim) verdict() verdict {
	v := verdict{won: c.won(), crowd: c.crowd}
	if c.by != nil {
		v.by, v.byCIDR = c.by.node.name, c.by.cidr
	}
	return v
}

// claims decides which Node has which Pod network, from all Node objects and nothing else. Claims are decided from the
// oldest Node to the youngest. A claim wins unless its network overlaps the network of an older winner, or is crowded by other
// Nodes' addresses. A claim that has lost keeps no other from winning. So a wrong object disturbs no older Node, and a
// younger one only where its own claim wins.
//
// A change settles again only the claims that it can affect.
type claims struct {
	mutex  sync.Mutex
	nodes  map[string]*object
	claims map[string][]*claim
	// winners do not overlap each other.
	winners prefixindex.Index[*claim]
	crowded map[*claim]bool
	// addresses are the addresses of all Nodes, with the Nodes' names.
	addresses prefixindex.Index[[]string]

	// pending are the claims to decide; touched has the verdicts before the present change.
	pending claimHeap
	touched map[*claim]verdict
}

func newClaims() *claims {
	return &claims{nodes: map[string]*object{}, claims: map[string][]*claim{}, crowded: map[*claim]bool{}}
}

// set enters the present content of the Node's object, nil for none. It returns whether that differs from before, and, in
// order, the other Nodes that it may affect.
func (x *claims) set(name string, now *object) (changed bool, affected []string) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	before := x.nodes[name]
	if reflect.DeepEqual(before, now) {
		return false, nil
	}
	x.touched = map[*claim]verdict{}
	if x.nodes[name] = now; now == nil {
		delete(x.nodes, name)
	}
	x.setAddresses(name, before, now)
	x.setClaims(name, before, now)
	x.settle()
	return true, slices.DeleteFunc(x.affected(), func(n string) bool { return n == name })
}

func (x *claims) setAddresses(name string, before, now *object) {
	var had, has []netip.Addr
	if before != nil {
		had = before.allAddresses()
	}
	if now != nil {
		has = now.allAddresses()
	}
	for _, addr := range had {
		if !slices.Contains(has, addr) {
			x.setAddress(addr, func(names []string) []string {
				return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
			})
		}
	}
	for _, addr := range has {
		if !slices.Contains(had, addr) {
			x.setAddress(addr, func(names []string) []string { return append(slices.Clone(names), name) })
		}
	}
}

// setAddress changes who has an address, and checks again the networks that it may crowd, or has crowded.
func (x *claims) setAddress(addr netip.Addr, change func([]string) []string) {
	p := host(addr)
	names, _ := x.addresses.Get(p)
	if names = change(names); len(names) > 0 {
		x.addresses.Set(p, names)
	} else {
		x.addresses.Delete(p)
	}
	var again []*claim
	for c := range x.crowded {
		if c.cidr.Contains(addr) {
			again = append(again, c)
		}
	}
	for _, c := range x.winners.Overlapping(p) {
		if len(x.crowdOf(c)) >= crowd {
			again = append(again, c)
		}
	}
	for _, c := range again {
		x.reopen(c)
	}
}

func (x *claims) setClaims(name string, before, now *object) {
	sameNode := before != nil && now != nil && before.uid == now.uid && before.created == now.created
	var kept []*claim
	for _, c := range x.claims[name] {
		if sameNode && slices.Contains(now.cidrs, c.cidr) {
			c.node = now
			kept = append(kept, c)
			continue
		}
		x.reopen(c)
		c.gone = true
	}
	if now == nil {
		delete(x.claims, name)
		return
	}
	for _, cidr := range now.cidrs {
		if !slices.ContainsFunc(kept, func(c *claim) bool { return c.cidr == cidr }) {
			c := &claim{node: now, cidr: cidr, beaten: map[*claim]bool{}}
			kept = append(kept, c)
			x.touched[c] = verdict{}
			x.enqueue(c)
		}
	}
	x.claims[name] = kept
}

func (x *claims) enqueue(c *claim) {
	if !c.queued {
		c.queued = true
		heap.Push(&x.pending, c)
	}
}

// reopen withdraws a claim's verdict and those that depend on it, to decide them again.
func (x *claims) reopen(c *claim) {
	if c.queued {
		return
	}
	if _, known := x.touched[c]; !known {
		x.touched[c] = c.verdict()
	}
	if c.won() {
		x.winners.Delete(c.cidr)
	}
	if c.by != nil {
		delete(c.by.beaten, c)
	}
	delete(x.crowded, c)
	c.by, c.crowd = nil, nil
	x.enqueue(c)
	for beaten := range c.beaten {
		x.reopen(beaten)
	}
}

// settle decides the pending claims, oldest first, so that everything a claim depends on is final.
func (x *claims) settle() {
	for len(x.pending) > 0 {
		c := heap.Pop(&x.pending).(*claim)
		c.queued = false
		if !c.gone {
			x.decide(c)
		}
	}
}

func (x *claims) decide(c *claim) {
	if names := x.crowdOf(c); len(names) >= crowd {
		c.crowd = names
		x.crowded[c] = true
		return
	}
	var younger []*claim
	for _, winner := range x.winners.Overlapping(c.cidr) {
		if winner.older(c) {
			c.by = winner
			winner.beaten[c] = true
			return
		}
		younger = append(younger, winner)
	}
	for _, loser := range younger {
		x.reopen(loser)
	}
	x.winners.Set(c.cidr, c)
}

// crowdOf returns up to crowd other Nodes that have an address in the claim's network.
func (x *claims) crowdOf(c *claim) (names []string) {
	for _, all := range x.addresses.Overlapping(c.cidr) {
		for _, name := range all {
			if name != c.node.name && !slices.Contains(names, name) {
				if names = append(names, name); len(names) == crowd {
					return names
				}
			}
		}
	}
	return names
}

// affected returns the Nodes whose verdict has changed, and the Nodes with an address in a Pod network that has changed.
func (x *claims) affected() []string {
	names := map[string]bool{}
	for c, before := range x.touched {
		after := c.verdict()
		after.won = after.won && !c.gone
		if reflect.DeepEqual(before, after) {
			continue
		}
		names[c.node.name] = true
		if before.won == after.won {
			continue
		}
		for _, all := range x.addresses.Overlapping(c.cidr) {
			for _, name := range all {
				names[name] = true
			}
		}
	}
	x.touched = nil
	return sortedKeys(names)
}

// verdict returns the verdict on the Node's claim.
func (x *claims) verdict(name string, cidr netip.Prefix) verdict {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	for _, c := range x.claims[name] {
		if c.cidr == cidr {
			return c.verdict()
		}
	}
	return verdict{}
}

// winnersOver returns the winning claims of other Nodes than the given one that overlap a network, in order.
func (x *claims) winnersOver(p netip.Prefix, except string) (found []Network, names []string) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	for cidr, c := range x.winners.Overlapping(p) {
		if c.node.name != except {
			found, names = append(found, Network{CIDR: cidr}), append(names, c.node.name)
		}
	}
	return found, names
}

// claimHeap has the oldest claim first.
type claimHeap []*claim

func (h claimHeap) Len() int           { return len(h) }
func (h claimHeap) Less(i, j int) bool { return h[i].older(h[j]) }
func (h claimHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *claimHeap) Push(c any)        { *h = append(*h, c.(*claim)) }
func (h *claimHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}

func host(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }
