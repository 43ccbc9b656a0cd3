// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dependency has the one list of the addresses that this Node depends on, and the function that says whether one of them is.
// docs/operate/limits.md ("What a Service may not take away from a Node") describes what follows for Services.
//
// list.go is the list, without I/O. sources.go finds what is not in an object of the Kubernetes API: servers that the agent is configured with,
// open connections, name servers and next hops of the Node.
package dependency

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/prefixindex"
)

// Kind is the kind of use that a Service may not take away.
type Kind uint8

const (
	// None: the Node does not depend on the address.
	None Kind = iota
	// Host: the Node's own packets to the address, whatever their port, must go where they go. Pods may find something else there.
	Host
	// Server: the Node, or what runs on it, asks a server at the port.
	Server
	// Pipeline: the address has a meaning in the pipeline and between it and the host. No Service may have it.
	Pipeline
)

// Address is an address that the Node depends on.
type Address struct {
	Addr netip.Addr
	// Port is the port of a server; 0 for all ports.
	Port uint16
	Kind Kind
	// A name for the use, which completes "it is".
	What string
	// Service is NAMESPACE/NAME of the only Service that can be the server, or NoService; empty if any can that has the address from the
	// cluster or from a load balancer, and not from its author.
	Service string
}

// NoService says that no Service is the server.
const NoService = "none"

// List is all that the Node depends on. It is not safe for concurrent use.
type List struct {
	// given has the addresses of each source. There are few.
	given map[string][]Address
	at    map[netip.Addr][]Address
	// nodes counts the Nodes that have an address, networks those that have a Pod network.
	nodes    map[netip.Addr]int
	networks prefixindex.Index[int]
}

// NewList makes a list with nothing but what every Node depends on.
func NewList() *List {
	return &List{given: map[string][]Address{}, at: map[netip.Addr][]Address{}, nodes: map[netip.Addr]int{}}
}

// Set replaces the addresses of a source. It returns the addresses whose result has changed.
func (l *List) Set(source string, now []Address) (changed []netip.Addr) {
	former := l.at
	if l.given[source] = now; len(now) == 0 {
		delete(l.given, source)
	}
	l.at = map[netip.Addr][]Address{}
	for _, given := range l.given {
		for _, a := range given {
			l.at[a.Addr] = append(l.at[a.Addr], a)
		}
	}
	for addr, list := range l.at {
		slices.SortFunc(list, compare)
		if l.at[addr] = slices.Compact(list); !slices.Equal(l.at[addr], former[addr]) {
			changed = append(changed, addr)
		}
	}
	for addr := range former {
		if l.at[addr] == nil {
			changed = append(changed, addr)
		}
	}
	slices.SortFunc(changed, netip.Addr.Compare)
	return changed
}

func compare(a, b Address) int {
	return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Port, b.Port), cmp.Compare(a.What, b.What), cmp.Compare(a.Service, b.Service))
}

// CountNode adds by to the number of Nodes with the address. It reports whether the result for it has changed.
func (l *List) CountNode(addr netip.Addr, by int) (changed bool) {
	before := l.nodes[addr]
	if l.nodes[addr] += by; before+by == 0 {
		delete(l.nodes, addr)
	}
	return before == 0 || before+by == 0
}

// CountNetwork adds by to the number of Nodes with the Pod network. It reports whether the result for its addresses has
// changed.
func (l *List) CountNetwork(network netip.Prefix, by int) (changed bool) {
	before, _ := l.networks.Get(network)
	if before+by == 0 {
		l.networks.Delete(network)
	} else {
		l.networks.Set(network, before+by)
	}
	return before == 0 || before+by == 0
}

// InPodNetwork reports whether the address is in the Pod network of any Node.
func (l *List) InPodNetwork(addr netip.Addr) bool {
	for range l.networks.Overlapping(netip.PrefixFrom(addr, addr.BitLen())) {
		return true
	}
	return false
}

// Needs says what the Node depends on at the address and port, on the address alone with port 0: of several, what forbids most. The Kind is None
// for nothing.
func (l *List) Needs(addr netip.Addr, port uint16) Address {
	return l.NeedsBut(addr, func(p uint16) bool { return port != 0 && p != port })
}

// NeedsBut is Needs for all ports of the address except those that are excepted.
func (l *List) NeedsBut(addr netip.Addr, excepted func(port uint16) bool) Address {
	if config.IsVirtual(addr) {
		return Address{Addr: addr, Kind: Pipeline, What: "an address that the pipeline needs"}
	}
	for _, a := range l.at[addr] {
		if a.Port == 0 || !excepted(a.Port) {
			return a
		}
	}
	switch {
	case l.nodes[addr] > 0:
		return Address{Addr: addr, Kind: Host, What: "an address of a Node"}
	case l.InPodNetwork(addr):
		return Address{Addr: addr, Kind: Host, What: "in the network of Pods"}
	}
	return Address{}
}

// NeedsNodePort says which server, that cannot be the Service's, has this port at some address, which may be this Node's.
func (l *List) NeedsNodePort(port uint16) Address {
	for _, list := range l.at {
		for _, a := range list {
			if a.Kind == Server && a.Port == port && a.Service != "" {
				return a
			}
		}
	}
	return Address{}
}
