// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// virtualNodePorts are the destinations that the host gives to connections to NodePorts.
var virtualNodePorts = map[family]netip.Addr{ipv4: config.VirtualNodePortIPv4, ipv6: config.VirtualNodePortIPv6}

// comparison says which UDP connections have to end, in one pass over the table.
type comparison struct {
	*cleaner
	pending   map[frontendKey]bool
	all       bool
	addresses map[netip.Addr]bool
	// known are the answers of allowed.
	known map[frontendKey]allowance
}

// allowance says where connections to a frontend may go.
type allowance struct {
	destinations map[netip.AddrPort]bool
	// held: a port of a Service has the frontend.
	held bool
	// unsettled: that may change again soon. Connections are left alone; the cleaner is asked again when it is settled.
	unsettled bool
}

func (c *cleaner) newComparison(pending map[frontendKey]bool, all bool) *comparison {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &comparison{c, pending, all, c.addresses, map[frontendKey]allowance{}}
}

// setAddresses replaces the addresses that serve NodePorts.
func (c *cleaner) setAddresses(addresses []netip.Addr) {
	known := map[netip.Addr]bool{}
	for _, a := range addresses {
		known[a] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addresses = known
}

func (l *comparison) zones() []uint16 {
	if !l.host {
		return openflow.ConntrackZones
	}
	return append(slices.Clone(openflow.ConntrackZones), conntrack.HostZone)
}

func (l *comparison) allows(f frontendKey) allowance {
	a, known := l.known[f]
	if !known {
		a = l.allowed(f)
		l.known[f] = a
	}
	return a
}

func (l *comparison) isWrong(conn *conntrack.Connection) bool {
	if conn.Original.Protocol != unix.IPPROTO_UDP {
		return false
	}
	address := netip.AddrPortFrom(conn.Original.Destination, conn.Original.DestinationPort)
	f := frontendKey{protocol: corev1.ProtocolUDP, address: address}
	nodePort, toNodePort := l.nodePort(address)
	if conn.Zone == conntrack.HostZone {
		return toNodePort && l.isWrongOnHost(nodePort, conn)
	}
	asked := l.pending[f]
	if toNodePort {
		asked = asked || l.pending[nodePort]
		// An address that a Service and the Node have is the Service's first.
		if a := l.allows(f); !a.held && !a.unsettled {
			f = nodePort
		}
	}
	if !asked && (!l.all || !openflow.IsServiceConnection(conn.Mark)) {
		return false
	}
	a := l.allows(f)
	return !a.unsettled && !a.destinations[netip.AddrPortFrom(conn.Reply.Source, conn.Reply.SourcePort)]
}

// nodePort returns the NodePort that packets to the address are for, if there is one.
func (l *comparison) nodePort(address netip.AddrPort) (f frontendKey, ok bool) {
	v := familyOf(address.Addr())
	if !l.host || !l.addresses[address.Addr()] && address.Addr() != virtualNodePorts[v] {
		return f, false
	}
	return frontendKey{protocol: corev1.ProtocolUDP, address: netip.AddrPortFrom(v.unspecified(), address.Port()), nodePort: true}, true
}

// isWrongOnHost reports whether the host leads a connection to the switch that is not for a NodePort, or the reverse:
// it decides only about the first packet of each.
func (l *comparison) isWrongOnHost(f frontendKey, conn *conntrack.Connection) bool {
	if !l.pending[f] && !l.all {
		return false
	}
	led := conn.Reply.Source == virtualNodePorts[familyOf(conn.Reply.Source)]
	a := l.allows(f)
	return !a.unsettled && led != a.held
}
