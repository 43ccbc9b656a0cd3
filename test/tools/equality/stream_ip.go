// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// options are header options, padded to whole words.
type options struct {
	name  string
	bytes []byte
}

// ipHeaders are packets with something special in the IP header.
func (s *stream) ipHeaders() {
	s.add("payload shorter than the IP length says", Slow, delivered, func(p *Packet) { p.LengthError = 4 })
	s.add("padding behind the packet", SlowThenFast, delivered, func(p *Packet) { p.Padding = 7 })
	if s.six() {
		s.extensionHeaders()
		return
	}
	s.add("no DF", Fast, delivered, func(p *Packet) { p.Fragment = 0 })
	s.add("identification 0", Fast, delivered, func(p *Packet) { p.ID = 0 })
	s.add("reserved bit", Slow, delivered, func(p *Packet) { p.Fragment = reservedBit })
	s.add("wrong checksum of the IP header", Slow, dropped, func(p *Packet) { p.IPChecksumWrong = true })
	for _, c := range []options{
		{"no operation", []byte{1, 1, 1, 1}},
		{"end of list", []byte{0, 0, 0, 0}},
		{"record route", []byte{7, 7, 4, 0, 0, 0, 0, 0}},
		{"router alert", []byte{148, 4, 0, 0}},
		{"unknown", []byte{0x9e, 4, 1, 2}},
	} {
		s.add("IP option "+c.name, Slow, delivered, func(p *Packet) { p.Options = c.bytes })
	}
	s.fragments()
}

func (s *stream) extensionHeaders() {
	// Each header has 8 bytes: next header, length 0, options or padding.
	padding := []byte{s.flow.Protocol, 0, 1, 4, 0, 0, 0, 0}
	s.add("hop-by-hop options", Slow, delivered, func(p *Packet) { p.NextHeader, p.Options = unix.IPPROTO_HOPOPTS, padding })
	s.add("destination options", Slow, delivered, func(p *Packet) { p.NextHeader, p.Options = unix.IPPROTO_DSTOPTS, padding })
	s.add("flow label 0", Fast, delivered, func(p *Packet) { p.ID = 0 })
	s.add("flow label of 20 bits", Fast, delivered, func(p *Packet) { p.ID = 0xfffff })
	s.fragments()
}

// fragments are a packet in two pieces, in order and reversed. Conntrack keeps the first piece that arrives until it has both.
func (s *stream) fragments() {
	// Of IPv6 packets, only those above the minimum MTU are fragmented again as they were.
	first, length := 64, 200
	if s.six() {
		first, length = 1304, 2600
	}
	for _, reversed := range []bool{false, true} {
		name := "two fragments"
		if reversed {
			name += " in reverse order"
		}
		whole := s.world.Packet(s.flow)
		whole.Payload = content(length)
		transport := whole.transport()
		pieces := []Packet{s.fragment(transport[:first], 0, true), s.fragment(transport[first:], first, false)}
		if reversed {
			slices.Reverse(pieces)
		}
		s.cases = append(s.cases, Case{
			Name: name, Path: Slow, Arrivals: map[Point]int{Wire: 2, Receiver: 2}, Flow: s.flow,
			Before: []afpacket.Frame{{Data: pieces[0].Bytes()}}, Frame: afpacket.Frame{Data: pieces[1].Bytes()},
		})
	}
}

// fragment returns the fragment of the next case that has these bytes at offset.
func (s *stream) fragment(piece []byte, offset int, more bool) Packet {
	p := s.next()
	p.raw, p.Fragment = piece, uint16(offset/8)
	if more {
		p.Fragment |= moreFragments
	}
	if s.six() {
		p.NextHeader = unix.IPPROTO_FRAGMENT
		p.Options = binary.BigEndian.AppendUint32([]byte{s.flow.Protocol, 0, byte(offset >> 8), byte(offset)}, p.ID)
		if more {
			p.Options[3] |= 1
		}
	}
	return p
}
