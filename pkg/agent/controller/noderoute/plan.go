// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// Peer is another Node and where its Pods are.
type Peer struct {
	Name string
	// IP is where tunnel packets to the Node go.
	IP netip.Addr
	// CIDRs are its Pod CIDRs, without host bits. The first address of each is its gateway's.
	CIDRs []netip.Prefix
}

type operationKind int

const (
	installFlows operationKind = iota
	uninstallFlows
	addRoute
	deleteRoute
)

// operation is one call of the OpenFlow or the route client. peer has its IP and CIDRs in installFlows, its IP in
// addRoute; cidr is set in addRoute and deleteRoute.
type operation struct {
	kind operationKind
	peer Peer
	cidr netip.Prefix
}

// installed is what the clients hold for one Node.
type installed struct {
	// flows is nil when there are none.
	flows *flows
	// routes maps a CIDR to the transport address that the route was added with.
	routes map[netip.Prefix]netip.Addr
	// holds are the CIDRs that belong to the Node: those it wants and those that flows or routes still exist for.
	holds []netip.Prefix
}

// flows is what the Node's flows were installed with. A zero ip (here and in routes) means that an operation was begun
// and did not succeed: something may be there, so a later removal must not skip it, but it is not known to be right.
type flows struct {
	ip    netip.Addr
	cidrs []netip.Prefix
}

// plan lists the operations that lead from what is installed to what is wanted (nil: nothing). Routes lead into the
// pipeline only while its flows exist: flows come before routes, and leave after them. When the CIDRs change, the flows
// are removed and made anew, so that all that is derived from them forgets the old CIDR.
func plan(name string, have installed, want *Peer) []operation {
	var ops []operation
	for _, cidr := range slices.SortedFunc(maps.Keys(have.routes), comparePrefixes) {
		if want == nil || !slices.Contains(want.CIDRs, cidr) {
			ops = append(ops, operation{kind: deleteRoute, peer: Peer{Name: name}, cidr: cidr})
		}
	}
	flowsGo := have.flows != nil && (want == nil || !slices.Equal(have.flows.cidrs, want.CIDRs))
	if flowsGo {
		ops = append(ops, operation{kind: uninstallFlows, peer: Peer{Name: name}})
	}
	if want == nil {
		return ops
	}
	if have.flows == nil || flowsGo || have.flows.ip != want.IP {
		ops = append(ops, operation{kind: installFlows, peer: *want})
	}
	for _, cidr := range want.CIDRs {
		if have.routes[cidr] != want.IP {
			ops = append(ops, operation{kind: addRoute, peer: *want, cidr: cidr})
		}
	}
	return ops
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
