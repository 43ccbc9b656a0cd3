// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

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

// TestLostTickets: a flow whose tickets are not redeemed stops blocking its slot after a few, and gets few more.
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
	// The probability that no packet gets one is less than 10^-13.
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
	require.Equal(t, lostTickets, lose(), "counted from 0 after another flow")
}

// TestLostTicketsAreForgotten: a flow whose packets were dropped for a moment gets tickets again after the length of a lease, not only after 64 packets.
func TestLostTicketsAreForgotten(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	w.EndLeases()
	for range 10 {
		require.True(t, hasTicket(w.Egress(0, out.Bytes(t))))
		expireTickets(w)
		changeTickets(w, func(ticket *object.BpfOncTicket) {
			ticket.Lost, ticket.Issued = lostTickets, ticket.Issued-uint64(5*time.Second)
		})
	}
}

// forgetLost: no ticket was lost.
func forgetLost(w *harness.World) {
	changeTickets(w, func(t *object.BpfOncTicket) { t.Lost, t.Vain = 0, 0 })
}

// TestFlowsThatLoseTicketsInTurn: two flows with entries that Open vSwitch drops, and that take a slot from each other, do not keep it from a third one.
func TestFlowsThatLoseTicketsInTurn(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	var dropped [2]harness.Packet
	for i := range dropped {
		dropped[i] = harness.FromPod()
		dropped[i].DstPort = uint16(9000 + i)
		sharingSlot(w, &dropped[i].SrcPort, &dropped[i], out)
		answer := harness.ToPod()
		answer.SrcPort, answer.DstPort = dropped[i].DstPort, dropped[i].SrcPort
		w.Learn(dropped[i], answer)
		forgetTickets(w)
	}
	w.EndLeases()
	forgetLost(w)
	for i := range lostTickets {
		keepTickets(w)
		if i > 0 {
			require.Falsef(t, hasTicket(w.Egress(0, out.Bytes(t))), "after %d lost tickets", i)
		}
		expireTickets(w)
		require.True(t, hasTicket(w.Egress(0, dropped[i%2].Bytes(t))))
	}
	keepTickets(w)
	require.True(t, hasTicket(w.Egress(0, out.Bytes(t))), "after %d lost tickets", lostTickets)
	keepTickets(w)
	require.False(t, hasTicket(w.Egress(0, dropped[0].Bytes(t))), "the third flow's ticket is kept")
	require.Equal(t, "renewed", w.LearnEgress(out).Reason)
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

// TestRedeemedTicketIsNotLost: a flow that loses some of its tickets, as in a batch, still gets more.
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

// TestPlacesDependOnASecret: senders cannot know which flows share a slot.
func TestPlacesDependOnASecret(t *testing.T) {
	for name, f := range sameVersions {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			p, random := w.FromPod(), rand.New(rand.NewPCG(1, 2))
			marks := map[uint32]bool{}
			for i := range 8 {
				w.Control().Secrets[i%2] = random.Uint64()
				r := w.Egress(0, p.Bytes(t))
				require.True(t, hasTicket(r))
				require.Equal(t, ticketMark(hash(w, p)>>22), r.Mark&harness.TicketBits)
				marks[r.Mark] = true
			}
			require.Greater(t, len(marks), 6)
		})
	}
}

// TestPlacesOfOwnFlows: flows that a Pod chooses for that do not share a place, however the bits of their addresses are related.
func TestPlacesOfOwnFlows(t *testing.T) {
	flip := func(p harness.Packet, bytes ...int) harness.Packet {
		a := p.Dst.As16()
		for _, i := range bytes {
			a[i] ^= 0x80
		}
		p.Dst = netip.AddrFrom16(a)
		return p
	}
	w := harness.NewWorldOf(t, harness.Family{Inner6: true})
	require.NoError(t, w.AddPodNetwork(netip.MustParsePrefix("fd00::/16"), harness.PeerSlot))
	tcp := w.FromPod()
	udp := tcp
	udp.UDP = true
	for name, other := range map[string]harness.Packet{
		"the first bits of both halves, and of the last word": flip(tcp, 7, 15, 11),
		"the first bit of the first half":                     flip(tcp, 7),
		"the first bit of the second half":                    flip(tcp, 15),
		"the protocol":                                        udp,
	} {
		t.Run(name, func(t *testing.T) {
			const rounds = 32
			same, random := 0, rand.New(rand.NewPCG(1, 2))
			for range rounds {
				for i := range w.Control().Secrets {
					w.Control().Secrets[i] = random.Uint64()
				}
				marks := [2]uint32{}
				for i, p := range []harness.Packet{tcp, other} {
					r := w.Egress(0, p.Bytes(t))
					require.True(t, hasTicket(r))
					marks[i] = r.Mark & harness.TicketBits
					expireTickets(w)
				}
				if marks[0] == marks[1] {
					same++
				}
			}
			require.Less(t, same, 3, "of %d secrets", rounds)
		})
	}
}

// ticketMark is ticket_mark of bpf/oncache/ticket.h.
func ticketMark(slot uint32) uint32 { return slot&0x3f<<8 | slot>>6<<16 }
