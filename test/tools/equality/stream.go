// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// World is the network that packets are made for: two Pods on different Nodes.
type World struct {
	SenderMAC, SenderGatewayMAC     net.HardwareAddr
	ReceiverMAC, ReceiverGatewayMAC net.HardwareAddr
	Sender, Receiver                netip.Addr
	// MTU is the MTU of the Pods' interfaces.
	MTU int
	// Outer are the headers of an ordinary packet from sender to receiver on the wire, up to the inner IP header.
	Outer []byte
	// Rewriting is set if packets on the fast path are rewritten instead of encapsulated where they can be. Nodes tell each other keys by the
	// network identifier then, and a packet does not look like one of the tunnel in the receiving Pod.
	Rewriting bool
	// Direct is set if packets are on the wire as the sending Pod has sent them, without a tunnel.
	Direct bool
}

// Packet returns an ordinary packet of a flow from sender to receiver.
func (w *World) Packet(f Flow) Packet {
	p := Packet{
		SourceMAC: w.SenderMAC, DestinationMAC: w.SenderGatewayMAC, Source: w.Sender, Destination: w.Receiver,
		Protocol: f.Protocol, SourcePort: f.SourcePort, DestinationPort: f.DestinationPort,
		TTL: 64, Fragment: dontFragment, Flags: ACK, Sequence: 1000, Ack: 1000, Payload: content(32),
	}
	return p
}

// Reply returns an ordinary packet of the flow in the other direction.
func (w *World) Reply(f Flow) Packet {
	p := w.Packet(f)
	p.SourceMAC, p.DestinationMAC = w.ReceiverMAC, w.ReceiverGatewayMAC
	p.Source, p.Destination = p.Destination, p.Source
	p.SourcePort, p.DestinationPort = p.DestinationPort, p.SourcePort
	return p
}

// Flags of the IPv4 header.
const (
	reservedBit   = 0x8000
	dontFragment  = 0x4000
	moreFragments = 0x2000
)

// FenceID is the identification of fences: once a fence arrives, the packets before it have arrived or never will.
const FenceID = 0x7777

// firstID is the identification of the first packet of a stream; each further one gets the next number.
const firstID = 0x1000

// content is a payload in which no two neighboring bytes, words or lines are the same.
func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*3 + 1)
	}
	return b
}

// stream collects the packets of one flow.
type stream struct {
	world World
	flow  Flow
	cases []Case
}

// Stream returns every kind of packet in one established flow.
func Stream(w World, f Flow) []Case {
	s := &stream{world: w, flow: f}
	s.lengths()
	s.typesOfService()
	s.hopLimits()
	s.addresses()
	s.ipHeaders()
	s.checksums()
	s.segments()
	if f.Protocol == unix.IPPROTO_TCP {
		s.tcpFlags()
		s.tcpOptions()
		s.connectionEnds()
	} else {
		s.udpLengths()
	}
	if !w.Direct {
		s.fromTheWire()
	}
	return s.cases
}

func (s *stream) tcp() bool { return s.flow.Protocol == unix.IPPROTO_TCP }
func (s *stream) six() bool { return s.world.Sender.Is6() }

// next returns an ordinary packet with an identification of its own.
func (s *stream) next() Packet {
	p := s.world.Packet(s.flow)
	p.ID = firstID + uint32(len(s.cases))
	p.Sequence += uint32(len(s.cases)) << 16
	return p
}

// add makes the ordinary packet special by edit and adds it.
func (s *stream) add(name string, path Path, arrivals map[Point]int, edit func(*Packet)) {
	s.addSegmented(name, path, arrivals, 0, edit)
}

// addSegmented adds a packet that is sent in segments of size bytes of payload. It, and any with Partial checksum, has an
// Offload.
func (s *stream) addSegmented(name string, path Path, arrivals map[Point]int, size int, edit func(*Packet)) {
	p := s.next()
	if size > 0 {
		p.Checksum = Partial
	}
	edit(&p)
	c := Case{Name: name, Path: path, Arrivals: arrivals, Flow: s.flow}
	c.Frame.Data = p.Bytes()
	if p.Checksum == Partial {
		c.Frame.Offload = offloadOf(&p, size)
	}
	s.cases = append(s.cases, c)
}

// headers returns the length of an ordinary packet's headers that count towards the MTU.
func (s *stream) headers() int {
	p := s.world.Packet(s.flow)
	if s.tcp() {
		return p.IPLength() + tcpLength
	}
	return p.IPLength() + udpLength
}

func (s *stream) lengths() {
	largest := s.world.MTU - s.headers()
	var lengths []int
	for n := range 24 {
		lengths = append(lengths, n)
	}
	for n := 24; n < largest-2; n += 83 {
		lengths = append(lengths, n)
	}
	for _, n := range append(lengths, largest-2, largest-1, largest) {
		s.add(fmt.Sprintf("payload of %d bytes", n), Fast, delivered, func(p *Packet) { p.Payload = content(n) })
	}
}

func (s *stream) typesOfService() {
	for tos := range 256 {
		s.add(fmt.Sprintf("type of service %#02x", tos), Fast, delivered, func(p *Packet) { p.TOS = uint8(tos) })
	}
}

// hopLimits: each Node counts one hop; without a tunnel, the sending Node counts two, its Open vSwitch's and its host's.
func (s *stream) hopLimits() {
	sending := uint8(1)
	if s.world.Direct {
		sending = 2
	}
	add := func(ttl uint8, path Path, arrivals map[Point]int) {
		s.add(fmt.Sprintf("hop limit %d", ttl), path, arrivals, func(p *Packet) { p.TTL = ttl })
	}
	for ttl := range sending + 1 {
		add(ttl, Slow, dropped)
	}
	add(sending+1, FastThenSlow, lost)
	for _, ttl := range []uint8{sending + 2, 64, 128, 255} {
		add(ttl, Fast, delivered)
	}
}

// addresses are packets of a Pod that routes for others or has more than one address. They always go to Open vSwitch, which drops them.
func (s *stream) addresses() {
	other := s.world.Sender.Next().Next().Next()
	s.add("source address of another host", Slow, dropped, func(p *Packet) { p.Source = other })
	s.add("MAC address of another host", Slow, dropped, func(p *Packet) {
		p.SourceMAC = net.HardwareAddr{2, 0, 0, 0, 0, 0x99}
	})
	s.add("secondary address of the receiving Pod", Slow, lost, func(p *Packet) { p.Destination = s.world.Receiver.Next().Next().Next() })
}
