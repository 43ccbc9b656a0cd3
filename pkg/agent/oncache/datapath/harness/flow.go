// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// hashOf is flow_hash of bpf/oncache/flow.h: addresses and ports as the programs read them from memory.
func hashOf(addresses uint64, sport, dport uint16) uint32 {
	h := addresses * 0x9e3779b97f4a7c15
	h = (h ^ h>>32 ^ uint64(dport)<<16 ^ uint64(sport)) * 0xff51afd7ed558ccd
	return uint32(h >> 32)
}

// Hash4 is the hash of an IPv4 flow, Hash6 of an IPv6 flow: the tag of its entries.
func Hash4(k object.BpfOncFlow4) uint32 {
	return hashOf(uint64(k.Daddr)<<32|uint64(k.Saddr), k.Sport, k.Dport)
}

func Hash6(k object.BpfOncFlow6) uint32 {
	words := func(address [4]uint32) uint64 {
		return uint64(address[1]^address[3])<<32 | uint64(address[0]^address[2])
	}
	return hashOf(words(k.Saddr)^words(k.Daddr)*0xc2b2ae3d27d4eb4f, k.Sport, k.Dport)
}

// SlotHash is slot_hash of bpf/oncache/flow.h: the hash of a flow for the place of its ticket, its note and its key, which depends on secrets.
func (in *Inside) SlotHash(f FiveTuple) uint32 {
	k4, k6, six := Keys(f)
	words := []uint32{k4.Saddr, k4.Daddr, uint32(k4.Dport)<<16 | uint32(k4.Sport), uint32(k4.Proto)}
	if six {
		words = append(slices.Concat(k6.Saddr[:], k6.Daddr[:]), uint32(k6.Dport)<<16|uint32(k6.Sport), uint32(k6.Proto))
	}
	sum := uint64(0)
	for i, word := range words {
		sum += in.Control().Secrets[i] * uint64(word)
	}
	return uint32(sum >> 32)
}

// TicketSlot is the slot of a flow's tickets (slot_of of bpf/oncache/ticket.h).
func (in *Inside) TicketSlot(f FiveTuple) uint32 {
	if slot := in.SlotHash(f) >> 22; slot != 0 {
		return slot
	}
	return in.Maps.Tickets.MaxEntries() - 1
}

// Keys returns the key of a flow in the maps; six says which of the two keys it is.
func Keys(f FiveTuple) (k4 object.BpfOncFlow4, k6 object.BpfOncFlow6, six bool) {
	source, destination := f.Source.Addr(), f.Destination.Addr()
	if source.Is6() {
		return k4, object.BpfOncFlow6{Saddr: object.Wire6(source), Daddr: object.Wire6(destination), Sport: object.WirePort(f.Source.Port()), Dport: object.WirePort(f.Destination.Port()), Proto: f.Protocol}, true
	}
	return object.BpfOncFlow4{Saddr: object.Wire4(source), Daddr: object.Wire4(destination), Sport: object.WirePort(f.Source.Port()), Dport: object.WirePort(f.Destination.Port()), Proto: f.Protocol}, k6, false
}

// FiveTuple identifies the flow of a packet.
type FiveTuple struct {
	Source, Destination netip.AddrPort
	Protocol            uint8
}

// FiveTupleIn reads the 5-tuple of a packet without options: at is the offset of the IP header, which follows an EtherType.
func FiveTupleIn(frame []byte, at int) (flow FiveTuple, ok bool) {
	six := len(frame) > at && binary.BigEndian.Uint16(frame[at-2:]) == 0x86dd
	if len(frame) < at+24 || six && len(frame) < at+44 {
		return flow, false
	}
	ip := frame[at:]
	source, destination, ports, protocol := ip[12:16], ip[16:20], ip[20:24], ip[9]
	if six {
		source, destination, ports, protocol = ip[8:24], ip[24:40], ip[40:44], ip[6]
	}
	end := func(address, port []byte) netip.AddrPort {
		a, _ := netip.AddrFromSlice(address)
		return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
	}
	return FiveTuple{Source: end(source, ports), Destination: end(destination, ports[2:]), Protocol: protocol}, true
}

// Hash returns the hash that the programs note for a flow that they have seen.
func Hash(f FiveTuple) uint32 {
	k4, k6, six := Keys(f)
	if six {
		return Hash6(k6)
	}
	return Hash4(k4)
}
