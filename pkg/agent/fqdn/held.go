// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const (
	// queued is the number of packets that wait for Run, heldAtMost the number that wait for rules, of all Pods and of one.
	queued, heldAtMost, heldForPod = 256, 512, 64
	// holdTime is the time after which an answer is dropped if its rules are not there. The Pod asks again.
	holdTime = 2 * time.Second
	// tick is the time between two looks at the clock.
	tick = 100 * time.Millisecond
	// realizeTime is the time after which a request without an outcome is repeated.
	realizeTime = 10 * time.Second
)

// Switch delivers held packets.
type Switch interface {
	PacketIns(ctx context.Context, id uint16, capacity int, sender of.Sender) (*of.PacketIns, error)
	Resume(ctx context.Context, p *of.PacketIn, changes ...of.Match) error
}

// Reasons why a held packet was dropped, in metrics.
const (
	droppedDamaged = "damaged"
	droppedLate    = "late"
	droppedMany    = "too_many"
)

// heldPacket waits for its rules.
type heldPacket struct {
	packet *of.PacketIn
	asker  Asker
	need   need
	until  time.Time
}

// outcome is the end of a request to the Realizer.
type outcome struct {
	wanted need
	failed map[Selector]error
}

// loop is the state of Run, which no other goroutine sees.
type loop struct {
	*Controller
	streams  *streams
	held     []heldPacket
	outcomes chan outcome
	// requested has the requests without an outcome.
	requested map[*outcome]time.Time
	asking    chan string
	asked     chan result
	free      int
	lastSave  time.Time
}

// Run handles held packets until ctx ends. It returns an error if they cannot be received.
func (c *Controller) Run(ctx context.Context) error {
	packets, err := c.config.Switch.PacketIns(ctx, openflow.DNSController, queued, openflow.AnsweredPod)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("receive answers of DNS: %w", err)
	}
	defer packets.Close()
	l := &loop{Controller: c, streams: newStreams(), outcomes: make(chan outcome, 16), requested: map[*outcome]time.Time{},
		asking: make(chan string, workers), asked: make(chan result, workers), free: workers}
	if c.config.Asks != nil {
		for range workers {
			go c.work(ctx, l.asking, l.asked)
		}
	}
	ticker := c.config.Clock.NewTicker(tick)
	defer ticker.Stop()
	defer c.save()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-packets.Ready():
			if !ok {
				return errors.New("receive answers of DNS: the connection to the switch was closed")
			}
			p := packets.Next()
			if err := recovery.Call("fqdn", recovery.Part("answers of DNS"), func() error { l.receive(ctx, p); return nil }); err != nil {
				l.drop(droppedDamaged, p.Reg(1), err)
			}
		case o := <-l.outcomes:
			l.conclude(ctx, o)
		case r := <-l.asked:
			l.enter(r)
		case <-c.awakened:
			l.ask()
		case <-ticker.C():
			l.lookAtClock(ctx)
		}
		l.request(ctx)
	}
}

// receive reads a held packet, and resumes it unless it must wait.
func (l *loop) receive(ctx context.Context, p *of.PacketIn) {
	asker := p.Reg(1)
	n, err := l.read(p.Data, asker)
	if err != nil {
		l.drop(droppedDamaged, asker, err)
		return
	}
	l.mu.Lock()
	open := l.gate.open(n)
	if !open {
		l.gate.again(n)
		l.stale = true
	}
	l.mu.Unlock()
	if open {
		l.resume(ctx, p)
		return
	}
	if !l.makeRoom(asker) {
		l.drop(droppedMany, asker, errors.New("too many answers wait for rules"))
		return
	}
	l.held = append(l.held, heldPacket{p, asker, n, l.config.Clock.Now().Add(holdTime)})
}

// makeRoom reports whether one more answer to a Pod can wait. If all places are taken, the Pod with most of them loses its last one to a Pod that has
// fewer: Pods whose rules are not installed do not keep others from waiting.
func (l *loop) makeRoom(asker Asker) bool {
	of, most := map[Asker]int{}, asker
	for _, h := range l.held {
		if of[h.asker]++; of[h.asker] > of[most] {
			most = h.asker
		}
	}
	switch {
	case of[asker] >= heldForPod:
		return false
	case len(l.held) < heldAtMost:
		return true
	case of[most] <= of[asker]+1:
		return false
	}
	for i := len(l.held) - 1; ; i-- {
		if l.held[i].asker == most {
			l.held = slices.Delete(l.held, i, i+1)
			l.drop(droppedMany, most, errors.New("answers to other Pods need its place"))
			return true
		}
	}
}

// read enters what the packet says, and returns what it must wait for.
func (l *loop) read(frame []byte, asker Asker) (need, error) {
	p, err := ippacket.Parse(frame)
	if err != nil {
		return nil, err
	}
	from, to, ok := p.Ports()
	switch {
	case !ok:
		return nil, fmt.Errorf("packet of protocol %d without ports", p.Protocol)
	case p.Protocol == ippacket.UDP:
		const header = 8
		if len(p.Transport) < header || int(binary.BigEndian.Uint16(p.Transport[4:])) != len(p.Transport) {
			return nil, fmt.Errorf("UDP datagram of %d bytes with a damaged header", len(p.Transport))
		}
		return l.answer(p.Transport[header:], asker)
	case p.Protocol != ippacket.TCP:
		return nil, fmt.Errorf("packet of protocol %d", p.Protocol)
	}
	key := streamKey{asker, netip.AddrPortFrom(p.Src, from), netip.AddrPortFrom(p.Dst, to)}
	st, messages, err := l.streams.segment(key, p.Transport)
	if err != nil || st == nil {
		return nil, err
	}
	l.mu.Lock()
	if l.gate.open(st.need) {
		clear(st.need)
	}
	l.mu.Unlock()
	for _, message := range messages {
		n, err := l.answer(message, asker)
		if err != nil {
			st.broken = err
			return nil, err
		}
		st.need.add(n)
	}
	n := need{}
	n.add(st.need)
	return n, nil
}

func (l *loop) answer(message []byte, asker Asker) (need, error) {
	a, err := parseAnswer(message)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	selectors, err := l.cache.answered(a, asker, l.config.Clock.Now())
	l.follow()
	if err != nil {
		return nil, err
	}
	if len(selectors) > 0 {
		l.unsaved = true
	}
	return l.gate.now(selectors), nil
}

func (l *loop) drop(why string, asker Asker, err error) {
	l.mu.Lock()
	l.dropped[why]++
	first := l.dropped[why] == 1
	l.mu.Unlock()
	if first {
		klog.InfoS("Dropped an answer of DNS to a Pod; further ones for this reason are only counted", "reason", why, "ofPort", asker, "err", err)
	}
}

func (l *loop) resume(ctx context.Context, p *of.PacketIn) {
	ctx, cancel := context.WithTimeout(ctx, holdTime)
	defer cancel()
	if l.exceedsMTU(p.Data) {
		l.fragment(ctx, p)
		return
	}
	if err := l.config.Switch.Resume(ctx, p); err != nil {
		klog.V(2).InfoS("Failed to let an answer of DNS pass", "ofPort", p.Reg(1), "err", err)
	}
}

// request asks for rules with the present addresses.
func (l *loop) request(ctx context.Context) {
	l.mu.Lock()
	var selectors []Selector
	var wanted need
	if l.stale {
		selectors, wanted = l.gate.request()
	}
	l.stale = false
	l.mu.Unlock()
	if len(selectors) == 0 || l.realizer == nil {
		return
	}
	o := &outcome{wanted: wanted}
	l.requested[o] = l.config.Clock.Now()
	l.realizer.RealizeNames(selectors, func(failures map[Selector]error) {
		select {
		case l.outcomes <- outcome{wanted, failures}:
		case <-ctx.Done():
		}
	})
}

// conclude enters the end of a request, and resumes what has waited for it.
func (l *loop) conclude(ctx context.Context, o outcome) {
	for r := range l.requested {
		if sameNeed(r.wanted, o.wanted) {
			delete(l.requested, r)
			break
		}
	}
	l.mu.Lock()
	l.gate.realized(o.wanted, o.failed)
	l.mu.Unlock()
	l.release(ctx)
}

// sameNeed reports whether both are one request: no two requests contain the same version of a selector.
func sameNeed(a, b need) bool {
	for s, version := range a {
		return b[s] == version
	}
	return len(b) == 0
}

// release resumes the packets whose rules are there, in the order in which they came.
func (l *loop) release(ctx context.Context) {
	l.held = slices.DeleteFunc(l.held, func(h heldPacket) bool {
		l.mu.Lock()
		open := l.gate.open(h.need)
		l.mu.Unlock()
		if open {
			l.resume(ctx, h.packet)
		}
		return open
	})
}

func (l *loop) lookAtClock(ctx context.Context) {
	now := l.config.Clock.Now()
	l.release(ctx)
	l.held = slices.DeleteFunc(l.held, func(h heldPacket) bool {
		late := !now.Before(h.until)
		if late {
			l.drop(droppedLate, h.asker, fmt.Errorf("its rules were not installed within %v", holdTime))
		}
		return late
	})
	// The controller of policies tries again what has failed.
	l.mu.Lock()
	for _, h := range l.held {
		l.gate.again(h.need)
		l.stale = true
	}
	l.mu.Unlock()
	for r, at := range l.requested {
		if now.Sub(at) >= realizeTime {
			delete(l.requested, r)
			l.mu.Lock()
			l.gate.realized(r.wanted, failures(r.wanted))
			l.mu.Unlock()
		}
	}
	l.forgetUnused()
	if err := l.hold(true); err != nil {
		klog.V(2).InfoS("Failed to stop holding the answers of DNS to Pods", "err", err)
	}
	l.saveSometimes(now)
	l.ask()
}

// failures says that nothing of the need was realized.
func failures(n need) map[Selector]error {
	all := map[Selector]error{}
	for s := range n {
		all[s] = errors.New("no outcome")
	}
	return all
}
