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

// checkLookalike tests two packets of one socket that differ only in their peers, and whose tickets share a slot. Open vSwitch drops
// the first; the packet that comes out is the second, the lookalike, which was never translated or differently. Then no translation
// may be learned for the first packet's flow. order: the lookalike reaches Egress or Ingress second (0), first (1), or so early that
// its ticket has expired (2). From a segment, a translation may be learned that nothing may use: the other direction of the
// lookalike's connection has an entry that leads elsewhere.
func (w *fuzzWorld) checkLookalike(t *testing.T, l *learning, order byte) {
	s := &l.seen
	before := fuzzCase{ingress: l.ingress, packet: s.Before, state: *s.State}
	before.state.Mode, before.state.Endpoint.IPv4, before.state.Endpoint.IPv6 = oracle.Enforce, harness.PodIP, harness.PodIP6
	at := before.innerOffset()
	lookalike, ok := w.lookalikeOf(s.Before.Frame, at, l.ingress)
	if !ok {
		t.Skip("not a packet that has a ticket")
	}
	w.install(t, &before)
	w.noteOpening(t, s, l.innerOffset())
	flow, _ := harness.FiveTupleIn(lookalike, at)
	slot := w.TicketSlot(flow)
	defer func() { require.NoError(t, w.Maps.Tickets.Put(slot, object.BpfOncTicket{})) }()
	run, init := w.egressRun, w.egressInitRun
	if l.ingress {
		run, init = w.ingressRun, w.ingressInitRun
	}
	defer w.addAnswers(t, &before.state, l.ingress, s.After.Frame, l.innerOffset())()
	mark := w.sendBoth(t, run, &s.Before, lookalike, at, slot, order)
	e := w.EndpointAt(harness.PodSlot)
	e.Epoch = s.State.Endpoint.Epoch
	w.Control().Until = 1 << 62
	init.Context = harness.SKB{Ifindex: s.After.Interface, Mark: mark | s.Epoch<<20}
	if err := init.Run(s.After.Frame); err != nil {
		t.Skipf("the kernel does not run a program on this packet: %v", err)
	}
	learned, to, usable := w.learned(t, l, at)
	w.stats.note(learned)
	if learned && to.IsValid() && usable {
		t.Fatalf("learned, but from a packet of another flow, with the translation %v\nbefore %x\nlookalike %x\nbehind %x", to, s.Before.Frame, lookalike, s.After.Frame)
	}
	l.seen.Before.Frame = lookalike
	w.learned(t, l, at)
}

// addAnswers makes an entry of the other direction of a packet, whose IP header is at the offset at, as valid as one that is learned in this
// state. ingress: the packet arrives. It returns a function that removes the entry.
func (w *fuzzWorld) addAnswers(t *testing.T, s *oracle.State, ingress bool, frame []byte, at int) (remove func()) {
	flow, ok := harness.FiveTupleIn(frame, at)
	if !ok {
		return func() {}
	}
	flow.Source, flow.Destination = flow.Destination, flow.Source
	k4, k6, six := harness.Keys(flow)
	e := &oracle.Entry{Intact: true, Own: true, Running: true, Everything: s.Generation, Endpoint: s.Endpoint.Generation, Node: s.Node.Generation}
	switch {
	case six && ingress:
		return put(t, w.Maps.EgressFlows6, k6, object.BpfOncEgress{V: validity(e, harness.Hash6(k6))})
	case six:
		return put(t, w.Maps.IngressFlows6, k6, object.BpfOncIngress{V: validity(e, harness.Hash6(k6))})
	case ingress:
		return put(t, w.Maps.EgressFlows4, k4, object.BpfOncEgress4{V: validity(e, harness.Hash4(k4))})
	}
	return put(t, w.Maps.IngressFlows4, k4, object.BpfOncIngress4{V: validity(e, harness.Hash4(k4))})
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
func (w *fuzzWorld) lookalikeOf(frame []byte, at int, source bool) (lookalike []byte, ok bool) {
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
		if other, _ := harness.FiveTupleIn(lookalike, at); w.TicketSlot(other) == w.TicketSlot(flow) {
			sum(lookalike, at)
			return lookalike, true
		}
	}
	return nil, false
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
