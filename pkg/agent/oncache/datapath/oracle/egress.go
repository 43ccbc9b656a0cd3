// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bytes"
	"encoding/binary"
)

// Bits of the mark: the cache's, and the bit that iptables sets in packets of the host.
const (
	OwnBits = 0x3fff3f00
	HostBit = 1 << 31
)

// Egress returns the frame that leaves on the uplink, or why the packet must take the slow path. The design leaves the
// identification of an outer IPv4 header open; the frame gets the argument identification.
func Egress(s *State, p *Packet, identification uint16) ([]byte, error) {
	if s.Mode == Off {
		return nil, Refused("off")
	}
	if p.VLAN || len(p.Frame) < ethernetLength {
		return nil, Refused("not_ip")
	}
	ip, err := read(be16(p.Frame[12:]), p.Frame[ethernetLength:])
	if err != nil {
		return nil, err
	}
	if s.Endpoint.Gateway && p.Mark&^(OwnBits|HostBit) != 0 {
		return nil, Refused("no_endpoint")
	}
	if err := s.valid(ip.flow); err != nil {
		return nil, err
	}
	if s.Entry.Local {
		if s.Endpoint.Gateway {
			return nil, Refused("no_entry")
		}
		return s.local(p, ip)
	}
	// A Pod uses the virtual MAC for a gateway that it learned from an ICMP redirect.
	toGateway := bytes.Equal(p.Frame[:6], s.Endpoint.GatewayMAC[:]) || bytes.Equal(p.Frame[:6], s.Uplink.VirtualMAC[:])
	if p.Interface != s.Endpoint.Interface || !bytes.Equal(p.Frame[6:12], s.Endpoint.MAC[:]) || !toGateway {
		return nil, Refused("spoof")
	}
	// The tunnel adds its headers and carries the inner Ethernet header.
	added := len(s.Node.Header) - ethernetLength
	segment := len(p.Frame) - ethernetLength
	if p.Segment != 0 {
		segment = ip.headers + p.Segment
	}
	if whole := len(p.Frame) - ethernetLength + added; segment+added > s.Node.MTU || whole > 0xffff {
		return nil, Refused("mtu")
	}
	if err := s.ordered(ip.flow); err != nil {
		return nil, err
	}
	if err := s.enforced(); err != nil {
		return nil, err
	}
	if s.rewritable(p, ip) {
		return s.rewrite(p, ip), nil
	}
	return s.encapsulate(p, ip, identification), nil
}

func (s *State) encapsulate(p *Packet, ip *inner, identification uint16) []byte {
	frame := bytes.Clone(s.Node.Header)
	copy(frame[len(frame)-2:], p.Frame[12:14]) // EtherType
	frame = append(frame, p.Frame[ethernetLength:]...)
	translate(frame[len(s.Node.Header):], false, s.Entry.Translated)
	if !s.Endpoint.Gateway {
		hop(frame[len(s.Node.Header):], ip.six)
	}

	// RFC 6040, normal mode, except that CE leaves as ECT(0), as with the kernel's tunnels.
	ecn := ip.tos & 3
	if ecn == 3 {
		ecn = 2
	}
	network := frame[ethernetLength:]
	transport := network[20:]
	if s.Node.Address.Is6() {
		transport = network[40:]
		binary.BigEndian.PutUint16(network[4:], uint16(len(transport)))
		network[1] |= ecn << 4
	} else {
		network[1] |= ecn
		binary.BigEndian.PutUint16(network[2:], uint16(len(network)))
		binary.BigEndian.PutUint16(network[4:], identification)
		binary.BigEndian.PutUint16(network[10:], 0)
		binary.BigEndian.PutUint16(network[10:], ^Sum(network[:20]))
	}
	// The kernel's formula for the source port of a tunnel (udp_flow_src_port).
	hash := p.Hash
	if hash == 0 {
		hash = s.Entry.Hash
	}
	hash ^= hash << 16
	binary.BigEndian.PutUint16(transport, s.Uplink.PortFirst+uint16(uint64(hash)*uint64(s.Uplink.PortCount)>>32))
	binary.BigEndian.PutUint16(transport[4:], uint16(len(transport)))
	return frame
}
