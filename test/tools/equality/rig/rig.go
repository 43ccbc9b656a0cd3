// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig sends single packets from a Pod to a Pod on another Node, captures them at every point of their path, and compares the
// captures with the cache off and on.
//
// rig.go sets it up, send.go sends one packet and collects its frames, flow.go opens flows and makes the cache learn them, compare.go
// runs streams of packets (package equality).
package rig

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// ethernetLength is the length of an Ethernet header.
const ethernetLength = 14

// Rig is two Pods and the network between them. The Pods' own stacks must not receive the packets.
type Rig struct {
	World equality.World
	// Transport is the sending Node's transport address, the source of its tunnel packets.
	Transport netip.Addr
	// Devices are the devices of the sending Pod besides its interface, by name.
	Devices map[string]Transmitter
	// ReplyTo is an ordinary packet of a flow from the receiving Pod; New sets it to World.Reply.
	ReplyTo func(equality.Flow) equality.Packet
	// ReceiverOpens: the receiving Pod opens connections, with ReplyTo.
	ReceiverOpens bool
	// SwitchCache switches the cache of both Nodes off or on. Forget makes connection tracking forget the Pods' connections.
	SwitchCache func(t *testing.T, on bool)
	Forget      func(t *testing.T)
	// RewritePort is the port of rewritten packets, 0 if there are none. On the wire their number is compared, and nothing else. Opening
	// exchanges are made on each flow then, for the Nodes to tell each other keys.
	RewritePort uint16
	// Rewritten is the number of rewritten packets seen on the wire.
	Rewritten int
	// Captures is a directory for captures of packets that differ.
	Captures string

	sockets [equality.Points]*afpacket.Socket
	// wire sends packets on the wire towards the receiving Node.
	wire *afpacket.Socket
	// fence is sent after a packet that should be dropped; fences is the number that has arrived at the receiving Pod.
	fence  afpacket.Frame
	fences int
	// rehearse sends each packet once before it is sent and captured.
	rehearse bool
	// late are frames that have arrived when no packet was in flight.
	late []string
}

// Transmitter sends the frame of a case, for example through a packet socket.
type Transmitter interface{ Send(afpacket.Frame) error }

// Datagrams sends the payload of datagrams.
type Datagrams struct{ net.Conn }

// Send sends all of the frame's data.
func (d Datagrams) Send(f afpacket.Frame) error {
	_, err := d.Write(f.Data)
	return err
}

// Place is a network device in a namespace, in which Space runs functions.
type Place struct {
	Space  interface{ Do(func() error) error }
	Device string
}

// New opens packet sockets at all points, and at the end of the wire from which packets for the receiving Node are sent. They live as
// long as the test.
func New(t *testing.T, world equality.World, points map[equality.Point]Place, wire Place) *Rig {
	t.Helper()
	b := &Rig{World: world, Devices: map[string]Transmitter{}}
	b.ReplyTo = func(f equality.Flow) equality.Packet { return b.World.Reply(f) }
	for point, place := range points {
		b.sockets[point] = place.Open(t)
	}
	b.wire = wire.Open(t)
	return b
}

// Open opens a packet socket that lives as long as the test.
func (p Place) Open(t *testing.T) *afpacket.Socket {
	t.Helper()
	var socket *afpacket.Socket
	require.NoError(t, p.Space.Do(func() error {
		link, err := net.InterfaceByName(p.Device)
		if err != nil {
			return fmt.Errorf("device %s: %w", p.Device, err)
		}
		socket, err = afpacket.Open(link.Index, true)
		return err
	}))
	t.Cleanup(socket.Close)
	return socket
}

// LearnOuter takes the headers of the wire from an ordinary packet.
func (b *Rig) LearnOuter(t *testing.T, f equality.Flow) {
	t.Helper()
	p := b.World.Packet(f)
	data := p.Bytes()
	arrivals := map[equality.Point]int{equality.Wire: 1, equality.Receiver: 1}
	seen := b.Send(t, b.sockets[equality.Sender], arrivals, afpacket.Frame{Data: data})
	require.Len(t, seen[equality.Wire], 1)
	onWire := seen[equality.Wire][0].Data
	b.World.Outer = bytes.Clone(onWire[:len(onWire)-len(data)+ethernetLength])
}
