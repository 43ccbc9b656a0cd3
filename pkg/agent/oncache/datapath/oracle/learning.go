// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
)

// Seen is one packet on both sides of Open vSwitch, and the state of the learning program.
type Seen struct {
	State         *State
	Before, After Packet
	// Epoch is the epoch in the mark behind Open vSwitch.
	Epoch uint32
	// Queue is the queue that Open vSwitch has chosen, between two Pods of the Node; 0 for none.
	Queue uint32
	// Opened is set when the last SYN of the connection was one of the other direction, and this direction has sent none.
	Opened bool
}

// handshake refuses a segment that accepts a connection which was not opened, or which its own direction has opened. A Service opens no
// connections to its clients: service is set if the segment goes to one.
func (s *Seen) handshake(p *inner, service bool) error {
	if p.accepts && (service || !s.Opened) {
		return Refused("tcp_flags")
	}
	return nil
}

// inside reads the packet in the tunnel.
func (s *Seen) inside(frame []byte) (*inner, []byte, error) {
	at := len(s.State.Node.Header)
	if len(frame) < at {
		return nil, nil, Refused("malformed")
	}
	p, err := readOpening(be16(frame[at-2:]), frame[at:])
	return p, frame[at:], err
}

func outside(frame []byte) (*inner, []byte, error) {
	p, err := readOpening(be16(frame[12:]), frame[ethernetLength:])
	return p, frame[ethernetLength:], err
}

// LearnEgress reports whether Egress-Init may make an entry of a packet: Before as the Pod sent it, After as it leaves on
// the uplink. The entry has this translation of the destination, or the zero AddrPort. The design:
// docs/design/oncache-learning.md, "Tickets", "Learning and proving".
func LearnEgress(s *Seen) (to netip.AddrPort, err error) {
	if s.State.Mode == Off {
		return to, Refused("off")
	}
	if s.After.VLAN || s.After.Interface != s.State.Uplink.Interface {
		return to, Refused("template")
	}
	before, beforeIP, err := outside(s.Before.Frame)
	if err != nil {
		return to, err
	}
	after, afterIP, err := s.inside(s.After.Frame)
	if err != nil {
		return to, err
	}
	if before.flow.Source != after.flow.Source {
		return to, Refused("rewritten")
	}
	if to, err = s.translation(before.flow.Destination, after.flow.Destination, before.flow.Destination); err != nil {
		return to, err
	}
	hops := uint8(1)
	if s.State.Endpoint.Gateway {
		hops = 0 // the host is the router
	}
	if err := s.same(before, after, beforeIP, afterIP, hops); err != nil {
		return to, err
	}
	switch {
	case !s.State.Node.has(after.flow.Destination.Addr()):
		return to, Refused("not_remote")
	case !s.State.Endpoint.owns(after.flow.Source.Addr()):
		return to, Refused("no_endpoint")
	case !bytes.Equal(s.State.template(s.After.Frame), s.State.Node.Header):
		return to, Refused("template")
	}
	if err := s.handshake(after, to.IsValid()); err != nil {
		return to, err
	}
	return to, s.State.mayKeep()
}

// translation returns the new value of an end of the flow: nothing if it is the same. One of the two is the Service, whose address is
// not a Pod's.
func (s *Seen) translation(before, after, service netip.AddrPort) (to netip.AddrPort, err error) {
	switch {
	case before == after:
		return to, nil
	case after.Port() == 0: // no Service has it, and no Endpoint
		return to, Refused("rewritten")
	case s.State.isPod(service.Addr()):
		return to, Refused("rewritten")
	}
	return after, nil
}

// isPod reports whether the address is in the Pod network of the Node, or belongs to an announced local Pod.
func (s *State) isPod(a netip.Addr) bool {
	return s.Node.has(a) || slices.Contains(s.Endpoint.FoundAt, a) || slices.Contains(s.Peer.FoundAt, a)
}

func (n *Node) has(a netip.Addr) bool {
	return slices.ContainsFunc(n.Networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// mayKeep is called for flows without an entry of their direction, and without a fast-path entry of the other direction.
func (s *State) mayKeep() error {
	switch {
	case s.Unattended:
		return Refused("no_agent")
	case s.ShareUsedUp:
		return Refused("share")
	}
	return nil
}

// LearnIngress does the same for Ingress-Init: Before as the packet came from the uplink, After as the Pod's interface gets it. It
// returns the translation of the source.
func LearnIngress(s *Seen) (to netip.AddrPort, err error) {
	if s.State.Mode == Off {
		return to, Refused("off")
	}
	if s.After.VLAN {
		return to, Refused("not_ip")
	}
	before, beforeIP, err := s.inside(s.Before.Frame)
	if err != nil {
		return to, err
	}
	after, afterIP, err := outside(s.After.Frame)
	if err != nil {
		return to, err
	}
	if before.flow.Destination != after.flow.Destination {
		return to, Refused("rewritten")
	}
	if to, err = s.translation(before.flow.Source, after.flow.Source, after.flow.Source); err != nil {
		return to, err
	}
	if err := s.same(before, after, beforeIP, afterIP, 1); err != nil {
		return to, err
	}
	e := &s.State.Endpoint
	if s.After.Interface != e.Interface || !e.owns(after.flow.Destination.Addr()) || !bytes.Equal(s.After.Frame[:6], e.MAC[:]) {
		return to, Refused("no_endpoint")
	}
	if !s.State.Node.has(before.flow.Source.Addr()) {
		return to, Refused("not_remote")
	}
	if err := s.handshake(after, false); err != nil {
		return to, err
	}
	// A SYN-ACK has ended the other direction.
	if e.Gateway && (!s.State.Opposite || after.accepts) {
		return to, Refused("not_proved")
	}
	return to, s.State.mayKeep()
}

// same checks that Open vSwitch decided by the current rules, and only routed this very packet, over this number of hops, apart from
// its addresses.
func (s *Seen) same(before, after *inner, beforeIP, afterIP []byte, hops uint8) error {
	switch {
	case fingerprint(before, beforeIP) != fingerprint(after, afterIP):
		return Refused("no_ticket")
	case before.flow.Protocol != after.flow.Protocol, before.tos != after.tos, before.ttl != after.ttl+hops:
		return Refused("rewritten")
	case s.Epoch == 0:
		return Refused("not_established")
	case s.Epoch != s.State.Endpoint.Epoch:
		return Refused("stale_epoch")
	}
	return nil
}

// identity identifies a packet: IP version, IPv4 identification or IPv6 flow label, TCP sequence number and whether it is one of a SYN,
// or UDP length and the first four bytes of the payload, if it has four.
type identity struct {
	six, syn  bool
	id        uint32
	transport [6]byte
}

func fingerprint(p *inner, ip []byte) identity {
	f := identity{six: p.six, syn: p.accepts}
	transport := ip[20:]
	if p.six {
		f.id, transport = binary.BigEndian.Uint32(ip)&0xfffff, ip[40:]
	} else {
		f.id = uint32(be16(ip[4:]))
	}
	if p.flow.Protocol == tcp {
		copy(f.transport[:], transport[4:8])
	} else {
		copy(f.transport[:], transport[4:6])
		if len(transport) >= udpLength+4 {
			copy(f.transport[2:], transport[udpLength:])
		}
	}
	return f
}

func (e *Endpoint) owns(a netip.Addr) bool { return a == e.IPv4 || a == e.IPv6 }

// template returns the header of a frame without the fields that differ between packets.
func (s *State) template(frame []byte) []byte {
	h := bytes.Clone(frame[:len(s.Node.Header)])
	network := h[ethernetLength:]
	transport := network[20:]
	if s.Node.Address.Is6() {
		transport = network[40:]
		network[1] &^= 0x30
		clear(network[4:6])
	} else {
		network[1] &^= 3
		clear(network[2:6])
		clear(network[10:12])
	}
	clear(transport[0:2])
	clear(transport[4:6])
	clear(h[len(h)-2:])
	return h
}
