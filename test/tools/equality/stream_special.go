// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// TooBig returns packets around the size of the largest that fits through the tunnel, limit bytes from the IP header on. Larger packets
// that must not be fragmented are answered with an ICMP error; those that may be are dropped, because the tunnel does not fragment.
func TooBig(w World, f Flow, limit int) []Case {
	s := &stream{world: w, flow: f}
	answered := map[Point]int{Sender: 1}
	for _, more := range []int{-1, 0, 1, 2, 40} {
		path, df, noDF := Fast, delivered, delivered
		if more > 0 {
			path, df, noDF = Slow, answered, dropped
			if s.six() {
				noDF = answered
			}
		}
		payload := content(limit + more - s.headers())
		s.add(fmt.Sprintf("%d bytes with DF", limit+more), path, df, func(p *Packet) { p.Payload = payload })
		s.add(fmt.Sprintf("%d bytes without DF", limit+more), path, noDF, func(p *Packet) { p.Payload, p.Fragment = payload, 0 })
		if !s.tcp() && path == Fast {
			path = FastThenSlow
		}
		s.addSegmented(fmt.Sprintf("in segments of %d bytes", limit+more), path, df, len(payload), func(p *Packet) {
			p.Payload = content(3*len(payload) + 1)
		})
	}
	return s.cases
}

// Forwarded returns packets that the receiving Pod forwards to another host; again says that they enter a tunnel once more. Then a TCP
// super-packet that took the fast path, and was not rewritten, is segmented there, see docs/design/oncache-same-packet.md.
func Forwarded(w World, f Flow, again bool) []Case {
	s := &stream{world: w, flow: f}
	s.add("small packet", Fast, delivered, func(*Packet) {})
	s.add("large packet", Fast, delivered, func(p *Packet) { p.Payload = content(w.MTU - s.headers()) })
	s.add("congestion experienced", Fast, delivered, func(p *Packet) { p.TOS = 3 })
	s.add("checksum to be completed by a device", Fast, delivered, func(p *Packet) { p.Checksum = Partial })
	path := Fast
	if !s.tcp() {
		path = FastThenSlow
	}
	for _, size := range []int{500, w.MTU - s.headers()} {
		s.addSegmented(fmt.Sprintf("in segments of %d bytes", size), path, delivered, size, func(p *Packet) { p.Payload = content(4*size - 7) })
		if again && s.tcp() && !w.Rewriting {
			s.cases[len(s.cases)-1].Unlike = map[Point]int{Wire: 1, Receiver: 4}
		}
	}
	for i := range s.cases {
		s.cases[i].Completed = true
	}
	return s.cases
}

// Nested returns packets that the sending Pod puts into a tunnel of its own: device is the tunnel's, outer the flow of its packets. A
// program cannot put a packet that leaves work to a device into another tunnel, so the sending Node's Open vSwitch gets it.
func Nested(w World, device string, outer Flow) []Case {
	var cases []Case
	overhead := ipv4Length + tunnelLength
	if w.Sender.Is6() {
		overhead = ipv6Length + tunnelLength
	}
	for _, protocol := range []uint8{unix.IPPROTO_UDP, unix.IPPROTO_TCP} {
		s := &stream{world: w, flow: Flow{protocol, 7, 9}}
		s.add("small packet", Fast, delivered, func(*Packet) {})
		s.add("largest packet", Fast, delivered, func(p *Packet) { p.Payload = content(w.MTU - overhead - s.headers()) })
		s.add("congestion experienced", Fast, delivered, func(p *Packet) { p.TOS = 3 })
		s.add("checksum to be completed by a device", SlowThenFast, delivered, func(p *Packet) { p.Checksum = Partial })
		size := w.MTU - overhead - s.headers()
		three := map[Point]int{Wire: 3, Receiver: 3}
		s.addSegmented("three segments", SlowThenFast, three, size, func(p *Packet) { p.Payload = content(3*size - 7) })
		for _, c := range s.cases {
			c.Name = fmt.Sprintf("%s, protocol %d inside", c.Name, protocol)
			c.Device, c.Flow = device, outer
			cases = append(cases, c)
		}
	}
	return cases
}

// FromSocket returns datagrams that a program in the sending Pod sends; device is the one that takes their payload.
func FromSocket(w World, device string, f Flow) []Case {
	s := &stream{world: w, flow: f}
	for _, n := range []int{1, 500, w.MTU - s.headers()} {
		c := Case{Name: fmt.Sprintf("datagram of %d bytes", n), Path: Fast, Arrivals: delivered, Flow: f, Device: device}
		c.Frame.Data = content(n)
		s.cases = append(s.cases, c)
	}
	return s.cases
}
