// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"encoding/binary"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
)

// recipe is the fuzzer's input: the first byte is the kind of base packet (see base), then come edits, each the number of an edit and
// the bytes that it takes. After its end a recipe gives zeros. Without an edit the packet is a hit; with one it is nearly a hit, which
// is where faults are.
type recipe []byte

func (r *recipe) next() byte {
	if len(*r) == 0 {
		return 0
	}
	b := (*r)[0]
	*r = (*r)[1:]
	return b
}

func (r *recipe) word() uint32 {
	return uint32(r.next())<<24 | uint32(r.next())<<16 | uint32(r.next())<<8 | uint32(r.next())
}

// maxEdits keeps cases near a hit.
const maxEdits = 12

func (w *fuzzWorld) cook(r recipe) *fuzzCase {
	kind := r.next()
	c := w.bases[kind%16].clone()
	for i := 0; i < maxEdits && len(r) > 0; i++ {
		n := int(r.next()) % 16
		if n >= len(edits) {
			n = 0 // more of the first: most of the condition is about the packet's fields
		}
		edits[n](w, c, &r)
	}
	if e := c.state.Entry; kind&64 != 0 && e != nil {
		e.Translated = w.serviceEnd(c)
	}
	// Usually the checksum is right and the entry is the packet's, regardless of the edits.
	if kind&32 == 0 {
		c.sum()
	}
	if kind&16 == 0 {
		c.follow()
	}
	return c
}

var edits = []func(*fuzzWorld, *fuzzCase, *recipe){
	// A field of a header. The numbers are part of the corpus: new edits go to the end.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		at := c.layer(r.next()) + fields[int(r.next())%len(fields)]
		change(c.packet.Frame, at, r)
	},
	// Any byte.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) { change(c.packet.Frame, int(r.next()), r) },
	// The length.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		n := int(int8(r.next()))
		if n < 0 {
			c.packet.Frame = c.packet.Frame[:max(14, len(c.packet.Frame)+n)]
		} else {
			c.packet.Frame = append(c.packet.Frame, make([]byte, n*n/8)...)
		}
	},
	// Inserted bytes: options, tags.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		at := min(c.layer(r.next())+fields[int(r.next())%len(fields)], len(c.packet.Frame))
		n := int(r.next())%3*4 + 4
		c.packet.Frame = append(c.packet.Frame[:at], append(make([]byte, n), c.packet.Frame[at:]...)...)
	},
	// Lengths and the outer checksum that agree with the present bytes.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) { c.repair() },
	// A number in the maps.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		s := &c.state
		numbers := []*uint32{&s.Mode, &s.Generation, &s.Endpoint.Generation, &s.Node.Generation, &s.Endpoint.Interface, &s.Endpoint.Changed}
		if e := s.Entry; e != nil {
			numbers = append(numbers, &e.Everything, &e.Endpoint, &e.Node)
		}
		n := numbers[int(r.next())%len(numbers)]
		*n += uint32(int8(r.next()))
		s.Mode %= 3
	},
	// The entry.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		e := c.state.Entry
		if e == nil {
			return
		}
		switch r.next() % 7 {
		case 0:
			e.Intact = false
		case 1:
			e.Own = false
		case 2:
			e.Other = false
		case 3:
			e.Running = false
		case 4:
			c.state.Entry = nil
		case 5:
			change(e.MACs[:], int(r.next())%12, r)
		case 6:
			e.Divided = true
		}
	},
	// Addresses and the format of the tunnel.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		s := &c.state
		arrays := [][]byte{s.Uplink.MAC[:], s.Uplink.VirtualMAC[:], s.Uplink.TunnelHeader[:], s.Endpoint.MAC[:], s.Endpoint.GatewayMAC[:]}
		a := arrays[int(r.next())%len(arrays)]
		change(a, int(r.next())%len(a), r)
	},
	func(w *fuzzWorld, c *fuzzCase, r *recipe) { c.adopt() },
	// The route to the Node.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		s := &c.state
		switch r.next() % 4 {
		case 0: // around the size that fits
			s.Node.MTU = len(c.packet.Frame) - 28 + len(s.Node.Header) - 14 + int(int8(r.next()))/8
		case 1:
			s.Node.MTU = int(r.next())<<8 | int(r.next())
		case 2: // MACs, and the fixed fields of the outer header: DSCP, TTL
			change(s.Node.Header, int(r.next())%12, r)
			if !s.Node.Address.Is6() {
				s.Node.Header[14+1] = r.next() &^ 3
				s.Node.Header[14+8] = r.next()
			}
		case 3:
			a, b := binary.BigEndian.Uint16([]byte{r.next(), r.next()}), binary.BigEndian.Uint16([]byte{r.next(), r.next()})
			s.Uplink.PortFirst, s.Uplink.PortCount = min(a, b), max(a, b)-min(a, b)
		}
	},
	// The kernel's metadata of the frame.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		switch r.next() % 6 {
		case 0:
			c.packet.Interface = []uint32{uint32(w.PodIf), uint32(w.UplinkIf), 1}[r.next()%3]
		case 1:
			c.packet.VLAN = true
		case 2:
			c.packetType = r.next() % 4
			c.packet.ForHost = c.packetType == 0
		case 3:
			c.packet.Segment = int(r.next()) * 8
		case 4:
			c.mark = r.word()
		case 5:
			c.packet.Hash = r.word()
		}
	},
	// ECN outside and inside.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		codePoints := r.next()
		for i, at := range []int{14, c.innerOffset()} {
			if ip := c.packet.Frame[min(at, len(c.packet.Frame)):]; len(ip) >= 20 {
				ecn := codePoints >> (2 * i) & 3
				if ip[0]>>4 == 6 {
					ip[1] = ip[1]&^0x30 | ecn<<4
				} else {
					ip[1] = ip[1]&^3 | ecn
				}
			}
		}
		if c.ingress {
			repairOuter(c.packet.Frame)
		}
	},
	// A flow whose hash is known, and in half of the cases a packet without one.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		c.packet.Hash *= uint32(r.next() % 2)
		if c.state.Entry != nil {
			c.state.Entry.Hash = r.word()
		}
	},
	// A translation, of the address, of the port or of both.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		e := c.state.Entry
		if e == nil {
			return
		}
		b := w.serviceEnd(c).Addr().AsSlice()
		change(b, int(r.next())%len(b), r)
		addr, _ := netip.AddrFromSlice(b)
		e.Translated = netip.AddrPort{}
		if port := uint16(r.next())<<8 | uint16(r.next()); port != 0 {
			e.Translated = netip.AddrPortFrom(addr, port)
		}
	},
	// The checksum of the transport header: none, or one of the two zeros.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		at := c.innerOffset() + []int{26, 36, 46, 56}[r.next()%4] // UDP and TCP, behind IPv4 and IPv6
		if at+2 <= len(c.packet.Frame) {
			binary.BigEndian.PutUint16(c.packet.Frame[at:], []uint16{0, 0xffff, 1, 0xfffe}[r.next()%4])
		}
	},
	// The gateway in place of the Pod, mostly with the source MAC address of the packet in the entry.
	func(w *fuzzWorld, c *fuzzCase, r *recipe) {
		c.state.Endpoint.Gateway = true
		at := c.innerOffset() - 8
		if e := c.state.Entry; r.next()%8 != 7 && e != nil && len(c.packet.Frame) >= at+6 {
			copy(e.MACs[6:], c.packet.Frame[at:])
		}
	},
}

// serviceEnd is an address and a port that the peer of a base packet may have instead of its own.
func (w *fuzzWorld) serviceEnd(c *fuzzCase) netip.AddrPort {
	if c.state.Entry.Flow.Source.Addr().Is6() {
		return netip.AddrPortFrom(harness.ServiceIP6, harness.ServicePort)
	}
	return netip.AddrPortFrom(harness.ServiceIP, harness.ServicePort)
}

// fields are offsets from the beginning of an IP header: of Ethernet fields before it, of IPv4 and IPv6 fields, of fields of the
// transport header after either, and of the tunnel header.
var fields = []int{
	-14, -8, -2, -1,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 19, 23, 24, 39,
	20, 25, 27, 32, 33,
	41, 43, 45, 47, 52, 53,
	28, 30, 34, 35, 48, 50, 54, 55,
}

// layer returns the offset of the outermost or the inner IP header.
func (c *fuzzCase) layer(n byte) int {
	if n%2 == 0 {
		return 14
	}
	return c.innerOffset()
}

// change changes the byte at offset at, if there is one.
func change(b []byte, at int, r *recipe) {
	how, v := r.next(), r.next()
	if at < 0 || at >= len(b) {
		return
	}
	switch how % 6 {
	case 0:
		b[at] ^= 1 << (v % 8)
	case 1:
		b[at] = v
	case 2:
		b[at] += byte(int8(v))
	case 3:
		b[at] ^= v
	default: // a boundary value
		b[at] = []byte{0, 1, 2, 4, 6, 0x10, 0x40, 0xff}[v%8]
	}
}

// repair corrects lengths and the checksum of an outer IPv4 header.
func (c *fuzzCase) repair() {
	if !c.ingress {
		repairIP(c.packet.Frame, 14)
		return
	}
	repairIP(c.packet.Frame, c.innerOffset())
	repairOuter(c.packet.Frame)
}

func repairOuter(b []byte) {
	repairIP(b, 14)
	sum(b, 14)
}

// sum corrects the checksum of the inner IPv4 header.
func (c *fuzzCase) sum() { sum(c.packet.Frame, c.innerOffset()) }

func sum(b []byte, at int) {
	if len(b) < at+20 || binary.BigEndian.Uint16(b[at-2:]) != 0x0800 {
		return
	}
	binary.BigEndian.PutUint16(b[at+10:], 0)
	binary.BigEndian.PutUint16(b[at+10:], ^oracle.Sum(b[at:at+20]))
}

func repairIP(b []byte, at int) {
	if len(b) < at+48 {
		return
	}
	ip := b[at:]
	protocol, transport := ip[9], 20
	if binary.BigEndian.Uint16(b[at-2:]) == 0x86dd {
		protocol, transport = ip[6], 40
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-40))
	} else {
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	}
	if protocol == 17 {
		binary.BigEndian.PutUint16(ip[transport+4:], uint16(len(ip)-transport))
	}
}
