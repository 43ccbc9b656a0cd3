// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
)

// TestLookalikes runs checkLookalike on the packets with which FuzzLearning begins.
func TestLookalikes(t *testing.T) {
	w := newFuzzWorld(t)
	for kind := range 32 {
		for order := range byte(3) {
			l := w.learningBase(kind)
			w.checkLookalike(t, &l, order)
		}
	}
}

// checkLookalike is about two packets of one socket that differ in nothing but their peers, and whose tickets share a slot. Open
// vSwitch drops the first one; what comes out belongs to the other one, the lookalike, which was never translated or only otherwise.
// Then no translation may be learned of the first one's flow. order: the lookalike is the second one to reach Egress or Ingress (0), the
// first one (1), or so early that its ticket is not kept any more (2).
func (w *fuzzWorld) checkLookalike(t *testing.T, l *learning, order byte) {
	s := &l.seen
	before := fuzzCase{ingress: l.ingress, packet: s.Before, state: *s.State}
	before.state.Mode, before.state.Endpoint.IPv4, before.state.Endpoint.IPv6 = oracle.Enforce, harness.PodIP, harness.PodIP6
	at := before.innerOffset()
	lookalike, ok := lookalikeOf(s.Before.Frame, at, l.ingress)
	if !ok {
		t.Skip("not a packet that has a ticket")
	}
	w.install(t, &before)
	w.noteOpening(t, s, l.innerOffset())
	slot := ticketSlot(w, lookalike, at)
	defer func() { require.NoError(t, w.Maps.Tickets.Put(slot, object.BpfOncTicket{})) }()
	run, init := w.egressRun, w.egressInitRun
	if l.ingress {
		run, init = w.ingressRun, w.ingressInitRun
	}
	mark := w.sendBoth(t, run, &s.Before, lookalike, at, slot, order)
	e := w.EndpointAt(harness.PodSlot)
	e.Epoch = s.State.Endpoint.Epoch
	w.Control().Until = 1 << 62
	init.Context = harness.SKB{Ifindex: s.After.Interface, Mark: mark | s.Epoch<<20}
	if err := init.Run(s.After.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	learned, to := w.learned(t, l, at)
	w.stats.note(learned)
	if learned && to.IsValid() {
		t.Fatalf("learned, but from a packet of another flow, with the translation %v\nbefore %x\nlookalike %x\nbehind %x", to, s.Before.Frame, lookalike, s.After.Frame)
	}
	l.seen.Before.Frame = lookalike
	w.learned(t, l, at)
}

// sendBoth passes the packet, whose IP header is at the offset at, and its lookalike through run in the order that checkLookalike
// describes, and returns the mark of the lookalike.
func (w *fuzzWorld) sendBoth(t *testing.T, run *harness.TestRun, p *oracle.Packet, lookalike []byte, at int, slot uint32, order byte) (mark uint32) {
	frames := [][]byte{p.Frame, lookalike}
	if order != 0 {
		frames[0], frames[1] = frames[1], frames[0]
	}
	for i, frame := range frames {
		if i == 1 {
			w.age(t, slot, order == 2)
		}
		w.Note(t, frame, at)
		run.Context = harness.SKB{Ifindex: p.Interface}
		if err := run.Run(frame); err != nil {
			t.Skipf("the kernel does not run a program on this packet: %v", err)
		}
		if bytes.Equal(frame, lookalike) {
			mark = harness.Unstamped(run.ContextOut.Mark)
		}
	}
	return mark
}

// lookalikeOf returns a packet that differs from the one in frame, whose IP header is at the offset at, in address and port of the
// peer: the source if source is set. Their tickets share a slot.
func lookalikeOf(frame []byte, at int, source bool) (lookalike []byte, ok bool) {
	flow, ok := harness.FiveTupleIn(frame, at)
	if !ok || len(frame) < at+44 {
		return nil, false
	}
	lookalike = bytes.Clone(frame)
	ip := lookalike[at:]
	address, port := ip[12:16], ip[20:22]
	if flow.Source.Addr().Is6() {
		address, port = ip[8:24], ip[40:42]
	}
	if !source {
		address, port = ip[16:20], ip[22:24]
		if flow.Source.Addr().Is6() {
			address, port = ip[24:40], ip[42:44]
		}
	}
	peer := harness.PeerPodIP.AsSlice()
	if flow.Source.Addr().Is6() {
		peer = harness.PeerPodIP6.AsSlice()
	}
	peer[len(peer)-1] ^= 0x42
	copy(address, peer)
	for p := range uint16(0xffff) {
		binary.BigEndian.PutUint16(port, p+1)
		if other, _ := harness.FiveTupleIn(lookalike, at); harness.Hash(other)>>22 == harness.Hash(flow)>>22 {
			sum(lookalike, at)
			return lookalike, true
		}
	}
	return nil, false
}

// ticketSlot is the slot of the ticket of the packet whose IP header is at the offset at.
func ticketSlot(w *fuzzWorld, frame []byte, at int) uint32 {
	flow, _ := harness.FiveTupleIn(frame, at)
	if slot := harness.Hash(flow) >> 22; slot != 0 {
		return slot
	}
	return w.Maps.Tickets.MaxEntries() - 1
}

// age makes a ticket so old that it is not kept any more, but its packet may be under way, or so new that it is kept.
func (w *fuzzWorld) age(t *testing.T, slot uint32, expired bool) {
	var ticket object.BpfOncTicket
	require.NoError(t, w.Maps.Tickets.Lookup(slot, &ticket))
	if ticket.Issued == 0 {
		return
	}
	ticket.Issued += uint64(time.Hour)
	if expired {
		ticket.Issued = 1
		ticket.Marked += uint64(time.Hour)
	}
	require.NoError(t, w.Maps.Tickets.Put(slot, ticket))
}
