// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// The tests of this file use two packets of one socket that look the same, as from an unconnected UDP socket (IP identification 0),
// have different peers, and share a slot for their tickets. Behind Open vSwitch, only the number binds a packet to a ticket: to the
// programs, the second packet is the first one, translated.

// sharingSlot changes the port of the peer in p until the packet's ticket would be in the same slot as the other packet's.
func sharingSlot(w *harness.World, port *uint16, p *harness.Packet, other harness.Packet) {
	w.T.Helper()
	slot := func(p harness.Packet) uint32 { return hash(w, p) >> 22 }
	for *port = 1024; *port != 0; *port++ {
		if slot(*p) == slot(other) {
			return
		}
	}
	w.T.Fatal("no port shares the slot")
}

const hour = uint64(time.Hour)

// changeTickets changes all tickets. Tests use it to be independent of how long a busy machine takes for them.
func changeTickets(w *harness.World, change func(*object.BpfOncTicket)) {
	w.T.Helper()
	for slot := range w.Maps.Tickets.MaxEntries() {
		var ticket object.BpfOncTicket
		require.NoError(w.T, w.Maps.Tickets.Lookup(slot, &ticket))
		if ticket.Issued != 0 {
			change(&ticket)
			require.NoError(w.T, w.Maps.Tickets.Put(slot, ticket))
		}
	}
}

// keepTickets: little time has passed since a ticket was issued.
func keepTickets(w *harness.World) {
	changeTickets(w, func(t *object.BpfOncTicket) { t.Issued += hour })
}

// expireTickets: tickets are not kept any more, but their packets may be under way, and it is still known which tickets were lost.
func expireTickets(w *harness.World) {
	var now unix.Timespec
	require.NoError(w.T, unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &now))
	changeTickets(w, func(t *object.BpfOncTicket) {
		if t.Issued = uint64(now.Nano()) - uint64(100*time.Millisecond); t.Marked != 0 { // by a datagram
			t.Marked += hour
		}
	})
}

// forgetTickets: all packets are out of Open vSwitch.
func forgetTickets(w *harness.World) {
	changeTickets(w, func(t *object.BpfOncTicket) { t.Issued, t.Marked, t.Other = 1, 1, 1 })
}

// A packet from a Pod on the other Node to the socket that gets e.Received, and looks the same.
func stranger(w *harness.World, e harness.Exchange) harness.Packet {
	p := e.Received
	p.Src = netip.MustParseAddr("10.10.2.66")
	if p.Dst.Is6() {
		p.Src = netip.MustParseAddr("fd00:10:2::66")
	}
	sharingSlot(w, &p.SrcPort, &p, e.Received)
	return p
}

// lookalike is a packet of the Pod to another one, which looks like e.Sent and has its slot.
func lookalike(w *harness.World, e harness.Exchange) harness.Packet {
	p := w.FromPod()
	p.UDP = true
	sharingSlot(w, &p.DstPort, &p, e.Sent)
	return p
}

// TestTicketOfAnotherFlow: the Pod sends the same to a Service, from where it does not come back to Egress-Init, and to a Pod.
func TestTicketOfAnotherFlow(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			e := w.ThroughService(true)
			direct := lookalike(w, e)
			require.NotZero(t, w.Egress(0, e.Sent.Bytes(t)).Mark&harness.TicketBits)
			keepTickets(w)
			require.Zero(t, w.Egress(0, direct.Bytes(t)).Mark&harness.TicketBits, "the slot is another flow's")
			expireTickets(w)
			require.Equal(t, "learned", w.LearnEgress(direct).Reason, "the ticket is not kept any more")
			flows := w.Entries()
			require.Len(t, flows, 1)
			require.False(t, flows[0].Translated.IsValid())
		})
	}
}

// TestTicketOfAnotherSender: a Pod whose packets Open vSwitch drops must not get an entry with the packets of a Service.
func TestTicketOfAnotherSender(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			e := w.ThroughService(true)
			require.NotZero(t, w.Ingress(0, w.FromPeer().Wrap(t, stranger(w, e).Bytes(t))).Mark&harness.TicketBits)
			keepTickets(w)
			r := w.Ingress(0, w.FromPeer().Wrap(t, e.Received.Bytes(t)))
			require.Zero(t, r.Mark&harness.TicketBits, "the slot is another flow's")
			require.Empty(t, w.IngressInit(r.Mark|harness.Epoch<<20, e.ReceivedOn.Bytes(t)).Reason)
			require.Empty(t, w.Entries())
		})
	}
}

// TestTicketTakenMeanwhile: a packet of a Service stays in Open vSwitch for longer than its ticket is kept, and the slot is another
// flow's when it comes out.
func TestTicketTakenMeanwhile(t *testing.T) {
	for name, f := range harness.Families {
		for _, redeemed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w := harness.NewWorldOf(t, f)
				e := w.ThroughService(true)
				late := w.Ingress(0, w.FromPeer().Wrap(t, e.Received.Bytes(t))).Mark
				require.NotZero(t, late&harness.TicketBits)
				if redeemed { // by the first one of a batch
					require.Equal(t, "not_established", w.IngressInit(late, e.ReceivedOn.Bytes(t)).Reason)
				}
				expireTickets(w)
				intruder := w.FromPeer().Wrap(t, stranger(w, e).Bytes(t))
				require.Equal(t, late, w.Ingress(0, intruder).Mark)
				require.Equal(t, "no_ticket", w.IngressInit(late|harness.Epoch<<20, e.ReceivedOn.Bytes(t)).Reason)
				require.Empty(t, w.Entries())
				expireTickets(w)
				require.Equal(t, late, w.Ingress(0, intruder).Mark)
				require.Equal(t, "no_ticket", w.IngressInit(late|harness.Epoch<<20, e.ReceivedOn.Bytes(t)).Reason, "another ticket of the same flow")
				require.Empty(t, w.Entries())
			})
		}
	}
}

// TestTicketOfAServiceTakenMeanwhile: the packet that is late goes to a Pod itself, and a packet to a Service has got its slot.
func TestTicketOfAServiceTakenMeanwhile(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			e := w.ThroughService(true)
			direct := lookalike(w, e)
			late := w.Egress(0, direct.Bytes(t)).Mark
			expireTickets(w)
			require.Equal(t, late, w.Egress(0, e.Sent.Bytes(t)).Mark)
			frame := w.ToPeer().Wrap(t, direct.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
			require.Equal(t, "no_ticket", w.EgressInit(late|harness.Epoch<<20, frame).Reason)
			require.Empty(t, w.Entries())
		})
	}
}

// TestTicketIsNotUsedUpByAnotherPacket: the packet for which it was issued still redeems it.
func TestTicketIsNotUsedUpByAnotherPacket(t *testing.T) {
	w := harness.NewWorld(t)
	p := harness.FromPod()
	mark := w.Egress(0, p.Bytes(t)).Mark | harness.Epoch<<20
	p = p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC)
	other := p
	other.ID++
	require.Equal(t, "no_ticket", w.EgressInit(mark, harness.ToPeer().Wrap(t, other.Bytes(t))).Reason)
	require.Equal(t, "learned", w.EgressInit(mark, harness.ToPeer().Wrap(t, p.Bytes(t))).Reason)
}

// TestTicketsOfTwoFlowsInTurn: flows that share a slot delay each other's first translation, not the renewal of a known one.
func TestTicketsOfTwoFlowsInTurn(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			e := w.ThroughService(true)
			other := stranger(w, e)
			require.Equal(t, "learned", w.LearnIngress(other).Reason)
			expireTickets(w)
			require.Equal(t, "no_ticket", w.LearnReceived(e).Reason)
			forgetTickets(w)
			require.Equal(t, "learned", w.LearnReceived(e).Reason)
			w.EndLeases()
			expireTickets(w)
			require.Equal(t, "renewed", w.LearnIngress(other).Reason, "an address that is not translated")
			expireTickets(w)
			require.Equal(t, "renewed", w.LearnReceived(e).Reason)
		})
	}
}

const busy = 0xfffffffe // TICKET_BUSY in bpf/oncache/ticket.h

// TestTicketInUse: a ticket that another CPU is writing or reading is left alone.
func TestTicketInUse(t *testing.T) {
	w := harness.NewWorld(t)
	p := harness.FromPod()
	mark := w.Egress(0, p.Bytes(t)).Mark
	slot := hash(w, p) >> 22
	var ticket object.BpfOncTicket
	require.NoError(t, w.Maps.Tickets.Lookup(slot, &ticket))
	ticket.Program = busy
	require.NoError(t, w.Maps.Tickets.Put(slot, ticket))
	require.Zero(t, w.Egress(0, p.Bytes(t)).Mark&harness.TicketBits)
	expireTickets(w)
	require.Zero(t, w.Egress(0, p.Bytes(t)).Mark&harness.TicketBits)
	frame := harness.ToPeer().Wrap(t, p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
	require.Equal(t, "no_ticket", w.EgressInit(mark|harness.Epoch<<20, frame).Reason)
}
