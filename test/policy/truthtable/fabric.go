// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

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
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/policy/wire"
)

// fenceTimeout is the time within which a fence must arrive.
const fenceTimeout = 30 * time.Second

// fabric is two Nodes, with a record of where frames have arrived.
type fabric struct {
	nodes map[string]*node

	mu sync.Mutex
	// arrived has the ports at which each frame has left a bridge.
	arrived map[uint32][]*port
	// fault reports the first frame that nobody has sent.
	fault error
	// changed has a value after a frame has arrived.
	changed chan struct{}

	lastID uint32
}

// outgoing is a frame on its way into a bridge.
type outgoing struct {
	at    *port
	frame []byte
}

func newFabric(t ovstest.TB, world *policy.World) (*fabric, error) {
	f := &fabric{nodes: map[string]*node{}, arrived: map[uint32][]*port{}, changed: make(chan struct{}, 1)}
	for number := byte(1); number <= 2; number++ {
		n, err := newNode(t, number, world, f.receive)
		if err != nil {
			return nil, err
		}
		f.nodes[n.name()] = n
	}
	connect(f.nodes["node-1"], f.nodes["node-2"])
	return f, nil
}

func (f *fabric) receive(at *port, frame []byte) {
	id, err := wire.Number(frame)
	f.mu.Lock()
	if err != nil && f.fault == nil {
		f.fault = fmt.Errorf("at %s: %w", at.name, err)
	}
	f.arrived[id] = append(f.arrived[id], at)
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *fabric) nextID() uint32 {
	f.lastID += wire.Step
	return f.lastID
}

// other returns the other Node.
func (f *fabric) other(n *node) *node { return f.nodes[n.peer().name()] }

// waitWire returns when both Nodes, with their pipelines, reach each other: Open vSwitch connects to the wire by itself.
func (f *fabric) waitWire() error {
	for _, n := range f.nodes {
		begin, patience := time.Now(), 100*time.Millisecond
		for {
			id := f.nextID()
			if err := n.gateway.send(f.toOtherNode(n, id)); err != nil {
				return err
			}
			if f.await(patience, fence{id, f.other(n).gateway}) == nil {
				break
			}
			if time.Since(begin) > setupTimeout {
				return fmt.Errorf("%s does not reach the other Node after %s", n.name(), setupTimeout)
			}
		}
	}
	return nil
}

// fence is a frame that no policy stops. It arrives at a port once all frames before it have arrived.
type fence struct {
	id uint32
	at *port
}

// await returns when all fences have arrived.
func (f *fabric) await(limit time.Duration, fences ...fence) error {
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
			return fmt.Errorf("frame %d, which nothing may stop, has not arrived at %s after %s", missing.id, missing.at.name, limit)
		}
	}
}

func (f *fabric) missing(fences []fence) *fence {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, want := range fences {
		if !slices.Contains(f.arrived[want.id], want.at) {
			return &want
		}
	}
	return nil
}

// toOtherNode is a packet from gateway to gateway, to which policies do not apply.
func (f *fabric) toOtherNode(n *node, id uint32) []byte {
	// Each packet opens a connection of its own.
	source := netip.AddrPortFrom(n.gatewayIPv4(), uint16(1024+id/wire.Step%60000))
	destination := netip.AddrPortFrom(f.other(n).gatewayIPv4(), 9)
	return wire.Opening(wire.Leg{SourceMAC: n.gateway.mac, DestinationMAC: config.GlobalVirtualMAC, Source: source, Destination: destination}, unix.IPPROTO_UDP, id)
}

// exchange sends frames and returns the ports at which each has arrived, by its number, once no more can arrive. Three kinds of fences
// tell when that is. An ARP request after the frames of each Pod: its bridge delivers it to the gateway after it has processed them.
// Then a packet through the tunnel, after the frames that take the tunnel. Then an ARP request from the gateway to all Pods of its
// bridge, which is also after the gateway's own frames.
func (f *fabric) exchange(frames []outgoing) (map[uint32][]*port, error) {
	f.mu.Lock()
	clear(f.arrived)
	f.mu.Unlock()
	if err := f.sendWithFences(frames); err != nil {
		return nil, err
	}
	var fences []fence
	for _, n := range f.nodes {
		id := f.nextID()
		if err := n.gateway.send(f.toOtherNode(n, id)); err != nil {
			return nil, err
		}
		fences = append(fences, fence{id, f.other(n).gateway})
	}
	if err := f.await(fenceTimeout, fences...); err != nil {
		return nil, err
	}
	fences = nil
	broadcast := net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, n := range f.nodes {
		id := f.nextID()
		if err := n.gateway.send(wire.ARP(n.gateway.mac, broadcast, n.gatewayIPv4(), n.gatewayIPv4().Next(), id)); err != nil {
			return nil, err
		}
		for _, p := range n.pods {
			fences = append(fences, fence{id, p})
		}
	}
	if err := f.await(fenceTimeout, fences...); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	arrived := f.arrived
	f.arrived = map[uint32][]*port{}
	return arrived, f.fault
}

// sendWithFences sends the frames of each Pod, with a fence after them, and waits for the fences.
func (f *fabric) sendWithFences(frames []outgoing) error {
	var fences []fence
	bursts := map[*port][][]byte{}
	for _, o := range frames {
		bursts[o.at] = append(bursts[o.at], o.frame)
	}
	for _, n := range f.nodes {
		if err := n.gateway.send(bursts[n.gateway]...); err != nil {
			return err
		}
		for _, p := range n.pods {
			burst := bursts[p]
			id := f.nextID()
			burst = append(burst, wire.ARP(p.mac, n.gateway.mac, p.ipv4, n.gatewayIPv4(), id))
			if err := p.send(burst...); err != nil {
				return err
			}
			fences = append(fences, fence{id, n.gateway})
		}
	}
	return f.await(fenceTimeout, fences...)
}
