// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/services"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// connection is one connection of a probe, with its fate.
type connection struct {
	*services.Probe
	id         uint32
	sourcePort uint16
	// to is the destination on the bridge: not the probe's where the host translates it. led: the packet comes to the bridge.
	to  netip.AddrPort
	led bool
	// data is the number of packets with data that were sent.
	data int

	// arrivals are packets to the server, with their addresses there, rejections are packets that came back instead.
	arrivals   []arrival
	rejections int
	// answered: the server's answer has come back, from the address that the client has opened the connection to.
	answered bool
	// stray describes a packet that should not exist.
	stray string
}

// arrival is a packet of a connection where it has left the bridge.
type arrival struct {
	at     *switchpair.Port
	header wire.Header
}

// newConnection returns a connection of the probe, with a client port of its own.
func (b *bench) newConnection(p *services.Probe) *connection {
	c := &connection{Probe: p, id: b.pair.NextID(), to: p.To, led: true}
	c.sourcePort = uint16(10000 + c.id/wire.Step%50000)
	if p.Client.Kind != services.FromPod {
		c.to, c.led = b.agentOf(p.Client.Node).host.lead(p)
	}
	return c
}

func (c *connection) source() netip.AddrPort { return netip.AddrPortFrom(c.Client.IP, c.sourcePort) }

// port returns the port of the bridge behind which the client is.
func (b *bench) port(c *services.Client) *switchpair.Port {
	if c.Kind == services.FromPod {
		return b.pods[c.IP]
	}
	return b.pair.Nodes[c.Node].Gateway
}

// portFor returns the port behind which an address is for a client of the Node: a Pod's, or else the gateway.
func (b *bench) portFor(address netip.Addr, node string) *switchpair.Port {
	if p := b.pods[address]; p != nil {
		return p
	}
	return b.pair.Nodes[node].Gateway
}

// nextHop returns the MAC address to which a packet for the address is sent from a port of the Node: of a Pod on the
// same Node, or of the gateway, behind which the host and the bridge route.
func (b *bench) nextHop(from *switchpair.Port, node string, to netip.Addr) net.HardwareAddr {
	n := b.pair.Nodes[node]
	if p := b.pods[to]; p != nil && n.Pods[p.IPv4] == p && p != from {
		return p.MAC
	}
	if from == n.Gateway {
		return config.GlobalVirtualMAC
	}
	return n.Gateway.MAC
}

// leg is the path of packets to the server.
func (b *bench) leg(c *connection) wire.Leg {
	from := b.port(&c.Client)
	return wire.Leg{SourceMAC: from.MAC, DestinationMAC: b.nextHop(from, c.Client.Node, c.to.Addr()), Source: c.source(), Destination: c.to}
}

// legBack is the path of answers to an arrival.
func (b *bench) legBack(c *connection, a arrival) wire.Leg {
	from := a.at
	return wire.Leg{
		SourceMAC: from.MAC, DestinationMAC: b.nextHop(from, b.nodeOf(c, from), a.header.Source.Addr()), Source: a.header.Destination, Destination: a.header.Source,
	}
}

// nodeOf returns the Node of a port.
func (b *bench) nodeOf(c *connection, p *switchpair.Port) string {
	for name, n := range b.pair.Nodes {
		if n.Gateway == p || n.Pods[p.IPv4] == p {
			return name
		}
	}
	panic("no Node has the port of " + c.String())
}

// mostAtOnce is the number of packets that are sent at once: a port drops frames when its queue has 100.
const mostAtOnce = 80

// open opens connections and answers those that have arrived. mayReject says which may get an answer from the agent.
func (b *bench) open(connections []*connection, mayReject func(*connection) bool) error {
	for chunk := range slices.Chunk(connections, mostAtOnce) {
		if err := b.openAtOnce(chunk, mayReject); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) openAtOnce(connections []*connection, mayReject func(*connection) bool) error {
	var frames []switchpair.Outgoing
	var late []switchpair.Fence
	for _, c := range connections {
		if !c.led {
			continue
		}
		from := b.port(&c.Client)
		frames = append(frames, switchpair.Outgoing{At: from, Frame: wire.Opening(b.leg(c), protocolNumbers[c.Protocol], c.id)})
		if mayReject(c) {
			late = append(late, switchpair.Fence{ID: c.id, At: from})
		}
	}
	arrived, err := b.exchange(frames, late...)
	if err != nil {
		return err
	}
	frames = nil
	for _, c := range connections {
		b.receive(c, c.id, arrived)
		if len(c.arrivals) == 1 {
			a := c.arrivals[0]
			frames = append(frames, switchpair.Outgoing{At: a.at, Frame: wire.Answer(b.legBack(c, a), protocolNumbers[c.Protocol], c.id)})
		}
	}
	if arrived, err = b.exchange(frames); err != nil {
		return err
	}
	for _, c := range connections {
		b.receiveAnswer(c, c.id, arrived)
	}
	return nil
}

// exchange sends frames. Packets that were dropped before must not be answered.
func (b *bench) exchange(frames []switchpair.Outgoing, late ...switchpair.Fence) (map[uint32][]switchpair.Arrival, error) {
	arrived, err := b.pair.Exchange(frames, late...)
	for _, c := range b.silent {
		if len(arrived[c.id]) > 0 {
			c.stray = "it was answered later"
		}
	}
	return arrived, err
}

// receive records the fate of a packet to the server.
func (b *bench) receive(c *connection, number uint32, arrived map[uint32][]switchpair.Arrival) {
	c.arrivals, c.rejections = nil, 0
	for _, a := range arrived[number] {
		h, err := wire.Read(a.Frame)
		switch {
		case err != nil:
			c.stray = err.Error()
		case !h.Rejection:
			c.arrivals = append(c.arrivals, arrival{a.At, h})
		case a.At == b.port(&c.Client) && h.Source == c.to && h.Destination == c.source():
			c.rejections++
		default:
			c.stray = fmt.Sprintf("a rejection from %s to %s has arrived at %s", h.Source, h.Destination, a.At.Name)
		}
	}
}

// receiveAnswer records the fate of the server's packet.
func (b *bench) receiveAnswer(c *connection, number uint32, arrived map[uint32][]switchpair.Arrival) {
	c.answered = false
	for _, a := range arrived[number] {
		h, err := wire.Read(a.Frame)
		if err == nil && a.At == b.port(&c.Client) && h.Source == c.to && h.Destination == c.source() && !c.answered {
			c.answered = true
			continue
		}
		c.stray = fmt.Sprintf("an answer from %s to %s has arrived at %s", h.Source, h.Destination, a.At.Name)
	}
}

// endpoint returns where the connection has arrived.
func (c *connection) endpoint() netip.AddrPort {
	if len(c.arrivals) != 1 {
		return netip.AddrPort{}
	}
	return c.arrivals[0].header.Destination
}

// outcome describes the fate of the connection.
func (c *connection) outcome() string {
	var parts []string
	if !c.led {
		parts = append(parts, "not led to the bridge by the host")
	}
	for _, a := range c.arrivals {
		parts = append(parts, fmt.Sprintf("arrived at %s as %s -> %s", a.at.Name, a.header.Source, a.header.Destination))
	}
	if len(c.arrivals) == 1 && !c.answered {
		parts = append(parts, "its answer was lost")
	}
	if c.rejections > 0 {
		parts = append(parts, fmt.Sprintf("rejected %d times", c.rejections))
	}
	if c.stray != "" {
		parts = append(parts, c.stray)
	}
	if len(parts) == 0 {
		return "dropped"
	}
	return strings.Join(parts, ", ")
}
