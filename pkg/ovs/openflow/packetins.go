// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// lossInterval is the shortest time between two messages about lost packets.
const lossInterval = time.Minute

// Sender says which packets of a subscription belong together: a Pod's, for instance. Such packets keep their order, and leave other senders their
// share of the queue.
type Sender func(*PacketIn) uint64

// PacketIns receives the packet-ins of one controller id in a bounded queue, which senders share: packets without room are dropped and
// counted. It has its own connection, because a connection has one id, and so that packets do not delay flows. When the connection
// is lost, it connects again by itself.
type PacketIns struct {
	id      uint16
	sender  Sender
	dropped atomic.Uint64
	// end stops what fills the queue.
	end  func()
	once sync.Once

	// mu guards all below. ready has a value while packets wait.
	mu     sync.Mutex
	queue  *packetQueue
	ready  chan struct{}
	closed bool
	// reported is the time of the last message about dropped packets.
	reported time.Time
}

func newPacketIns(id uint16, capacity int, sender Sender) (*PacketIns, error) {
	if capacity < 1 {
		return nil, fmt.Errorf("packet-ins for the controller id %d: a queue of %d packets, want at least 1", id, capacity)
	}
	return &PacketIns{id: id, sender: sender, queue: newPacketQueue(capacity), ready: make(chan struct{}, 1)}, nil
}

// Ready has a value while packets wait for Next. It is closed by Close.
func (p *PacketIns) Ready() <-chan struct{} { return p.ready }

// Next takes the next packet. It is nil if none waits, which cannot be after a value from Ready if one goroutine alone receives.
func (p *PacketIns) Next() *PacketIn {
	p.mu.Lock()
	defer p.mu.Unlock()
	packet := p.queue.pop()
	p.signal()
	return packet
}

// Waiting is the number of packets that wait for Next.
func (p *PacketIns) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.length
}

// signal makes ready have a value if packets wait, and none otherwise. The caller holds mu.
func (p *PacketIns) signal() {
	switch {
	case p.closed:
	case p.queue.length > 0:
		select {
		case p.ready <- struct{}{}:
		default:
		}
	default:
		select {
		case <-p.ready:
		default:
		}
	}
}

// Dropped is the number of packets that had no room in the queue.
func (p *PacketIns) Dropped() uint64 { return p.dropped.Load() }

// Close ends the subscription. It may be called again.
func (p *PacketIns) Close() {
	p.once.Do(func() {
		p.end()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.closed = true
		close(p.ready)
	})
}

// offer puts packet into the queue if there is room.
func (p *PacketIns) offer(packet *PacketIn) {
	var sender uint64
	if p.sender != nil {
		sender = p.sender(packet)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.queue.push(sender, packet) {
		dropped := p.dropped.Add(1)
		if now := time.Now(); now.Sub(p.reported) >= lossInterval {
			p.reported = now
			klog.InfoS("Packet-ins are dropped because their queue is full", "controllerID", p.id, "capacity", p.queue.capacity, "droppedSoFar", dropped)
		}
	}
	p.signal()
}

// appendPacketInSetUp appends the messages that make a connection one for the packet-ins of id. The switch sends a connection to a
// bridge's management socket no asynchronous messages until the client has set the maximum length of a packet-in (OVS's
// ofproto/connmgr.c); asynchronous messages other than packet-ins stay off.
func appendPacketInSetUp(b []byte, v version, id uint16) []byte {
	b = appendNicira(b, v, nxtSetPacketInFormat, 4, helloXID)
	b = binary.BigEndian.AppendUint32(b, packetInFormat2)
	b = append(appendNicira(b, v, nxtSetControllerID, 8, helloXID), 0, 0, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, id)
	// Masks of reasons for packet-ins, port status and removed flows, each as master or equal and as slave.
	const everyReason = 0x3f
	b = appendNicira(b, v, nxtSetAsyncConfig, 6*4, helloXID)
	for _, mask := range []uint32{everyReason, everyReason, 0, 0, 0, 0} {
		b = binary.BigEndian.AppendUint32(b, mask)
	}
	b = appendHeader(b, v, typeSetConfig, 4, helloXID)
	return append(b, 0, 0, controllerMaxLen>>8, controllerMaxLen&0xff)
}

// handlePacketIn passes a packet-in to its receiver, if there is one.
func (c *conn) handlePacketIn(m message) error {
	if c.packetIn == nil {
		return nil
	}
	p, err := parsePacketIn(m)
	if err != nil {
		return err
	}
	c.packetIn(p)
	return nil
}

// PacketIns implements Switch.
func (s *client) PacketIns(ctx context.Context, id uint16, capacity int, sender Sender) (*PacketIns, error) {
	p, err := newPacketIns(id, capacity, sender)
	if err != nil {
		return nil, err
	}
	d := s.dialer
	d.packetIn = p.offer
	d.setUp = func(b []byte) []byte { return appendPacketInSetUp(b, d.version, id) }
	c := newClient(s.path, d)
	c.peer = retry.NewPeer("The OpenFlow switch, for packet-ins,", backoff, "socket", s.path, "controllerID", id)
	p.end = func() {
		_ = c.Close()
		s.forget(p)
	}
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("packet-ins for the controller id %d: %w", id, errClosed)
	}
	s.subscriptions = append(s.subscriptions, p)
	s.mu.Unlock()
	if _, err := c.Connect(ctx); err != nil {
		p.Close()
		return nil, fmt.Errorf("packet-ins for the controller id %d: %w", id, err)
	}
	return p, nil
}

// forget removes p from the subscriptions that Close ends.
func (s *client) forget(p *PacketIns) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(other *PacketIns) bool { return other == p })
}

// PacketOut implements Switch.
func (s *client) PacketOut(ctx context.Context, p PacketOut) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	if err := c.order(ctx, func(xid uint32) ([]byte, error) { return encodePacketOut(&p, c.version, xid) }); err != nil {
		return fmt.Errorf("packet-out of %d bytes with the actions %s: %w", len(p.Data), actionsText(p.Actions), explain(err, p.Actions))
	}
	return nil
}

// Resume implements Switch.
func (s *client) Resume(ctx context.Context, p *PacketIn, changes ...Match) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	if err := c.order(ctx, func(xid uint32) ([]byte, error) { return encodeResume(p, changes, c.version, xid) }); err != nil {
		return fmt.Errorf("resume a packet of table %d and cookie %#x: %w", p.Table, p.Cookie, err)
	}
	return nil
}
