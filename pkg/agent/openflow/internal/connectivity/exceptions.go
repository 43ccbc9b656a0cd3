// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/flowstore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// exceptions lead packets to remote Nodes themselves past Egress, by one flow for each address: several Nodes may claim one, and the flow
// stays until the last of them goes. They change only within a change of the flows.
type exceptions struct {
	socket *pipeline.Socket
	cache  *flowstore.Cache
	byNode map[string][]netip.Addr
	// holders contains the number of Nodes with an address.
	holders map[netip.Addr]int
}

func newExceptions(socket *pipeline.Socket) *exceptions {
	return &exceptions{socket, socket.Cache("addresses of nodes"), map[string][]netip.Addr{}, map[netip.Addr]int{}}
}

// addressesOf returns the addresses of a Node with these Pod networks that packets of Pods can have as destination.
func addressesOf(g *pipeline.Generator, peers map[netip.Prefix]Peer) (addrs []netip.Addr) {
	if !g.Features.Egress {
		return nil
	}
	for _, cidr := range sortedPrefixes(peers) {
		to := peers[cidr].Reach
		_, hasPods := g.FamilyOf(cidr.Addr())
		if _, ok := g.FamilyOf(to.Address); ok && hasPods && !slices.Contains(addrs, to.Address) {
			addrs = append(addrs, to.Address)
		}
	}
	return addrs
}

// plans returns the changes by which a Node gets addresses in place of its former ones. After they are made, set records that.
func (e *exceptions) plans(g *pipeline.Generator, node string, addrs []netip.Addr) (plans []flowstore.Plan) {
	former := e.byNode[node]
	for _, addr := range addrs {
		f, ok := g.FamilyOf(addr)
		if !ok || e.holders[addr] > 0 || slices.Contains(former, addr) {
			continue
		}
		// The base flows have the exceptions for this Node's own addresses.
		if flows := []of.Flow{g.EgressException(f, pipeline.Host(addr))}; e.socket.CheckNotBase(flows) == nil {
			plans = append(plans, e.cache.Plan(addr.String(), flows))
		}
	}
	for _, addr := range former {
		if e.holders[addr] == 1 && !slices.Contains(addrs, addr) {
			plans = append(plans, e.cache.Plan(addr.String(), nil))
		}
	}
	return plans
}

func (e *exceptions) set(node string, addrs []netip.Addr) {
	for _, addr := range e.byNode[node] {
		if e.holders[addr]--; e.holders[addr] == 0 {
			delete(e.holders, addr)
		}
	}
	for _, addr := range addrs {
		e.holders[addr]++
	}
	if e.byNode[node] = addrs; len(addrs) == 0 {
		delete(e.byNode, node)
	}
}
