// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// serverPort is the server's port of all connections.
const serverPort = 80

// packet is a TCP segment or a datagram.
type packet struct {
	id     uint16 // number of the step, in the identification of the IP header or the flow label
	flags  uint8
	seq    uint32
	ack    uint32
	window uint16
	length int  // of the payload
	lost   bool // on the wire
}

// synOptions are window scale and SACK permitted, padded.
var synOptions = []byte{3, 3, scale, 4, 2, 1, 1, 1}

// frame returns the packet as its sender sends it.
func (p *packet) frame(s *sequence, from side, nodes [2]*nodepair.Node) []byte {
	sender, receiver := nodes[from], nodes[from.other()]
	e := equality.Packet{
		SourceMAC: sender.PodMAC, DestinationMAC: sender.Gateway, Source: sender.PodIP, Destination: receiver.PodIP,
		Protocol: unix.IPPROTO_TCP, SourcePort: s.port, DestinationPort: serverPort, ID: uint32(p.id), TTL: 64,
		Fragment: 0x4000, // do not fragment
		Flags:    p.flags, Sequence: p.seq, Ack: p.ack, Payload: make([]byte, p.length),
	}
	if from == server {
		e.SourcePort, e.DestinationPort = e.DestinationPort, e.SourcePort
	}
	if s.udp {
		e.Protocol = unix.IPPROTO_UDP
	} else if p.flags&equality.SYN != 0 {
		e.TCPOptions = synOptions
	}
	e.Window = &p.window
	if p.lost {
		e.TTL = lostTTL
	}
	return e.Bytes()
}

// arrival identifies a packet that has arrived.
type arrival struct {
	port uint16 // of the client
	from side
	id   uint16
}

// read returns which packet a frame is, if it is one of ours.
func read(frame []byte, nodes [2]*nodepair.Node) (a arrival, ok bool) {
	if len(frame) < 14+20+4 {
		return a, false
	}
	ip := frame[14:]
	var source netip.Addr
	var transport []byte
	switch ip[0] >> 4 {
	case 4:
		source, transport, a.id = netip.AddrFrom4([4]byte(ip[12:16])), ip[20:], binary.BigEndian.Uint16(ip[4:])
	case 6:
		if len(ip) < 44 {
			return a, false
		}
		source, transport, a.id = netip.AddrFrom16([16]byte(ip[8:24])), ip[40:], binary.BigEndian.Uint16(ip[2:])
	default:
		return a, false
	}
	from, to := binary.BigEndian.Uint16(transport), binary.BigEndian.Uint16(transport[2:])
	switch source {
	case nodes[client].PodIP:
		a.from, a.port = client, from
	case nodes[server].PodIP:
		a.from, a.port = server, to
	default:
		return a, false
	}
	return a, true
}
