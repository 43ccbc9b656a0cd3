// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// pass passes a packet through Egress or Ingress, depending on its source.
func pass(w *harness.World, p harness.Packet) (r harness.Result, frame []byte) {
	w.T.Helper()
	frame = p.Bytes(w.T)
	if p.Src == harness.PeerPodIP || p.Src == harness.PeerPodIP6 {
		frame = w.FromPeer().Wrap(w.T, frame)
		return w.Ingress(0, frame), frame
	}
	return w.Egress(0, frame), frame
}

// misses passes packets, which must all belong to flows without an entry and stay untouched, and tells which of them got tickets.
func misses(w *harness.World, packets ...harness.Packet) (tickets []bool) {
	w.T.Helper()
	for i, p := range packets {
		r, frame := pass(w, p)
		require.Equal(w.T, "no_entry", r.Reason, "packet %d", i)
		require.Equal(w.T, harness.Next, r.Verdict, "packet %d", i)
		require.Empty(w.T, cmp.Diff(frame, r.Packet), "packet %d", i)
		tickets = append(tickets, r.Mark&harness.TicketBits != 0)
	}
	return tickets
}

// ends passes packets with SYN, FIN or RST. A SYN-ACK gets a ticket, which is not redeemed here.
func ends(w *harness.World, packets ...harness.Packet) {
	w.T.Helper()
	for _, p := range packets {
		r, _ := pass(w, p)
		require.Equal(w.T, "tcp_flags", r.Reason)
		require.Equal(w.T, p.Flags == "S", r.Mark&harness.TicketBits != 0, p.Flags)
	}
}

// TestCandidates: a flow gets tickets from its second packet with data on.
func TestCandidates(t *testing.T) {
	for name, f := range harness.Families {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s udp=%v", name, udp), func(t *testing.T) {
				w := harness.NewStrangersWorld(t, f)
				out, in := w.FromPod(), w.ToPod()
				out.UDP, in.UDP = udp, udp
				require.Equal(t, []bool{false, true, true}, misses(w, out, out, out))
				require.Equal(t, []bool{false, true, true}, misses(w, in, in, in))
				require.Empty(t, w.Entries())

				w.Learn(out, in)
				require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
				require.Equal(t, w.Decapsulated(), w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
			})
		}
	}
}

// TestEmptyDatagrams: some protocols send nothing else.
func TestEmptyDatagrams(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewStrangersWorld(t, f)
			out, in := w.FromPod(), w.ToPod()
			for _, p := range []*harness.Packet{&out, &in} {
				p.UDP, p.Payload = true, 0
			}
			require.Equal(t, []bool{false, true}, misses(w, out, out))
			require.Equal(t, []bool{false, true}, misses(w, in, in))
		})
	}
}

// TestCandidateWithoutData: a TCP segment without data gets a ticket when the other direction was learned, and only then.
func TestCandidateWithoutData(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewStrangersWorld(t, f)
			data, answer := w.FromPod(), w.ToPod()
			ack, answerACK := data, answer
			ack.Payload, answerACK.Payload = 0, 0
			require.Equal(t, []bool{false, false, false}, misses(w, ack, ack, ack))
			require.Equal(t, []bool{false, false, false}, misses(w, answerACK, answerACK, answerACK))
			require.Equal(t, []bool{false}, misses(w, data), "segments without data were not counted")

			require.Equal(t, "learned", w.LearnEgress(data).Reason)
			require.Equal(t, []bool{true}, misses(w, answerACK), "the Pod sends, the peer acknowledges")
			require.Equal(t, "learned", w.LearnIngress(answerACK).Reason)
			require.Equal(t, "hit", w.Egress(0, data.Bytes(t)).Reason)

			data.SrcPort, answer.DstPort = data.SrcPort+1, answer.DstPort+1
			ack.SrcPort++
			require.Equal(t, []bool{false, true}, misses(w, answer, answer))
			require.Equal(t, "learned", w.LearnIngress(answer).Reason)
			require.Equal(t, []bool{true}, misses(w, ack), "the peer sends, the Pod acknowledges")
		})
	}
}

// TestLostHalfIsLearnedAtOnce: the other half says that there are more packets.
func TestLostHalfIsLearnedAtOnce(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	out, in := harness.FromPod(), harness.ToPod()
	misses(w, out, in)
	w.Learn(out, in)
	require.NoError(t, w.Maps.EgressFlows4.Delete(harness.Only[object.BpfOncFlow4](t, w.Maps.EgressFlows4)))
	forgetCandidates(w)
	require.Equal(t, []bool{true}, misses(w, out))
	w.LearnEgress(out)
	require.NoError(t, w.Maps.IngressFlows4.Delete(harness.Only[object.BpfOncFlow4](t, w.Maps.IngressFlows4)))
	forgetCandidates(w)
	require.Equal(t, []bool{true}, misses(w, in))
}

func forgetCandidates(w *harness.World) {
	for cell := range w.Maps.Candidates.MaxEntries() {
		require.NoError(w.T, w.Maps.Candidates.Put(cell, uint32(0)))
	}
}

// TestCandidateOfOneRequest: a connection with one request and one answer is not learned if its handshake was not.
func TestCandidateOfOneRequest(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewStrangersWorld(t, f)
			request, answer := w.FromPod(), w.ToPod()
			syn, synACK, ack, fin := request, answer, request, request
			syn.Flags, syn.Payload = "-S", 0
			synACK.Flags, synACK.Payload = "S", 0
			ack.Flags, ack.Payload = "", 0
			fin.Flags, fin.Payload = "F", 0
			for range 2 { // with the same ports
				ends(w, syn, synACK)
				require.Equal(t, []bool{false, false, false, false}, misses(w, ack, request, answer, ack))
				ends(w, fin)
				require.Empty(t, w.Entries())
			}
		})
	}
}

// TestPortsUsedAgain: each packet that begins or ends a connection makes its flows new ones, if it comes from the owner of the address.
func TestPortsUsedAgain(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	out, in := harness.FromPod(), harness.ToPod()
	for _, flags := range []string{"-S", "S", "F", "R", "-R"} {
		for _, sender := range []harness.Packet{out, in} {
			end := sender
			end.Flags, end.Payload = flags, 0
			ends(w, end)
			require.Equal(t, []bool{false, false}, misses(w, out, in), "%s of %s", flags, sender.Src)
			require.Equal(t, []bool{true, true}, misses(w, out, in))
		}
	}
	w.Learn(out, in)
	rst := out
	rst.Flags, rst.Payload = "R", 0
	ends(w, rst)
	require.Empty(t, w.Entries())
	require.Equal(t, []bool{false, false}, misses(w, out, in))

	other := harness.NewDevice(t, "pod1", harness.PodMAC)
	require.NoError(t, w.SetEndpoint(harness.PodSlot+1, datapath.Endpoint{IfIndex: other, IPv4: harness.NodeIP, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC}))
	require.Equal(t, "tcp_flags", w.Run(w.Programs.OncacheEgress, other, 0, rst.Bytes(t)).Reason)
	require.Equal(t, []bool{true, true}, misses(w, out, in), "RST from another Pod")
}

// TestOthersAreNoCandidates: a Pod notes nothing for addresses that are not its own, and gets no ticket for them.
func TestOthersAreNoCandidates(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	forged := harness.FromPod()
	forged.Src = harness.NodeIP
	require.Equal(t, []bool{false, false, false}, misses(w, forged, forged, forged))
	var noted uint32
	require.NoError(t, w.Maps.Candidates.Lookup(w.CellOf(hash(w, forged)), &noted))
	require.Zero(t, noted)
}

func hash(w *harness.World, p harness.Packet) uint32 {
	flow, ok := harness.FiveTupleIn(p.Bytes(w.T), 14)
	require.True(w.T, ok)
	return w.SlotHash(flow)
}

// TestCandidatesShareACell: flows that send alternately must not replace each other forever.
func TestCandidatesShareACell(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	flows := []harness.Packet{harness.FromPod()}
	for p := harness.FromPod(); len(flows) < 3; {
		if p.SrcPort++; p.SrcPort == 0 {
			p.DstPort++
		}
		if w.CellOf(hash(w, p)) == w.CellOf(hash(w, flows[0])) {
			flows = append(flows, p)
		}
	}
	// Flows of a cell also share a slot for tickets. It is freed after each packet, as if Open vSwitch had let the packet through: here
	// flows do not wait for the slot.
	slot := hash(w, flows[0]) >> 22
	tickets := make([]int, len(flows))
	// With three alternating flows, one packet in seven finds its flow noted. The probability that one of them has none in 200 is about
	// 10^-13.
	for range 200 {
		for i, flow := range flows {
			if misses(w, flow)[0] {
				tickets[i]++
			}
			require.NoError(t, w.Maps.Tickets.Put(slot, object.BpfOncTicket{}))
		}
	}
	require.NotContains(t, tickets, 0, "%v", tickets)
}

// TestKnownFlowIsNoCandidate: a flow that has an entry is known to have more packets.
func TestKnownFlowIsNoCandidate(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	out, in := harness.FromPod(), harness.ToPod()
	misses(w, out, in)
	require.Equal(t, "learned", w.LearnEgress(out).Reason)
	forgetCandidates(w)
	require.Equal(t, "not_proved", ticketed(w, out))
	require.Equal(t, "learned", w.LearnIngress(in).Reason)
	w.EndLeases()
	require.Equal(t, "lease", ticketed(w, out))
	require.Equal(t, "lease", ticketed(w, in))
	w.BumpAll()
	require.Equal(t, "stale_all", ticketed(w, out))
	require.Equal(t, "stale_all", ticketed(w, in))
}

// ticketed passes a packet that must get a ticket, and returns the reason under which it was counted.
func ticketed(w *harness.World, p harness.Packet) string {
	w.T.Helper()
	r, _ := pass(w, p)
	require.NotZero(w.T, r.Mark&harness.TicketBits)
	return r.Reason
}

// TestBatchOfStrangers: if the packets of a new flow arrive together and are merged, the first one has no ticket, so nothing is learned
// from it. A later packet is learned from, once the second packet's ticket is old.
func TestBatchOfStrangers(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	first := harness.ToPod()
	second := first
	second.ID++
	second.Seq += 200
	head, _ := pass(w, first)
	require.Equal(t, []bool{true}, misses(w, second))
	merged := first.BehindOVS(harness.GatewayMAC, harness.PodMAC)
	merged.Payload = 400
	require.Empty(t, w.IngressInit(head.Mark|harness.Epoch<<20, merged.Bytes(t)).Reason, "no ticket, not counted")
	require.Empty(t, w.Entries())
	later := second
	for range 1000 {
		later.ID++
		later.Seq += 200
		if w.LearnIngress(later).Reason == "learned" {
			return
		}
	}
	t.Fatal("nothing was learned from any later packet")
}
