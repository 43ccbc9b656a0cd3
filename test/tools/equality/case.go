// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package equality helps a test show that a packet is the same behind the fast path as behind the slow path: it has streams of
// packets with every peculiarity that a packet can have, and compares the frames that come of them.
//
// packet.go writes packets, case.go and stream*.go make the streams, compare.go compares, print.go and pcap.go show
// differences. Package rig sends and captures.
package equality

import (
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// Point is a place where frames are sent or captured.
type Point uint8

// The points, in the order in which a packet passes them.
const (
	// Sender is the interface of the sending Pod, in its namespace.
	Sender Point = iota
	// SendingTunnel is the tunnel device of the sending Node, which only the slow path uses.
	SendingTunnel
	// Wire is the network between the Nodes.
	Wire
	// ReceivingTunnel is the tunnel device of the receiving Node, which only the slow path uses.
	ReceivingTunnel
	// Receiver is the interface of the receiving Pod, in its namespace.
	Receiver

	Points
)

func (p Point) String() string {
	return [...]string{
		"the sending Pod", "the sending Node's tunnel device", "the wire", "the receiving Node's tunnel device", "the receiving Pod",
	}[p]
}

// Path says which paths a packet must take when the cache is on. With the cache off it always takes the slow path.
type Path uint8

// The paths.
const (
	// Fast bypasses Open vSwitch on both Nodes.
	Fast Path = iota
	// Slow is through Open vSwitch on both Nodes, or on the only one that sees the packet.
	Slow
	// SlowThenFast and FastThenSlow name the sending Node first.
	SlowThenFast
	FastThenSlow
)

// Case is one packet.
type Case struct {
	Name  string
	Frame afpacket.Frame
	// Before are frames that belong to Frame and are sent before it.
	Before []afpacket.Frame
	// From is Sender or Wire. Device is a device of the sending Pod, "" for its interface; the Pod's kernel chooses the IP
	// identification of a frame that is sent to it.
	From   Point
	Device string
	Path   Path
	// Arrivals is the number of frames that the packet becomes at Wire, at Receiver, and back at Sender. For a packet that always
	// takes the slow path, it is only the number to wait for with the cache off: with the cache on as many must come as then.
	Arrivals map[Point]int
	// Unlike, if set, replaces Arrivals with the cache on, where the design accepts a difference
	// (docs/design/oncache-same-packet.md): the packets are not compared.
	Unlike map[Point]int
	// Completed says that a device on the path may have completed a missing checksum.
	Completed bool
	// Flow is the flow that must be established, and have usable entries if the packet is to take the fast path.
	Flow Flow
}

// Flow is a connection between sender and receiver.
type Flow struct {
	Protocol                    uint8
	SourcePort, DestinationPort uint16
}

// delivered are the arrivals of an ordinary packet, dropped the arrivals of a packet that Open vSwitch drops on the
// sending Node.
var (
	delivered = map[Point]int{Wire: 1, Receiver: 1}
	dropped   = map[Point]int{}
	// lost are the arrivals of a packet that the receiving Node drops.
	lost = map[Point]int{Wire: 1}
)

// Expected returns the number of frames that the packet becomes at each point.
func (c *Case) Expected(on bool) map[Point]int {
	if on && c.Unlike != nil {
		return c.Unlike
	}
	return c.Arrivals
}

// offloadOf returns the Offload of a packet with a Partial checksum that is sent in segments of size bytes, 0 for no segmentation.
func offloadOf(p *Packet, size int) afpacket.Offload {
	start := ethernetLength + p.IPLength()
	o := afpacket.Offload{
		Flags: afpacket.NeedsChecksum, ChecksumStart: uint16(start), ChecksumOffset: uint16(p.checksumOffset()),
	}
	if size == 0 {
		return o
	}
	o.SegmentSize = uint16(size)
	switch {
	case p.Protocol == unix.IPPROTO_UDP:
		o.Segmentation, o.HeaderLength = afpacket.SegmentUDP, uint16(start+udpLength)
	case p.Source.Is6():
		o.Segmentation, o.HeaderLength = afpacket.SegmentTCP6, uint16(start+tcpLength+len(p.TCPOptions))
	default:
		o.Segmentation, o.HeaderLength = afpacket.SegmentTCP4, uint16(start+tcpLength+len(p.TCPOptions))
	}
	if p.Protocol == unix.IPPROTO_TCP && p.Flags&CWR != 0 {
		o.Segmentation |= afpacket.SegmentECN
	}
	return o
}
