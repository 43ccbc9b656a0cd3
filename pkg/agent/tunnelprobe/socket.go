// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tunnelprobe

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/net/bpf"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// family holds the differences between ICMP and ICMPv6.
type family struct {
	network       string
	protocol      int
	request, kind icmp.Type
}

var (
	familyIPv4 = family{"ip4:icmp", 1, ipv4.ICMPTypeEcho, ipv4.ICMPTypeEchoReply}
	familyIPv6 = family{"ip6:ipv6-icmp", 58, ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply}
)

// socket sends echo requests from one address and receives the answers.
type socket struct {
	family family
	conn   *icmp.PacketConn
	id     uint16
}

// newSocket binds to the address, which the Node must have. Of what arrives, it gets only echo replies with the identifier, in network byte order:
// Pods can send others, as many as they like.
func newSocket(address netip.Addr, id uint16) (*socket, error) {
	s := &socket{family: familyIPv4, id: id}
	if address.Is6() {
		s.family = familyIPv6
	}
	conn, err := icmp.ListenPacket(s.family.network, address.String())
	if err != nil {
		return nil, fmt.Errorf("open a socket for echo requests from %s: %w", address, err)
	}
	s.conn = conn
	if err := s.filter(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("filter echo replies to %s: %w", address, err)
	}
	return s, nil
}

// filter checks type and identifier of ICMP (RFC 792, RFC 4443). With IPv4 the kernel also gives the IP header.
func (s *socket) filter() error {
	header := bpf.Instruction(bpf.LoadMemShift{Off: 0})
	if s.family == familyIPv6 {
		header = bpf.LoadConstant{Dst: bpf.RegX, Val: 0}
	}
	reply := uint32(ipv4.ICMPTypeEchoReply)
	if s.family == familyIPv6 {
		reply = uint32(ipv6.ICMPTypeEchoReply)
	}
	program, err := bpf.Assemble([]bpf.Instruction{
		header,
		bpf.LoadIndirect{Off: 0, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: reply, SkipTrue: 3},
		bpf.LoadIndirect{Off: 4, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(s.id), SkipTrue: 1},
		bpf.RetConstant{Val: 1 << 16},
		bpf.RetConstant{Val: 0},
	})
	if err != nil {
		return err
	}
	if s.family == familyIPv6 {
		return s.conn.IPv6PacketConn().SetBPF(program)
	}
	return s.conn.IPv4PacketConn().SetBPF(program)
}

// send sends a request. An error means as much as a lost one.
func (s *socket) send(to netip.Addr, sequence uint16) error {
	message := icmp.Message{Type: s.family.request, Body: &icmp.Echo{ID: int(s.id), Seq: int(sequence)}}
	// The kernel computes the checksum of ICMPv6.
	packet, err := message.Marshal(nil)
	if err != nil {
		return err
	}
	_, err = s.conn.WriteTo(packet, &net.IPAddr{IP: to.AsSlice()})
	return err
}

// receive returns the source of the next answer. It fails when the socket is closed.
func (s *socket) receive() (netip.Addr, error) {
	buffer := make([]byte, 256)
	_, from, err := s.conn.ReadFrom(buffer)
	if err != nil {
		return netip.Addr{}, err
	}
	address, _ := netip.AddrFromSlice(from.(*net.IPAddr).IP)
	return address.Unmap(), nil
}

func (s *socket) close() { _ = s.conn.Close() }
