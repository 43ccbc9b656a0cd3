// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bytes"
	"net/netip"
)

// tunnel has the parts of the outer headers that matter after they are accepted.
type tunnel struct {
	source  netip.Addr
	ecn     uint8
	content []byte // inner frame
}

// Ingress returns the frame that the Pod, or the host, receives, or why the packet must take the slow path.
func Ingress(s *State, p *Packet) ([]byte, error) {
	if s.Mode == Off {
		return nil, Refused("off")
	}
	outer, err := s.readTunnel(p)
	if err != nil {
		return nil, err
	}
	ip, err := read(be16(outer.content[12:]), outer.content[ethernetLength:])
	if err != nil {
		return nil, err
	}
	if err := s.valid(ip.flow); err != nil {
		return nil, err
	}
	if outer.source != s.Node.Address {
		return nil, Refused("outer_source")
	}
	mark, ok := mergeECN(outer.ecn, ip.tos&3)
	if !ok {
		return nil, Refused("ecn")
	}
	// Open vSwitch does not change the source of what it delivers to the gateway.
	if s.Endpoint.Gateway && !bytes.Equal(outer.content[6:12], s.Entry.MACs[6:]) {
		return nil, Refused("spoof")
	}
	if p.Segment != 0 && ip.flow.Protocol == udp {
		return nil, Refused("offload")
	}
	if err := s.ordered(ip.flow); err != nil {
		return nil, err
	}
	if err := s.enforced(); err != nil {
		return nil, err
	}
	frame := append(bytes.Clone(s.Entry.MACs[:]), outer.content[12:]...)
	if mark {
		congest(frame[ethernetLength:], ip.six)
	}
	translate(frame[ethernetLength:], true, s.Entry.Translated)
	hop(frame[ethernetLength:], ip.six)
	return frame, nil
}

// readTunnel accepts exactly the packets that peers send to this Node.
func (s *State) readTunnel(p *Packet) (*tunnel, error) {
	if p.VLAN || len(p.Frame) < ethernetLength+20+udpLength+tunnelLength+ethernetLength {
		return nil, Refused("not_tunnel")
	}
	t := &tunnel{}
	var datagram []byte
	intact := true // lengths and checksum of the outer IP header
	switch network := p.Frame[ethernetLength:]; be16(p.Frame[12:]) {
	case 0x0800:
		if network[0] != 0x45 || be16(network[6:])&^0x4000 != 0 || network[9] != udp || addr(network[16:20]) != s.Uplink.IPv4 {
			return nil, Refused("not_tunnel")
		}
		intact = Sum(network[:20]) == 0xffff && int(be16(network[2:])) == len(network)
		t.source, t.ecn, datagram = addr(network[12:16]), network[1]&3, network[20:]
	case 0x86dd:
		if len(network) < 40+udpLength+tunnelLength+ethernetLength {
			return nil, Refused("not_tunnel")
		}
		if network[0]>>4 != 6 || network[6] != udp || addr(network[24:40]) != s.Uplink.IPv6 {
			return nil, Refused("not_tunnel")
		}
		intact = int(be16(network[4:]))+40 == len(network)
		t.source, t.ecn, datagram = addr(network[8:24]), network[1]>>4&3, network[40:]
	default:
		return nil, Refused("not_tunnel")
	}
	if be16(datagram[2:]) != s.Uplink.Port {
		return nil, Refused("not_tunnel")
	}
	t.content = datagram[udpLength+tunnelLength:]
	switch {
	case !intact,
		!p.ForHost,
		!bytes.Equal(p.Frame[:6], s.Uplink.MAC[:]),
		int(be16(datagram[4:])) != len(datagram),
		be16(datagram[6:]) != 0, // a UDP checksum
		!bytes.Equal(datagram[udpLength:udpLength+tunnelLength], s.Uplink.TunnelHeader[:]),
		!bytes.Equal(t.content[:6], s.Uplink.VirtualMAC[:]):
		return nil, Refused("outer_header")
	}
	return t, nil
}

// mergeECN is RFC 6040, figure 4, for the cases in which nothing is logged, dropped or turned from ECT(0) into ECT(1). mark
// is set when the packet gets CE. The numbers are the code points: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
func mergeECN(outer, inner uint8) (mark, ok bool) {
	switch {
	case inner == 0:
		return false, outer == 0
	case outer == 3:
		return inner != 3, true
	case outer == 1 && inner == 2:
		return false, false
	}
	return false, true
}
