// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// ticketBits are those of the mark that hold a ticket's number.
const ticketBits = 0x000f3f00

// misses passes packets, which must all miss untouched, through Egress and Ingress, and tells which of them got tickets.
func (w *world) misses(packets ...packet) (tickets []bool) {
	w.t.Helper()
	for i, p := range packets {
		var r result
		frame := p.bytes(w.t)
		if p.src == podIP || p.src == podIP6 {
			r = w.egress(0, frame)
		} else {
			frame = w.fromPeer().wrap(w.t, frame)
			r = w.ingress(0, frame)
		}
		require.Equal(w.t, "no_entry", r.reason, "packet %d", i)
		require.Equal(w.t, next, r.verdict, "packet %d", i)
		require.Empty(w.t, cmp.Diff(frame, r.packet), "packet %d", i)
		tickets = append(tickets, r.mark&ticketBits != 0)
	}
	return tickets
}

// TestCandidates: a flow gets tickets from its second packet with data on.
func TestCandidates(t *testing.T) {
	for name, f := range families {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s udp=%v", name, udp), func(t *testing.T) {
				w := newWorldOf(t, f)
				w.SetCandidates(true)
				out, in := w.fromPod(), w.toPod()
				out.udp, in.udp = udp, udp
				require.Equal(t, []bool{false, true, true}, w.misses(out, out, out))
				require.Equal(t, []bool{false, true, true}, w.misses(in, in, in))
				require.Empty(t, w.flows())

				w.learn(out, in)
				require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
				require.Equal(t, w.decapsulated(), w.ingress(0, w.fromPeer().wrap(t, in.bytes(t))).reason)
			})
		}
	}
}

// TestCandidateWithoutData: a TCP segment without data gets a ticket when the other direction was learned, and only then.
func TestCandidateWithoutData(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			w.SetCandidates(true)
			data, answer := w.fromPod(), w.toPod()
			ack, answerACK := data, answer
			ack.payload, answerACK.payload = 0, 0
			require.Equal(t, []bool{false, false, false}, w.misses(ack, ack, ack))
			require.Equal(t, []bool{false, false, false}, w.misses(answerACK, answerACK, answerACK))
			require.Equal(t, []bool{false}, w.misses(data), "segments without data were not counted")

			require.Equal(t, "learned", w.learnEgress(data).reason)
			require.Equal(t, []bool{true}, w.misses(answerACK), "the Pod sends, the peer acknowledges")
			require.Equal(t, "learned", w.learnIngress(answerACK).reason)
			require.Equal(t, "hit", w.egress(0, data.bytes(t)).reason)

			data.sport, answer.dport = data.sport+1, answer.dport+1
			ack.sport++
			require.Equal(t, []bool{false, true}, w.misses(answer, answer))
			require.Equal(t, "learned", w.learnIngress(answer).reason)
			require.Equal(t, []bool{true}, w.misses(ack), "the peer sends, the Pod acknowledges")
		})
	}
}

// TestCandidateOfOneRequest: of a connection with one request and one answer nothing is learned.
func TestCandidateOfOneRequest(t *testing.T) {
	w := newWorld(t)
	w.SetCandidates(true)
	request, answer := fromPod(), toPod()
	syn, synACK, ack, fin := request, answer, request, request
	syn.flags, syn.payload = "-S", 0
	synACK.flags, synACK.payload = "S", 0
	ack.flags, ack.payload = "", 0
	fin.flags, fin.payload = "F", 0
	for range 2 { // with the same ports
		require.Equal(t, "tcp_flags", w.egress(0, syn.bytes(t)).reason)
		require.Equal(t, "tcp_flags", w.ingress(0, fromPeer().wrap(t, synACK.bytes(t))).reason)
		require.Equal(t, []bool{false, false, false, false}, w.misses(ack, request, answer, ack))
		require.Equal(t, "tcp_flags", w.egress(0, fin.bytes(t)).reason)
		require.Empty(t, w.flows())
	}
}

// TestCandidatesShareACell: flows whose hashes begin with the same bits take turns; neither is learned by mistake.
func TestCandidatesShareACell(t *testing.T) {
	w := newWorld(t)
	w.SetCandidates(true)
	cell := func(p packet) uint32 {
		return tag4(bpfOncFlow4{Saddr: wire4(p.src), Daddr: wire4(p.dst), Sport: port(p.sport), Dport: port(p.dport), Proto: 6}) >> (32 - 15)
	}
	one := fromPod()
	other := one
	for other.sport++; cell(other) != cell(one); {
		if other.sport++; other.sport == 0 {
			other.dport++
		}
	}
	require.Equal(t, []bool{false, false, false, true, true, false}, w.misses(one, other, one, one, one, other))
}

// TestEvictedFlowIsNoCandidate: a flow that has an entry is known to have more packets.
func TestEvictedFlowIsNoCandidate(t *testing.T) {
	w := newWorld(t)
	w.learn(fromPod(), toPod())
	w.SetCandidates(true)
	w.BumpAll()
	r := w.egress(0, fromPod().bytes(t))
	require.Equal(t, "stale_all", r.reason)
	require.NotZero(t, r.mark&ticketBits)
	r = w.ingress(0, fromPeer().wrap(t, toPod().bytes(t)))
	require.Equal(t, "stale_all", r.reason)
	require.NotZero(t, r.mark&ticketBits)
}
