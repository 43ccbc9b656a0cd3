// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"encoding/binary"
	"fmt"
)

// tunnelLength is the length of the UDP, tunnel and inner Ethernet headers.
const tunnelLength = udpLength + 8 + ethernetLength

// outerPacket is a tunnel packet as another Node sends it. Tests change it in place before sending it.
type outerPacket struct {
	frame []byte
	six   bool
	// keepChecksum leaves the checksum of the outer IPv4 header as it is.
	keepChecksum bool
}

// ip returns the outer packet from its IP header on, udp from its UDP header on.
func (o *outerPacket) ip() []byte { return o.frame[ethernetLength:] }

func (o *outerPacket) udp() []byte {
	if o.six {
		return o.ip()[ipv6Length:]
	}
	return o.ip()[ipv4Length:]
}

func (o *outerPacket) setTOS(tos uint8) {
	ip := o.ip()
	if o.six {
		binary.BigEndian.PutUint16(ip, binary.BigEndian.Uint16(ip)&0xf00f|uint16(tos)<<4)
		return
	}
	ip[1] = tos
}

func (o *outerPacket) setTTL(ttl uint8) {
	if o.six {
		o.ip()[7] = ttl
		return
	}
	o.ip()[8] = ttl
}

// addFromWire adds a packet that is sent on the wire, as by the sending Node.
func (s *stream) addFromWire(name string, path Path, arrivals map[Point]int, edit func(*Packet), editOuter func(*outerPacket)) {
	p := s.next()
	p.TTL--
	edit(&p)
	inner := p.Bytes()[ethernetLength:]
	o := &outerPacket{frame: append(append([]byte(nil), s.world.Outer...), inner...)}
	o.six = len(s.world.Outer) == ethernetLength+ipv6Length+tunnelLength
	length := len(o.frame) - ethernetLength
	if o.six {
		binary.BigEndian.PutUint16(o.ip()[4:], uint16(length-ipv6Length))
	} else {
		binary.BigEndian.PutUint16(o.ip()[2:], uint16(length))
	}
	binary.BigEndian.PutUint16(o.udp()[4:], uint16(len(o.udp())))
	editOuter(o)
	if ip := o.ip(); !o.six && !o.keepChecksum {
		clear(ip[10:12])
		binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip[:ipv4Length])))
	}
	c := Case{Name: name, From: Wire, Path: path, Arrivals: arrivals, Flow: s.flow}
	c.Frame.Data = o.frame
	s.cases = append(s.cases, c)
}

// fromTheWire are tunnel packets with special outer headers.
func (s *stream) fromTheWire() {
	arrives := map[Point]int{Receiver: 1}
	ordinary := func(*Packet) {}
	names := [...]string{"Not-ECT", "ECT(1)", "ECT(0)", "CE"}
	for inner := range uint8(4) {
		for outer := range uint8(4) {
			// RFC 6040, figure 4, as include/net/inet_ecn.h implements it.
			path, arrivals := Fast, arrives
			switch {
			case inner == 0 && outer == 3:
				path, arrivals = Slow, dropped
			case inner == 0 && outer != 0, inner == 2 && outer == 1:
				path = Slow
			}
			s.addFromWire(fmt.Sprintf("%s in %s", names[inner], names[outer]), path, arrivals,
				func(p *Packet) { p.TOS = 0xb8 | inner }, func(o *outerPacket) { o.setTOS(outer) })
		}
	}
	identifier := Slow
	if s.world.Rewriting {
		identifier = Fast
	}
	for _, c := range []struct {
		name     string
		path     Path
		arrivals map[Point]int
		edit     func(*outerPacket)
	}{
		{"outer DSCP", Fast, arrives, func(o *outerPacket) { o.setTOS(0xb8) }},
		{"outer hop limit 1", Fast, arrives, func(o *outerPacket) { o.setTTL(1) }},
		{"outer hop limit 255", Fast, arrives, func(o *outerPacket) { o.setTTL(255) }},
		{"other outer source port", Fast, arrives, func(o *outerPacket) { binary.BigEndian.PutUint16(o.udp(), 7) }},
		{"other network identifier", identifier, arrives, func(o *outerPacket) { o.udp()[udpLength+6] = 1 }},
		{"other source MAC inside", Fast, arrives, func(o *outerPacket) { o.udp()[udpLength+8+11] ^= 0x55 }},
	} {
		s.addFromWire(c.name, c.path, c.arrivals, ordinary, c.edit)
	}
	if len(s.world.Outer) == ethernetLength+ipv4Length+tunnelLength {
		s.addFromWire("wrong checksum of the outer IP header", Slow, dropped, ordinary, func(o *outerPacket) {
			o.keepChecksum = true
			o.ip()[10] ^= 0x55
		})
		s.addFromWire("outer packet without DF", Fast, arrives, ordinary, func(o *outerPacket) { o.ip()[6] = 0 })
		s.addFromWire("outer reserved bit", Slow, arrives, ordinary, func(o *outerPacket) { o.ip()[6] = 0x80 })
	}
	for _, ttl := range []uint8{0, 1} {
		s.addFromWire(fmt.Sprintf("hop limit %d on the wire", ttl), Slow, dropped, func(p *Packet) { p.TTL = ttl }, func(*outerPacket) {})
	}
	s.addFromWire("wrong checksum on the wire", Fast, dropped, func(p *Packet) { p.Checksum = Wrong }, func(*outerPacket) {})
	s.cases[len(s.cases)-1].Unlike = arrives
}
