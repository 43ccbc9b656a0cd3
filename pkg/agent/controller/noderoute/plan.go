// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// Peer is another Node and the location of its Pods.
type Peer struct {
	Name     string
	Networks []Network
}

// Network is one Pod CIDR of a Node, without host bits. Its first address belongs to the Node's gateway.
type Network struct {
	CIDR  netip.Prefix
	Reach reach.Reach
}

// cidrs lists the Pod CIDRs of the peer.
func (p *Peer) cidrs() []netip.Prefix {
	cidrs := make([]netip.Prefix, len(p.Networks))
	for i, n := range p.Networks {
		cidrs[i] = n.CIDR
	}
	return cidrs
}

type operationKind int

const (
	installFlows operationKind = iota
	uninstallFlows
	addRoute
	deleteRoute
)

// operation is one call of the OpenFlow or the route client. peer has its networks in installFlows; network is set in
// addRoute, its CIDR in deleteRoute.
type operation struct {
	kind    operationKind
	peer    Peer
	network Network
}

// installed is the state of the clients for one Node.
type installed struct {
	// flows is nil when there are none.
	flows *flows
	// routes are the routes by CIDR.
	routes map[netip.Prefix]routeTo
	// holds are the CIDRs that belong to the Node: the ones that it wants and the ones for which flows or routes still exist.
	holds []netip.Prefix
}

// flows are the parameters of the Node's flows. Unless known is set, an operation was started and did not succeed: something may exist,
// so a later removal must not skip it, but it is not known to be right.
type flows struct {
	peer  Peer
	known bool
}

// routeTo is the Reach with which a route was added. Known means the same as for flows.
type routeTo struct {
	reach reach.Reach
	known bool
}

// sameWay reports whether two Nodes have the Pod network in common, reached by the same kind of Reach, or by kinds of which flows and routes
// replace each other's in one step, so that connections continue when a Node moves to another subnet.
func (n Network) sameWay(other Network) bool {
	exchangeable := func(k reach.Kind) bool { return k == reach.Tunnel || k.IsPlain() }
	return n.CIDR == other.CIDR && (n.Reach.Kind == other.Reach.Kind || exchangeable(n.Reach.Kind) && exchangeable(other.Reach.Kind))
}

// plan lists the operations that lead from the installed state to the wanted one (nil: nothing). Routes lead into the
// pipeline only while its flows exist: flows are added before routes, and removed after them. When a CIDR changes, or its way (sameWay),
// routes and flows are removed and added again, so that everything derived from them forgets the old one. If the new ones are refused,
// packets go nowhere, rather than in a way that is no longer wanted.
func plan(name string, have installed, want *Peer) []operation {
	var ops []operation
	for _, cidr := range slices.SortedFunc(maps.Keys(have.routes), netip.Prefix.Compare) {
		if want == nil || !slices.ContainsFunc(want.Networks, Network{cidr, have.routes[cidr].reach}.sameWay) {
			ops = append(ops, operation{kind: deleteRoute, peer: Peer{Name: name}, network: Network{CIDR: cidr}})
		}
	}
	flowsGo := have.flows != nil && (want == nil || !slices.EqualFunc(have.flows.peer.Networks, want.Networks, Network.sameWay))
	if flowsGo {
		ops = append(ops, operation{kind: uninstallFlows, peer: Peer{Name: name}})
	}
	if want == nil {
		return ops
	}
	if have.flows == nil || flowsGo || !have.flows.known || !slices.Equal(have.flows.peer.Networks, want.Networks) {
		ops = append(ops, operation{kind: installFlows, peer: *want})
	}
	for _, network := range want.Networks {
		if have.routes[network.CIDR] != (routeTo{network.Reach, true}) {
			ops = append(ops, operation{kind: addRoute, peer: *want, network: network})
		}
	}
	return ops
}
