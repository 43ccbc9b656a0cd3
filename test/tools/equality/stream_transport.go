// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"bytes"
	"fmt"
)

// checksums of TCP and UDP.
func (s *stream) checksums() {
	s.add("checksum to be completed by a device", Fast, delivered, func(p *Packet) { p.Checksum = Partial })
	s.add("checksum to be completed by a device, odd length", Fast, delivered, func(p *Packet) {
		p.Checksum, p.Payload = Partial, content(333)
	})
	// Conntrack verifies it, and the pipeline drops invalid packets; the fast path leaves the check to the receiver.
	s.add("wrong checksum", Fast, dropped, func(p *Packet) { p.Checksum = Wrong })
	s.cases[len(s.cases)-1].Unlike = delivered
	if !s.tcp() && !s.six() {
		s.add("no checksum", Fast, delivered, func(p *Packet) { p.Checksum = None })
	}
}

// segments are super-packets: TCP that a device segments, and UDP_SEGMENT. The receiving Node's tunnel device splits UDP into
// datagrams, so Open vSwitch gets them there.
func (s *stream) segments() {
	path := Fast
	if !s.tcp() {
		path = FastThenSlow
	}
	largest := s.world.MTU - s.headers()
	for _, c := range []struct{ payload, size int }{
		{2, 1}, {900, 100}, {2000, 1000}, {2001, 1000}, {4000, largest - 1}, {3 * largest, largest}, {60000, largest - 10},
	} {
		if !s.tcp() && c.payload > 64*c.size {
			c.payload = 64 * c.size // UDP_MAX_SEGMENTS of include/linux/udp.h, before Linux 6.9
		}
		s.addSegmented(fmt.Sprintf("%d bytes in segments of %d", c.payload, c.size), path, delivered, c.size, func(p *Packet) {
			p.Payload = content(c.payload)
		})
	}
	if s.tcp() {
		for _, flags := range []uint8{ACK | PSH, ACK | ECE, ACK | CWR, ACK | CWR | ECE | PSH} {
			s.addSegmented(fmt.Sprintf("segments with flags %s", flagNames(flags)), path, delivered, 700, func(p *Packet) {
				p.Payload, p.Flags, p.TOS = content(3000), flags, 2
			})
		}
	}
}

func (s *stream) udpLengths() {
	s.add("UDP length shorter than the IP packet", Slow, delivered, func(p *Packet) { p.UDPLengthError = -3 })
	s.add("UDP length longer than the IP packet", Slow, dropped, func(p *Packet) { p.UDPLengthError = 3 })
	s.add("UDP length shorter than its header", Slow, dropped, func(p *Packet) { p.UDPLengthError = -33 })
}

// tcpFlags are all combinations without SYN, FIN and RST, which do not end the connection.
func (s *stream) tcpFlags() {
	for combination := range 32 {
		flags := uint8(combination<<3) & (PSH | ACK | URG | ECE | CWR)
		path, arrivals := Fast, delivered
		if flags&ACK == 0 {
			path, arrivals = Slow, dropped
		}
		s.add("flags "+flagNames(flags), path, arrivals, func(p *Packet) { p.Flags = flags })
	}
}

func (s *stream) tcpOptions() {
	for _, c := range []options{
		{"timestamps", []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}},
		{"selective acknowledgement", []byte{1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2}},
		{"unknown", []byte{253, 4, 1, 2}},
		{"no operation, 40 bytes", bytes.Repeat([]byte{1}, 40)},
		{"with a length of 0", []byte{253, 0, 1, 2}},
		{"that exceeds the header", []byte{253, 40, 1, 2}},
	} {
		s.add("TCP option "+c.name, Fast, delivered, func(p *Packet) { p.TCPOptions = c.bytes })
	}
	s.add("TCP header longer than the packet", Slow, dropped, func(p *Packet) { p.HeaderWords = 15 })
	s.add("TCP header shorter than 20 bytes", Slow, dropped, func(p *Packet) { p.HeaderWords = 4 })
}

// connectionEnds are combinations with SYN, FIN and RST, each in a connection of its own.
func (s *stream) connectionEnds() {
	flow := s.flow
	for i, c := range []struct {
		flags    uint8
		arrivals map[Point]int
	}{
		{FIN | ACK, delivered}, {RST, delivered}, {RST | ACK, delivered}, {SYN, delivered},
		{FIN, dropped}, {SYN | FIN, dropped}, {SYN | RST, dropped}, {SYN | FIN | RST | PSH | ACK | URG | ECE | CWR, dropped},
	} {
		s.flow.SourcePort = flow.SourcePort + 100 + uint16(i)
		s.add("flags "+flagNames(c.flags), Slow, c.arrivals, func(p *Packet) { p.Flags, p.Sequence = c.flags, 1032 })
	}
	s.flow = flow
}

func flagNames(flags uint8) string {
	const names = "FSRPAUEC" // from bit 0 on
	if flags == 0 {
		return "none"
	}
	text := ""
	for bit, name := range names {
		if flags>>bit&1 != 0 {
			text += string(name)
		}
	}
	return text
}
