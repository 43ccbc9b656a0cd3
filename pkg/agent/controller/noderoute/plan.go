// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"maps"
	"net/netip"
	"slices"
)

// Peer is another Node and the location of its Pods.
type Peer struct {
	Name     string
	Networks []Network
}

// Network is one Pod CIDR of a Node, without host bits. Its first address belongs to the Node's gateway.
type Network struct {
	CIDR netip.Prefix
	// IP is the destination of tunnel packets for the CIDR, an address of either family.
	IP netip.Addr
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
	// routes maps a CIDR to the transport address that the route was added with.
	routes map[netip.Prefix]netip.Addr
	// holds are the CIDRs that belong to the Node: those that it wants and those for which flows or routes still exist.
	holds []netip.Prefix
}

// flows are the parameters of the Node's flows. Without known (in routes: a zero address) an operation was started and did
// not succeed. Something may exist, so a later removal must not skip it, but it is not known to be right.
type flows struct {
	peer  Peer
	known bool
}

// plan lists the operations that lead from the installed state to the wanted one (nil: nothing). Routes lead into the
// pipeline only while its flows exist: flows are added before routes, and removed after them. When the CIDRs change, the
// flows are removed and added again, so that everything derived from them forgets the old CIDR.
func plan(name string, have installed, want *Peer) []operation {
	var ops []operation
	for _, cidr := range slices.SortedFunc(maps.Keys(have.routes), netip.Prefix.Compare) {
		if want == nil || !slices.Contains(want.cidrs(), cidr) {
			ops = append(ops, operation{kind: deleteRoute, peer: Peer{Name: name}, network: Network{CIDR: cidr}})
		}
	}
	flowsGo := have.flows != nil && (want == nil || !slices.Equal(have.flows.peer.cidrs(), want.cidrs()))
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
		if have.routes[network.CIDR] != network.IP {
			ops = append(ops, operation{kind: addRoute, peer: *want, network: network})
		}
	}
	return ops
}
