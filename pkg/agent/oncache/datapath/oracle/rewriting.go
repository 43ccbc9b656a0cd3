// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// Heard is the key that the Node of an egress entry has told (docs/use/oncache.md, "Rewriting").
type Heard struct {
	Key uint16
	// Flow is the flow of the key as it is on the wire; TTL is the TTL of its packets behind Open vSwitch.
	Flow  Flow
	TTL   uint8
	Alive bool // it was heard within its life
}

// Given is a key that this Node has given.
type Given struct {
	Key   uint16
	Owner netip.Addr // transport address of the Node that may use it
	Flow  Flow       // of the packets as they would be in the tunnel
	TTL   uint8
	Kept  bool // it was told within two lives
}

// Unknown is the reason for which a packet is dropped.
const Unknown = Refused("unknown_key")

// onWire is the flow of a packet that a Pod sends when it leaves the Node.
func (s *State) onWire(f Flow) Flow {
	if s.Entry.Translated.IsValid() {
		f.Destination = s.Entry.Translated
	}
	return f
}

// rewritable: the packet, which is a hit, is rewritten instead of encapsulated.
func (s *State) rewritable(p *Packet, ip *inner) bool {
	k := s.Heard
	ttl := ip.ttl
	if !s.Endpoint.Gateway {
		ttl--
	}
	switch {
	case !s.Rewriting, k == nil, !k.Alive, k.Key == 0, k.Flow != s.onWire(ip.flow), k.TTL != ttl:
		return false
	case ip.six != s.Node.Address.Is6(), ip.tos>>2 != 0:
		return false
	case !ip.six && p.Frame[ethernetLength+6]&0x40 == 0: // the network may fragment it
		return false
	}
	return p.Segment == 0 || ip.flow.Protocol != udp
}

// rewrite gives a packet the addresses of the Nodes, the key as source port, and the TTL and MAC addresses of tunnel packets.
func (s *State) rewrite(p *Packet, ip *inner) []byte {
	// Source and destination are the template's, which is from this Node.
	template := s.Node.Header[ethernetLength:]
	source, destination, ttl := addr(template[12:16]), addr(template[16:20]), template[8]
	if ip.six {
		source, destination, ttl = addr(template[8:24]), addr(template[24:40]), template[7]
	}
	frame := append(bytes.Clone(s.Node.Header[:12]), p.Frame[12:]...)
	readdress(frame[ethernetLength:], Flow{
		Source: netip.AddrPortFrom(source, s.Heard.Key), Destination: netip.AddrPortFrom(destination, s.Uplink.RewritePort),
	}, ttl)
	return frame
}

// readdress writes both ends and the TTL of a packet, and removes its DSCP. Checksums are changed as by translate.
func readdress(ip []byte, to Flow, ttl uint8) {
	translate(ip, true, to.Source)
	translate(ip, false, to.Destination)
	if ip[0]>>4 == 6 {
		ip[7] = ttl
		ip[0], ip[1] = ip[0]&0xf0, ip[1]&0x3f
		return
	}
	before := bytes.Clone(ip[:10])
	ip[8], ip[1] = ttl, ip[1]&3
	apply(ip[10:12], replaced(before[8:10], ip[8:10])+replaced(before[0:2], ip[0:2]))
}

// Unpadded is an IPv4 packet to the port for rewritten packets without what Ethernet may have appended, which is removed first.
func (p *Packet) Unpadded() *Packet {
	const longest, shortest = 64, ethernetLength + 20 + udpLength
	if len(p.Frame) < shortest || len(p.Frame) > longest || be16(p.Frame[12:]) != 0x0800 || p.VLAN || p.Segment != 0 {
		return p
	}
	length := ethernetLength + int(be16(p.Frame[ethernetLength+2:]))
	if length < shortest || length >= len(p.Frame) {
		return p
	}
	unpadded := *p
	unpadded.Frame = p.Frame[:length:length]
	return &unpadded
}

// IngressRewritten is Ingress for a packet to the port for rewritten packets. The Pod receives frame if refused is nil. A packet
// refused as Unknown, because a Node has sent it, is dropped; with another reason it is passed on, as encapsulated unless that is nil,
// else untouched. The source port of encapsulated is left open (0).
func IngressRewritten(s *State, p *Packet) (frame, encapsulated []byte, refused error) {
	p = p.Unpadded()
	ip, err := readRewritten(s, p)
	if err != nil {
		return nil, nil, err
	}
	g := s.Given
	if g == nil || !g.Kept || g.Owner != ip.flow.Source.Addr() || g.Key != ip.flow.Source.Port() || g.Flow.Protocol != ip.flow.Protocol ||
		g.Flow.Source.Addr().Is6() != ip.six || ip.ends {
		if s.Rewriting && s.Mode != Off && ip.flow.Source.Addr() == s.Node.Address {
			return nil, nil, Unknown
		}
		return nil, nil, Refused("not_tunnel")
	}
	encapsulated = s.encapsulateBack(p, ip)
	if err := s.deliverable(p, ip); err != nil {
		return nil, encapsulated, err
	}
	frame = append(bytes.Clone(s.Entry.MACs[:]), p.Frame[12:]...)
	readdress(frame[ethernetLength:], g.Flow, g.TTL-1)
	translate(frame[ethernetLength:], true, s.Entry.Translated)
	return frame, nil, nil
}

// readRewritten accepts the form that rewritten packets have. Whether they open or end a connection is another question.
func readRewritten(s *State, p *Packet) (*inner, error) {
	if p.VLAN || len(p.Frame) < ethernetLength {
		return nil, Refused("not_tunnel")
	}
	ip, err := read(be16(p.Frame[12:]), p.Frame[ethernetLength:])
	if ip == nil && err == Refused("tcp_flags") {
		// A segment that opens or ends a connection is read: it is never sent with a key. A segment without ACK does not come from a peer.
		acknowledged := bytes.Clone(p.Frame)
		flags := &acknowledged[ethernetLength+20+13]
		if be16(p.Frame[12:]) == 0x86dd {
			flags = &acknowledged[ethernetLength+40+13]
		}
		if *flags&7 != 0 {
			*flags = 16
			if ip, err = read(be16(acknowledged[12:]), acknowledged[ethernetLength:]); ip != nil {
				ip.ends = true
			}
		}
	}
	if err == Refused("ttl") {
		// It gets its own back.
		alive := bytes.Clone(p.Frame)
		if be16(alive[12:]) == 0x86dd {
			alive[ethernetLength+7] = 64
		} else {
			ip := alive[ethernetLength:]
			before := bytes.Clone(ip[8:10])
			ip[8] = 64
			apply(ip[10:12], replaced(before, ip[8:10]))
		}
		return readRewritten(s, &Packet{Frame: alive, ForHost: p.ForHost, Segment: p.Segment})
	}
	own := s.Uplink.IPv4
	if ip != nil && ip.six {
		own = s.Uplink.IPv6
	}
	if err != nil || !p.ForHost || !bytes.Equal(p.Frame[:6], s.Uplink.MAC[:]) || ip.flow.Destination != netip.AddrPortFrom(own, s.Uplink.RewritePort) {
		return nil, Refused("not_tunnel")
	}
	return ip, nil
}

// deliverable says why a rewritten packet with a known key takes the slow path.
func (s *State) deliverable(p *Packet, ip *inner) error {
	if s.Mode != Enforce {
		return Refused("observed")
	}
	if err := s.valid(s.Given.Flow); err != nil {
		return err
	}
	switch {
	case ip.flow.Source.Addr() != s.Node.Address:
		return Refused("outer_source")
	case ip.flow.Protocol == udp && (p.Segment != 0 || s.Entry.Divided):
		return Refused("offload")
	case s.Endpoint.Gateway && !bytes.Equal(p.Frame[6:12], s.Entry.MACs[6:]):
		return Refused("spoof")
	}
	return nil
}

// encapsulateBack is the packet as its sender would have encapsulated it.
func (s *State) encapsulateBack(p *Packet, ip *inner) []byte {
	content := bytes.Clone(p.Frame[ethernetLength:])
	readdress(content, s.Given.Flow, s.Given.TTL)
	frame := bytes.Clone(p.Frame[:ethernetLength])
	ecn := ip.tos & 3
	if ecn == 3 {
		ecn = 2
	}
	datagram := make([]byte, udpLength)
	binary.BigEndian.PutUint16(datagram[2:], s.Uplink.Port)
	datagram = append(datagram, s.Uplink.TunnelHeader[:]...)
	datagram = append(append(append(datagram, s.Uplink.VirtualMAC[:]...), make([]byte, 6)...), p.Frame[12:14]...)
	datagram = append(datagram, content...)
	binary.BigEndian.PutUint16(datagram[4:], uint16(len(datagram)))
	if ip.six {
		network := make([]byte, 40)
		network[0], network[1] = 0x60, ecn<<4
		binary.BigEndian.PutUint16(network[4:], uint16(len(datagram)))
		network[6], network[7] = udp, 64
		copy(network[8:], s.Given.Owner.AsSlice())
		copy(network[24:], s.Uplink.IPv6.AsSlice())
		return append(append(frame, network...), datagram...)
	}
	network := make([]byte, 20)
	network[0], network[1] = 0x45, ecn
	binary.BigEndian.PutUint16(network[2:], uint16(len(network)+len(datagram)))
	network[6], network[8], network[9] = 0x40, 64, udp
	copy(network[12:], s.Given.Owner.AsSlice())
	copy(network[16:], s.Uplink.IPv4.AsSlice())
	binary.BigEndian.PutUint16(network[10:], ^Sum(network))
	return append(append(frame, network...), datagram...)
}
