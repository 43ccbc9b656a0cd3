// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// lostTickets is LOST_TICKETS, rarePackets RARE_PACKETS of the programs.
const lostTickets, rarePackets = 4, 64

// denied is a datagram of another Pod that Open vSwitch drops. Its ticket has the slot of a packet's.
func denied(w *harness.World, other harness.Packet) (from *harness.Pod, p harness.Packet) {
	w.T.Helper()
	from = w.Neighbor(1)
	p, _ = from.Packets(1, true)
	p.Dst = netip.MustParseAddr("10.10.2.250")
	sharingSlot(w, &p.SrcPort, &p, other)
	w.Note(w.T, p.Bytes(w.T), 14)
	return from, p
}

func hasTicket(r harness.Result) bool { return r.Mark&harness.TicketBits != 0 }

// TestRenewalTakesTheTicketOfAFlowWithoutEntry: a flow that Open vSwitch drops does not keep the slot from one whose lease depends on it. From a flow
// without an entry it does for a while.
func TestRenewalTakesTheTicketOfAFlowWithoutEntry(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	from, noise := denied(w, out)
	w.EndLeases()
	for range 3 {
		require.True(t, hasTicket(from.Egress(0, noise.Bytes(t))))
		keepTickets(w)
		require.Equal(t, "renewed", w.LearnEgress(out).Reason)
		w.EndLeases()
	}
	require.True(t, hasTicket(from.Egress(0, noise.Bytes(t))))
	keepTickets(w)
	require.NoError(t, w.Maps.EgressFlows4.Delete(harness.Only[object.BpfOncFlow4](t, w.Maps.EgressFlows4)))
	require.False(t, hasTicket(w.Egress(0, out.Bytes(t))), "no entry")
}

// TestLostTickets: a flow whose tickets nobody redeems keeps its slot from nobody after a few, and gets few more.
func TestLostTickets(t *testing.T) {
	w := harness.NewWorld(t)
	out := harness.FromPod()
	from, noise := denied(w, out)
	lose := func() (tickets int) {
		for range lostTickets {
			if hasTicket(from.Egress(0, noise.Bytes(t))) {
				tickets++
			}
			expireTickets(w)
		}
		return tickets
	}
	require.Equal(t, lostTickets, lose())
	// The probability that none of so many gets one is less than 10^-13.
	tickets, packets := 0, 30*rarePackets
	for range packets {
		w.Note(t, noise.Bytes(t), 14) // here it is not the note that matters
		if hasTicket(from.Egress(0, noise.Bytes(t))) {
			tickets++
			expireTickets(w)
		}
	}
	require.NotZero(t, tickets)
	require.Less(t, tickets, packets/8)
	keepTickets(w)
	require.Equal(t, "learned", w.LearnEgress(out).Reason, "its last ticket is new")
	require.Equal(t, lostTickets, lose(), "counted anew after another flow")
}

// TestLostTicketsAreRare: a flow without an entry that loses its tickets is one that cannot be learned as things are.
func TestLostTicketsAreRare(t *testing.T) {
	w := harness.NewWorld(t)
	p := harness.FromPod()
	p.UDP = true
	w.Note(t, p.Bytes(t), 14)
	egress := harness.NewTestRun(w.Programs.OncacheEgress, 256)
	egress.Context.Ifindex = uint32(w.PodIf)
	frame := p.Bytes(t)
	for range lostTickets + 1 {
		require.NoError(t, egress.Run(frame))
		require.NotZero(t, egress.ContextOut.Mark&harness.TicketBits)
		expireTickets(w)
	}
	var cell uint32
	require.NoError(t, w.Maps.Candidates.Lookup(w.CellOf(hash(w, p)), &cell))
	const rare = 2 // NOTE_RARE of bpf/oncache/candidate.h
	require.Equal(t, uint32(rare), cell^hash(w, p))
}

// TestRareFlowsGetTickets: a flow that is noted as rare because it has lost its tickets gets one for one packet in 64, not one in 64 of these.
// So it is learned soon when Open vSwitch lets it pass.
func TestRareFlowsGetTickets(t *testing.T) {
	w := harness.NewWorld(t)
	p := harness.FromPod()
	p.UDP = true
	w.Note(t, p.Bytes(t), 14)
	egress := harness.NewTestRun(w.Programs.OncacheEgress, 256)
	egress.Context.Ifindex = uint32(w.PodIf)
	frame := p.Bytes(t)
	send := func() bool {
		require.NoError(t, egress.Run(frame))
		return egress.ContextOut.Mark&harness.TicketBits != 0
	}
	for range lostTickets + 1 {
		require.True(t, send())
		expireTickets(w)
	}
	// 100 are expected, with a standard deviation of 10. At one in 64 of these it would be one or two.
	tickets, packets := 0, 100*rarePackets
	for range packets {
		if send() {
			tickets++
		}
	}
	require.InDelta(t, packets/rarePackets, tickets, 70, "tickets of %d packets", packets)
}

// TestRedeemedTicketIsNotLost: a flow that loses some of its tickets, as in a batch, goes on getting them.
func TestRedeemedTicketIsNotLost(t *testing.T) {
	w := harness.NewWorld(t)
	out := harness.FromPod()
	for range 3 {
		for range lostTickets - 1 {
			require.True(t, hasTicket(w.Egress(0, out.Bytes(t))))
			expireTickets(w)
		}
		w.EndLeases()
		require.Contains(t, []string{"learned", "renewed"}, w.LearnEgress(out).Reason)
		w.EndLeases()
	}
}

// TestPlacesDependOnASecret: nobody knows which flows share a slot.
func TestPlacesDependOnASecret(t *testing.T) {
	for name, f := range sameVersions {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			p := w.FromPod()
			marks := map[uint32]bool{}
			for secret := range uint64(8) {
				w.Control().Secret = 1 << (8 * secret)
				r := w.Egress(0, p.Bytes(t))
				require.True(t, hasTicket(r))
				require.Equal(t, ticketMark(hash(w, p)>>22), r.Mark&harness.TicketBits)
				marks[r.Mark] = true
			}
			require.Greater(t, len(marks), 6)
		})
	}
}

// ticketMark is ticket_mark of bpf/oncache/ticket.h.
func ticketMark(slot uint32) uint32 { return slot&0x3f<<8 | slot>>6<<16 }
