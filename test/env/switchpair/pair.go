// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package switchpair makes the switches of two Nodes that need no kernel module: two private Open vSwitch with the real
// pipeline, their datapath and conntrack in user space, joined by a Geneve tunnel. Pods and hosts behind the ports are
// played by the caller: it sends frames, and is told where each has left. It needs root, for network namespaces.
//
// node.go and port.go are a Node's switch, pipeline.go installs the flows that every agent installs, conntrack.go reads the
// connections. pair.go connects the Nodes and tells
// when all packets have arrived. program.go stands in for package testing.
package switchpair

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// fenceTimeout is the time within which a fence must arrive.
const fenceTimeout = 30 * time.Second

// lateTimeout is the time within which an agent must answer. Tests with wrong expectations wait for it in each round.
const lateTimeout = 5 * time.Second

// Pair is two Nodes, with a record of where frames have arrived.
type Pair struct {
	// Nodes are "node-1" and "node-2".
	Nodes map[string]*Node

	mu sync.Mutex
	// arrived has the departures of each frame from a bridge.
	arrived map[uint32][]Arrival
	// fault reports the first unknown frame.
	fault error
	// changed has a value after a frame has arrived.
	changed chan struct{}

	lastID uint32
}

// Outgoing is a frame on its way into a bridge.
type Outgoing struct {
	At    *Port
	Frame []byte
}

// Arrival is a frame that has left a bridge through a port.
type Arrival struct {
	At    *Port
	Frame []byte
}

// Place is the place of a Pod: a Node, and the addresses that are expected behind the port. Its number in the list of
// all places decides about the port's name, number and MAC address.
type Place struct {
	Node       string
	IPv4, IPv6 netip.Addr
}

// New starts both Nodes, which end with t.
func New(t ovstest.TB, places []Place) (*Pair, error) {
	f := &Pair{Nodes: map[string]*Node{}, arrived: map[uint32][]Arrival{}, changed: make(chan struct{}, 1)}
	for number := byte(1); number <= 2; number++ {
		n, err := newNode(t, number, places, f.receive)
		if err != nil {
			return nil, err
		}
		f.Nodes[n.Name()] = n
	}
	connect(f.Nodes["node-1"], f.Nodes["node-2"])
	return f, nil
}

func (f *Pair) receive(at *Port, frame []byte) {
	id, err := wire.Number(frame)
	f.mu.Lock()
	if err != nil && f.fault == nil {
		f.fault = fmt.Errorf("at %s: %w", at.Name, err)
	}
	f.arrived[id] = append(f.arrived[id], Arrival{at, frame})
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// NextID returns the number of another connection, see package wire.
func (f *Pair) NextID() uint32 {
	f.lastID += wire.Step
	return f.lastID
}

// other returns the other Node.
func (f *Pair) other(n *Node) *Node { return f.Nodes[n.Peer().Name()] }

// WaitWire returns when both Nodes, with their pipelines, reach each other: Open vSwitch connects to the wire by itself.
func (f *Pair) WaitWire() error {
	for _, n := range f.Nodes {
		begin, patience := time.Now(), 100*time.Millisecond
		for {
			id := f.NextID()
			if err := n.Gateway.Send(f.toOtherNode(n, id)); err != nil {
				return err
			}
			if f.await(patience, Fence{id, f.other(n).Gateway}) == nil {
				break
			}
			if time.Since(begin) > SetupTimeout {
				return fmt.Errorf("%s does not reach the other Node after %s", n.Name(), SetupTimeout)
			}
		}
	}
	return nil
}

// Fence is a frame that nothing stops. It arrives at a port once all frames before it have arrived.
type Fence struct {
	ID uint32
	At *Port
}

// await returns when all fences have arrived.
func (f *Pair) await(limit time.Duration, fences ...Fence) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		missing := f.missing(fences)
		if missing == nil {
			return nil
		}
		select {
		case <-f.changed:
		case <-deadline.C:
			return fmt.Errorf("frame %d, which nothing may stop, has not arrived at %s after %s", missing.ID, missing.At.Name, limit)
		}
	}
}

func (f *Pair) missing(fences []Fence) *Fence {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, want := range fences {
		if !slices.ContainsFunc(f.arrived[want.ID], func(a Arrival) bool { return a.At == want.At }) {
			return &want
		}
	}
	return nil
}

// toOtherNode is a packet from gateway to gateway, to which policies do not apply.
func (f *Pair) toOtherNode(n *Node, id uint32) []byte {
	// Each packet opens a connection of its own.
	source := netip.AddrPortFrom(n.GatewayIPv4(), uint16(1024+id/wire.Step%60000))
	destination := netip.AddrPortFrom(f.other(n).GatewayIPv4(), 9)
	return wire.Opening(wire.Leg{SourceMAC: n.Gateway.MAC, DestinationMAC: config.GlobalVirtualMAC, Source: source, Destination: destination}, unix.IPPROTO_UDP, id)
}

// Exchange sends frames and returns the ports at which each has arrived, by its number, once no more can arrive. Fences tell when that is,
// in three steps. An ARP request after the frames of each Pod: its bridge delivers it to the gateway after it has processed them. Then a
// packet from each gateway through the tunnel, after what takes the tunnel and after the gateway's own frames. Then one to each port, after
// whatever leaves there: an ARP request from the gateway to its Pods, and one from each Pod to the gateway, where the gateway's own frames
// may leave again. late are answers of an agent to these frames, which no fence follows: they are waited for, and missing in what is
// returned if they do not come. Packets that an agent has sent since the last call are also returned.
func (f *Pair) Exchange(frames []Outgoing, late ...Fence) (map[uint32][]Arrival, error) {
	fences, err := f.fencesToGateways(frames)
	if err != nil {
		return nil, err
	}
	if err := f.await(fenceTimeout, fences...); err != nil {
		return nil, err
	}
	fences = nil
	for _, n := range f.Nodes {
		id := f.NextID()
		if err := n.Gateway.Send(f.toOtherNode(n, id)); err != nil {
			return nil, err
		}
		fences = append(fences, Fence{id, f.other(n).Gateway})
	}
	if err := f.await(fenceTimeout, fences...); err != nil {
		return nil, err
	}
	fences = nil
	broadcast := net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, n := range f.Nodes {
		id := f.NextID()
		if err := n.Gateway.Send(wire.ARP(n.Gateway.MAC, broadcast, n.GatewayIPv4(), n.GatewayIPv4().Next(), id)); err != nil {
			return nil, err
		}
		for _, p := range n.Pods {
			fences = append(fences, Fence{id, p})
		}
	}
	back, err := f.fencesToGateways(nil)
	if err != nil {
		return nil, err
	}
	fences = append(fences, back...)
	if err := f.await(fenceTimeout, fences...); err != nil {
		return nil, err
	}
	_ = f.await(lateTimeout, late...)
	f.mu.Lock()
	defer f.mu.Unlock()
	arrived := f.arrived
	f.arrived = map[uint32][]Arrival{}
	return arrived, f.fault
}

// fencesToGateways sends frames, and after each Pod's frames an ARP request to the gateway of its Node, which is a
// Fence there.
func (f *Pair) fencesToGateways(frames []Outgoing) (fences []Fence, err error) {
	bursts := map[*Port][][]byte{}
	for _, o := range frames {
		bursts[o.At] = append(bursts[o.At], o.Frame)
	}
	for _, n := range f.Nodes {
		if err := n.Gateway.Send(bursts[n.Gateway]...); err != nil {
			return nil, err
		}
		for _, p := range n.Pods {
			id := f.NextID()
			burst := append(bursts[p], wire.ARP(p.MAC, n.Gateway.MAC, p.IPv4, n.GatewayIPv4(), id))
			if err := p.Send(burst...); err != nil {
				return nil, err
			}
			fences = append(fences, Fence{id, n.Gateway})
		}
	}
	return fences, nil
}
