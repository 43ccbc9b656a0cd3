// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeipam

import (
	"cmp"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
)

// Config says from which networks to allocate: at most one of each IP version.
type Config struct {
	// Cluster are the networks to divide. Bits4 and Bits6 are the prefix lengths of a Node's networks, at most 16 longer: memory is allocated for
	// each of them.
	Cluster      []netip.Prefix
	Bits4, Bits6 int
	// Services are networks of which no Node gets a part.
	Services []netip.Prefix
}

// node has the parts of a Node object that matter here.
type node struct {
	name, uid string
	// networks are its Pod networks. unreadable says that it has some, but not which.
	networks   []netip.Prefix
	unreadable bool
}

// operation gives a Node networks, one from each pool; or says why it gets none.
type operation struct {
	node     node
	networks []netip.Prefix
	refusal  string
}

// allocator decides which networks Nodes get.
type allocator struct {
	pools    []*pool
	services []netip.Prefix
}

func newAllocator(c Config) *allocator {
	a := &allocator{services: c.Services}
	for _, network := range c.Cluster {
		bits := c.Bits6
		if network.Addr().Is4() {
			bits = c.Bits4
		}
		a.pools = append(a.pools, &pool{network: network, bits: bits, next: -1})
	}
	return a
}

// plan returns the operations for the Nodes without networks, in their order. nodes are all Nodes.
func (a *allocator) plan(nodes []node) []operation {
	for _, p := range a.pools {
		p.read(a.services, nodes)
	}
	var operations []operation
	for _, n := range nodes {
		if len(n.networks) > 0 || n.unreadable {
			continue
		}
		o := operation{node: n}
		if full := slices.IndexFunc(a.pools, func(p *pool) bool { return p.free == 0 }); full >= 0 {
			o.refusal = fmt.Sprintf("all %d networks /%d of %s are in use", len(a.pools[full].used), a.pools[full].bits, a.pools[full].network)
		} else {
			for _, p := range a.pools {
				o.networks = append(o.networks, p.take())
			}
		}
		operations = append(operations, o)
	}
	return operations
}

// overlap returns two Nodes, of which the first comes first in nodes, and the network of one of them in which the other has addresses too; nil if there are
// none. Of networks, one contains another or they have nothing in common.
func overlap(nodes []node) (first, second *node, network netip.Prefix) {
	type owned struct {
		network netip.Prefix
		node    int
	}
	var all []owned
	for i, n := range nodes {
		for _, network := range n.networks {
			all = append(all, owned{network, i})
		}
	}
	slices.SortFunc(all, func(a, b owned) int {
		return cmp.Or(a.network.Addr().Compare(b.network.Addr()), cmp.Compare(a.network.Bits(), b.network.Bits()), cmp.Compare(a.node, b.node))
	})
	var outer owned
	for _, inner := range all {
		switch {
		case !inner.network.Overlaps(outer.network):
			outer = inner
		case inner.node != outer.node:
			return &nodes[min(inner.node, outer.node)], &nodes[max(inner.node, outer.node)], inner.network
		}
	}
	return nil, nil, netip.Prefix{}
}

// pool is a network that is divided into parts of the same size.
type pool struct {
	network netip.Prefix
	bits    int
	// used has the parts that no Node may get, and free is the number of the others.
	used []bool
	free int
	// next is the part at which the search begins, -1 before the first reading. As long as the controller runs, a part that was given back is taken again
	// after all others, when no Node remembers its former owner. A new controller begins behind the last used part.
	next int
}

// read finds the used parts.
func (p *pool) read(services []netip.Prefix, nodes []node) {
	p.used = make([]bool, 1<<(p.bits-p.network.Bits()))
	for _, network := range services {
		p.mark(network)
	}
	highest := -1
	for _, n := range nodes {
		for _, network := range n.networks {
			highest = max(highest, p.mark(network))
		}
	}
	if p.next < 0 {
		p.next = highest + 1
	}
	p.free = 0
	for _, used := range p.used {
		if !used {
			p.free++
		}
	}
}

// mark marks the parts that overlap a network as used, and returns the last of them; -1 if there are none.
func (p *pool) mark(network netip.Prefix) (last int) {
	if !p.network.Overlaps(network) {
		return -1
	}
	if network.Bits() <= p.network.Bits() {
		for i := range p.used {
			p.used[i] = true
		}
		return len(p.used) - 1
	}
	first := p.index(network.Addr())
	for i := range 1 << max(0, p.bits-network.Bits()) {
		p.used[first+i] = true
		last = first + i
	}
	return last
}

// take returns a free part, of which there must be one.
func (p *pool) take() netip.Prefix {
	for p.next %= len(p.used); p.used[p.next]; {
		p.next = (p.next + 1) % len(p.used)
	}
	part := p.part(p.next)
	p.used[p.next] = true
	p.free--
	p.next++
	return part
}

// index returns the part with an address of the pool.
func (p *pool) index(address netip.Addr) int {
	offset := new(big.Int).Sub(number(address), number(p.network.Addr()))
	return int(offset.Rsh(offset, uint(address.BitLen()-p.bits)).Int64())
}

// part is the inverse of index.
func (p *pool) part(index int) netip.Prefix {
	size := p.network.Addr().BitLen()
	offset := new(big.Int).Lsh(big.NewInt(int64(index)), uint(size-p.bits))
	address, _ := netip.AddrFromSlice(offset.Add(offset, number(p.network.Addr())).FillBytes(make([]byte, size/8)))
	return netip.PrefixFrom(address, p.bits)
}

func number(address netip.Addr) *big.Int { return new(big.Int).SetBytes(address.AsSlice()) }
