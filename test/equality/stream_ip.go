// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
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
	s.add("wrong checksum of the IP header", Fast, delivered, func(p *Packet) { p.IPChecksumWrong = true })
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

// fragments are two packets of two fragments each, in order and reversed. Conntrack keeps the first that comes until it has
// both.
func (s *stream) fragments() {
	const firstBytes = 64
	both := map[Point]int{Wire: 2, Receiver: 2}
	id := uint32(firstID + len(s.cases))
	whole := s.world.Packet(s.flow)
	whole.Payload = content(200)
	transport := whole.transport()
	fragment := func(name string, id uint32, offset int, arrivals map[Point]int) {
		s.add(name, Slow, arrivals, func(p *Packet) {
			p.ID, p.Protocol, p.Payload = id, s.flow.Protocol, nil
			piece, more := transport[offset:], false
			if offset == 0 {
				piece, more = transport[:firstBytes], true
			}
			p.raw = piece
			p.Fragment = uint16(offset / 8)
			if more {
				p.Fragment |= moreFragments
			}
			if s.six() {
				p.NextHeader = unix.IPPROTO_FRAGMENT
				p.Options = binary.BigEndian.AppendUint32([]byte{s.flow.Protocol, 0, byte(offset >> 8), byte(offset)}, id)
				if more {
					p.Options[3] |= 1
				}
			}
		})
	}
	fragment("first of two fragments", id, 0, dropped)
	fragment("last of two fragments", id, firstBytes, both)
	fragment("last of two fragments, sent first", id+1, firstBytes, dropped)
	fragment("first of two fragments, sent last", id+1, 0, both)
}
