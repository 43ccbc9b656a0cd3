// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle computes the treatment of a packet that the design requires (docs/design/oncache-same-packet.md, and
// docs/design/oncache-packets.md). It is for tests only: they run the eBPF programs next to it, and a packet
// that the programs let through although the oracle refuses it, or change differently, is a fault of one of the two. It is written from
// the design and RFCs, not from the programs, and for reading, not for speed.
//
// Its tests run both: fuzz_test.go and fuzz_learning_test.go contain the fuzz targets, fuzz_world_test.go and fuzz_maps_test.go put a
// case into the maps and through a program, fuzz_recipe_test.go makes cases from the fuzzer's input, fuzz_stats_test.go counts hits.
// malformed_test.go and incidents_test.go test cases with a known reason, hash_test.go flow hashes.
package oracle

import (
	"encoding/binary"
	"net/netip"
)

// Modes of the cache.
const (
	Off uint32 = iota
	Observe
	Enforce
)

// State is the part of the programs' maps that concerns one packet.
type State struct {
	Mode       uint32
	Generation uint32 // of everything
	Uplink     Uplink
	Endpoint   Endpoint // that the entry refers to
	Node       Node     // that the entry refers to
	// Peer is the other local Pod of an entry that is Local, PeerMTU the MTU of its host-side device.
	Peer    Endpoint
	PeerMTU int
	// Entry is the entry of the packet's direction, the only one in the cache; nil for none.
	Entry *Entry
	// Rewriting is set if the programs give, hear and use keys. Heard is the key of the entry, Given the one in a rewritten packet's source
	// port; nil for none.
	Rewriting bool
	Heard     *Heard
	Given     *Given
	// ShareUsedUp is set when the flow maps are nearly full and the endpoint has used up its share of them.
	ShareUsedUp bool
	// Opposite is set when the other direction of the flow has an entry, which was not proved in the direction of the packet.
	Opposite bool
	// Unattended is set when no agent promises to maintain conntrack at this time.
	Unattended bool
}

// Uplink is this Node's side of the tunnel.
type Uplink struct {
	Interface    uint32 // index
	MAC          [6]byte
	IPv4, IPv6   netip.Addr
	Port         uint16 // of the tunnel
	RewritePort  uint16 // of rewritten packets
	PortFirst    uint16 // first UDP source port of the tunnel
	PortCount    uint16 // how many there are
	TunnelHeader [8]byte
	VirtualMAC   [6]byte // inner destination of all tunnel packets
}

// Endpoint is the local Pod, or the gateway.
type Endpoint struct {
	Gateway         bool
	Generation      uint32
	Interface       uint32 // index of the host side
	MAC, GatewayMAC [6]byte
	IPv4, IPv6      netip.Addr
	// Epoch is the epoch under whose rules packets may be learned; 0 for none.
	Epoch uint32
	// Changed is the number of the last change that affected the Pod.
	Changed uint32
	// FoundBy and FoundAt are the interface and the addresses by which the programs find the Pod without an entry.
	FoundBy uint32
	FoundAt []netip.Addr
}

// Node is the remote Node.
type Node struct {
	Generation uint32
	Address    netip.Addr
	MTU        int // of the route to it
	// Networks are the Node's Pod networks.
	Networks []netip.Prefix
	// Header is the template: Ethernet, IP, UDP, tunnel and inner Ethernet header.
	Header []byte
}

// Flow is a 5-tuple.
type Flow struct {
	Source, Destination netip.AddrPort
	Protocol            uint8
}

// Entry is one direction of a flow in the cache.
type Entry struct {
	Flow    Flow
	Intact  bool // the entry still belongs to that flow
	Own     bool // its direction was proved
	Other   bool // and the opposite one
	Running bool // the lease, which may be held
	// Local is set for a flow between two Pods of the Node.
	Local bool
	// Divided is set if a super-packet of a UDP flow has just taken Open vSwitch.
	Divided bool
	// Generations under which it was learned; Node is the peer's if the flow is Local.
	Everything, Endpoint, Node uint32
	// MACs are the destination and source MAC that a received packet gets.
	MACs [12]byte
	// Hash is the kernel's hash for packets that are sent without one; 0 if unknown.
	Hash uint32
	// Translated is the new destination of sent packets, or the new source of received ones; the zero AddrPort if it stays the same. See
	// translation.go. SourceTranslated is set if it is the source of sent packets: the answers of an Endpoint to a client on the same
	// Node.
	Translated       netip.AddrPort
	SourceTranslated bool
}

// Packet is a packet at a hook.
type Packet struct {
	Frame     []byte
	Interface uint32 // index
	VLAN      bool   // a tag outside the frame
	ForHost   bool   // the device does not say that it is for another host
	Segment   int    // payload bytes for each segment of a super-packet; 0 for others
	Hash      uint32 // the kernel's hash of the flow, 0 for none
	Mark      uint32
}

// Refused is the reason why a packet is not a hit, under the name in the design.
type Refused string

func (r Refused) Error() string { return string(r) }

const (
	ethernetLength = 14
	udpLength      = 8
	tunnelLength   = 8
	tcp            = 6
	udp            = 17
)

// inner is an IP packet with its transport header, read under the rules for both directions.
type inner struct {
	six      bool
	flow     Flow
	ttl, tos uint8
	headers  int  // bytes of the IP and the transport header
	accepts  bool // SYN and ACK: the segment accepts a connection
	ends     bool // a rewritten segment that opens or ends a connection
}

// read refuses every packet that is not plain TCP or UDP. b are the bytes after the Ethernet header.
func read(etherType uint16, b []byte) (*inner, error) {
	p, err := readOpening(etherType, b)
	if err == nil && p.accepts {
		return nil, Refused("tcp_flags")
	}
	return p, err
}

// readOpening is read, and lets a segment pass that accepts a connection.
func readOpening(etherType uint16, b []byte) (*inner, error) {
	p := &inner{}
	var source, destination netip.Addr
	var payload []byte
	switch etherType {
	case 0x0800:
		if len(b) < 20 || b[0]>>4 != 4 {
			return nil, Refused("malformed")
		}
		if b[0]&15 != 5 {
			return nil, Refused("ip_options")
		}
		// Offset or more-fragments makes a fragment. The reserved bit has no meaning that we know.
		if flags := be16(b[6:]); flags&0x8000 != 0 || flags&0x2000 != 0 || flags&0x1fff != 0 {
			return nil, Refused("fragment")
		}
		if int(be16(b[2:])) != len(b) {
			return nil, Refused("malformed")
		}
		p.tos, p.ttl, p.flow.Protocol = b[1], b[8], b[9]
		source, destination, payload = addr(b[12:16]), addr(b[16:20]), b[20:]
	case 0x86dd:
		if len(b) < 40 || b[0]>>4 != 6 || int(be16(b[4:]))+40 != len(b) {
			return nil, Refused("malformed")
		}
		p.six = true
		p.tos, p.ttl, p.flow.Protocol = b[0]<<4|b[1]>>4, b[7], b[6]
		source, destination, payload = addr(b[8:24]), addr(b[24:40]), b[40:]
	default:
		return nil, Refused("not_ip")
	}
	length, accepts, err := readTransport(p.flow.Protocol, payload)
	if err != nil {
		return nil, err
	}
	p.headers, p.accepts = len(b)-len(payload)+length, accepts
	p.flow.Source = netip.AddrPortFrom(source, be16(payload))
	p.flow.Destination = netip.AddrPortFrom(destination, be16(payload[2:]))
	if !p.six && Sum(b[:20]) != 0xffff {
		return nil, Refused("malformed")
	}
	if p.ttl <= 1 {
		return nil, Refused("ttl")
	}
	return p, nil
}

// readTransport returns the length of the header at the start of payload, and whether the segment accepts a connection.
func readTransport(protocol uint8, payload []byte) (length int, accepts bool, err error) {
	switch protocol {
	case tcp:
		if len(payload) < 20 {
			return 0, false, Refused("malformed")
		}
		length := int(payload[12]>>4) * 4
		if length < 20 || length > len(payload) {
			return 0, false, Refused("malformed")
		}
		const fin, syn, rst, ack = 1, 2, 4, 16
		switch payload[13] & (fin | syn | rst | ack) {
		case ack:
			return length, false, nil
		case syn | ack:
			return length, true, nil
		}
		return 0, false, Refused("tcp_flags")
	case udp:
		if len(payload) < udpLength || int(be16(payload[4:])) != len(payload) {
			return 0, false, Refused("malformed")
		}
		return udpLength, false, nil
	}
	// This includes IPv6 extension headers.
	return 0, false, Refused("protocol")
}

// valid checks the conditions on the entry that hold for both directions.
func (s *State) valid(f Flow) error {
	e := s.Entry
	switch {
	case e == nil || e.Flow != f || !e.Intact:
		return Refused("no_entry")
	case e.Everything != s.Generation:
		return Refused("stale_all")
	case e.Endpoint != s.Endpoint.Generation:
		return Refused("stale_endpoint")
	case e.Local && e.Node != s.Peer.Generation:
		return Refused("stale_endpoint")
	case !e.Local && e.Node != s.Node.Generation:
		return Refused("stale_node")
	case !e.Own || !e.Other && f.Protocol == tcp:
		return Refused("not_proved")
	case !e.Running:
		return Refused("lease")
	}
	return nil
}

// ordered refuses datagrams that would overtake a super-packet's.
func (s *State) ordered(f Flow) error {
	if f.Protocol == udp && s.Entry.Divided {
		return Refused("offload")
	}
	return nil
}

// enforced refuses every packet in the other modes.
func (s *State) enforced() error {
	switch s.Mode {
	case Off:
		return Refused("off")
	case Enforce:
		return nil
	}
	return Refused("observed")
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }

func addr(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}
