// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reach names the ways in which packets get to the Pods of another Node. Package noderoute chooses one for each Pod network of a
// peer. Flows, routes and the cache switch on its Kind and refuse, by NotBuilt, each kind that they do not implement.
package reach

import (
	"fmt"
	"net/netip"
)

// Kind is a way to reach a peer. The zero Kind is none, which every part refuses.
type Kind uint8

const (
	// Tunnel: this Node encapsulates packets and sends them to the peer's transport address.
	Tunnel Kind = iota + 1
	// Direct: this Node routes packets to Pods, as they are, to the peer's transport address, which is in the same subnet.
	Direct
	// Routed: the network between the Nodes routes packets to Pods, as they are. This Node's own routes to the network decide.
	Routed
	// WireGuard: this Node routes packets to Pods to the device that encrypts them for the peer, whose transport address they get.
	WireGuard
)

// String returns the name of the kind, or its number if it has none.
func (k Kind) String() string {
	switch k {
	case Tunnel:
		return "tunnel"
	case Direct:
		return "direct"
	case Routed:
		return "routed"
	case WireGuard:
		return "wireGuard"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// IsPlain reports whether packets to Pods leave the host as they are, by its routes.
func (k Kind) IsPlain() bool { return k == Direct || k == Routed }

// Reach says how one Pod network of a peer is reached. Equal values are ==.
type Reach struct {
	Kind Kind
	// Address is the peer's transport address, IPv4 or IPv6 (not IPv4-mapped), whatever the kind: the destination of tunnel packets and
	// encrypted packets, or the next hop of Direct.
	Address netip.Addr
}

// ThroughTunnel returns the Reach of a peer with this transport address behind the tunnel.
func ThroughTunnel(address netip.Addr) Reach { return Reach{Kind: Tunnel, Address: address} }

// String returns, for example, "tunnel to 192.0.2.7".
func (r Reach) String() string {
	return fmt.Sprintf("%v to %v", r.Kind, r.Address)
}

// CheckAddress returns an error if Address is neither an IPv4 nor an IPv6 address.
func (r Reach) CheckAddress() error {
	if !r.Address.IsValid() || r.Address.Is4In6() {
		return fmt.Errorf("address %v of the %v is neither an IPv4 nor an IPv6 address", r.Address, r.Kind)
	}
	return nil
}

// NotBuilt returns the error of a part, such as "flows", that does not implement the kind.
func (r Reach) NotBuilt(part string) error {
	return fmt.Errorf("%s cannot lead to a peer by %q (%v): this version only implements %q, %q, %q and %q", part, r.Kind, r, Tunnel, Direct, Routed, WireGuard)
}
