// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// handshake are the segments that open a connection, in their order, and the first request and its answer.
type handshake struct {
	syn, synACK, ack, request, answer harness.Packet
}

// segment is a packet of the flow of p with these flags and no data.
func segment(p harness.Packet, flags string, seq, ack uint32) harness.Packet {
	p.Flags, p.Payload, p.Seq, p.Ack = flags, 0, seq, ack
	p.ID = uint16(seq)
	return p
}

const clientISN, serverISN = 1000, 5000

func handshakeOf(request, answer harness.Packet) handshake {
	request.Seq, request.Ack = clientISN+1, serverISN+1
	answer.Seq, answer.Ack = serverISN+1, clientISN+101
	return handshake{
		syn: segment(request, "-S", clientISN, 0), synACK: segment(answer, "S", serverISN, clientISN+1),
		ack: segment(request, "", clientISN+1, serverISN+1), request: request, answer: answer,
	}
}

// learned passes a packet of the flow between the Pods through both of its programs, and returns the reason of the second one, or ""
// without a ticket.
func learned(w *harness.World, p harness.Packet) string {
	w.T.Helper()
	if p.Src == w.ToPod().Src {
		return w.LearnIngress(p).Reason
	}
	return w.LearnEgress(p).Reason
}

// eachRole runs a test with the local Pod as client and as server.
func eachRole(t *testing.T, test func(t *testing.T, w *harness.World, h handshake)) {
	for name, f := range harness.Families {
		for _, role := range []string{"client", "server"} {
			t.Run(name+" "+role, func(t *testing.T) {
				w := harness.NewStrangersWorld(t, f)
				out, in := w.FromPod(), w.ToPod()
				if role == "server" {
					out.SrcPort, out.DstPort, in.SrcPort, in.DstPort = in.SrcPort, in.DstPort, out.SrcPort, out.DstPort
					test(t, w, handshakeOf(in, out))
					return
				}
				test(t, w, handshakeOf(out, in))
			})
		}
	}
}

// isHit passes a packet of the flow between the Pods through its first program.
func isHit(w *harness.World, p harness.Packet) bool {
	w.T.Helper()
	r, _ := pass(w, p)
	if p.Src == w.ToPod().Src {
		return r.Reason == w.Decapsulated()
	}
	return r.Reason == "hit"
}

// requireUnproved requires that no entry may be used.
func requireUnproved(w *harness.World, what string) {
	w.T.Helper()
	for _, f := range w.Entries() {
		require.False(w.T, f.Proved(), "%s: %s", what, f.Direction)
	}
}

// TestHandshake: a connection is learned from its SYN-ACK and the segment that answers it, so that the first request and its answer are
// hits.
func TestHandshake(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		for range 2 { // with the same ports
			ends(w, h.syn)
			require.Equal(t, "learned", learned(w, h.synACK))
			requireUnproved(w, "the SYN-ACK has not been answered")
			require.Equal(t, "learned", learned(w, h.ack))
			require.True(t, isHit(w, h.request))
			require.True(t, isHit(w, h.answer))
			ends(w, segment(h.request, "F", clientISN+101, serverISN+201))
			require.Empty(t, w.Entries())
			ends(w, segment(h.answer, "F", serverISN+201, clientISN+102))
			require.Equal(t, []bool{false}, misses(w, segment(h.request, "", clientISN+102, serverISN+202)))
		}
	})
}

// TestHandshakeSegments: SYN, FIN and RST teach nothing, and a SYN-ACK only one that has a SYN before it, and no RST.
func TestHandshakeSegments(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		require.Equal(t, "tcp_flags", learned(w, h.synACK), "no SYN")
		ends(w, h.syn)
		ends(w, segment(h.answer, "R", serverISN, clientISN+1))
		require.Equal(t, "tcp_flags", learned(w, h.synACK), "refused")
		require.Empty(t, w.Entries())
		require.Equal(t, []bool{false}, misses(w, h.ack))

		ends(w, h.syn)
		require.Equal(t, "learned", learned(w, h.synACK))
		ends(w, segment(h.request, "R", clientISN+1, 0))
		require.Empty(t, w.Entries(), "the client resets")
		require.Equal(t, []bool{false, false, false}, misses(w, h.ack, h.request, h.answer))
	})
}

// TestRepeatedHandshake: each segment may be sent again, before and after the next one.
func TestRepeatedHandshake(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		ends(w, h.syn, h.syn)
		require.Equal(t, "learned", learned(w, h.synACK))
		require.Equal(t, "learned", learned(w, h.synACK), "it ends what the first one has taught")
		require.Len(t, w.Entries(), 1)
		ends(w, h.syn)
		require.Empty(t, w.Entries())
		require.Equal(t, "learned", learned(w, h.synACK))
		require.Equal(t, "learned", learned(w, h.ack))
		require.True(t, isHit(w, h.ack))
		require.Equal(t, "learned", learned(w, h.synACK), "the answer was lost")
		require.Len(t, w.Entries(), 1)
		requireUnproved(w, "the SYN-ACK has not been answered since")
		require.Equal(t, "learned", learned(w, h.ack))
		require.True(t, isHit(w, h.request))
	})
}

// TestRequestInsteadOfAnAnswer: the segment that answers the SYN-ACK may have data, or get lost.
func TestRequestInsteadOfAnAnswer(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		ends(w, h.syn)
		require.Equal(t, "learned", learned(w, h.synACK))
		require.Equal(t, "learned", learned(w, h.request))
		require.True(t, isHit(w, h.answer))
	})
}

// TestSimultaneousOpen: both ends send a SYN, and each a SYN-ACK. Conntrack may take the connection for established only when the end whose
// SYN came first has sent something that is not a SYN. That must therefore pass Open vSwitch, whichever SYN-ACK comes last.
func TestSimultaneousOpen(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		crossed, crossedACK := segment(h.answer, "-S", serverISN, 0), segment(h.request, "S", clientISN, serverISN+1)
		for name, order := range map[string][]harness.Packet{
			"first SYN-ACK of the first":                   {h.syn, crossed, crossedACK, h.synACK},
			"first SYN-ACK of the second":                  {h.syn, crossed, h.synACK, crossedACK},
			"SYN-ACK of the first, SYN again":              {h.syn, crossed, h.syn, h.synACK, crossedACK},
			"SYN-ACK of the first, SYN of the other again": {h.syn, crossed, crossed, h.synACK, crossedACK},
		} {
			for _, p := range order {
				if p.Flags == "-S" {
					ends(w, p)
				} else {
					learned(w, p)
				}
				requireUnproved(w, name)
			}
			// The end that came second goes first.
			learned(w, h.answer)
			requireUnproved(w, name)
			for range 2 {
				for _, p := range []harness.Packet{h.request, h.answer} {
					if r, _ := pass(w, p); r.Verdict == harness.Next {
						comesOutLate(w, r.Mark, p)
					}
				}
			}
			require.True(t, isHit(w, h.request), name)
			require.True(t, isHit(w, h.answer), name)
			ends(w, segment(h.request, "R", clientISN+101, 0))
			require.Empty(t, w.Entries())
		}
	})
}

// TestTicketOfFormerConnection: a segment that Open vSwitch still holds when the ports are used again teaches nothing, so it does not
// stand in for the one that answers the SYN-ACK.
func TestTicketOfFormerConnection(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		former := segment(h.request, "", clientISN-500, serverISN-700)
		open := func() {
			ends(w, h.syn)
			require.Equal(t, "learned", learned(w, h.synACK))
		}
		open()
		held := ticket(w, former)
		ends(w, segment(h.answer, "R", serverISN-700, 0))
		ends(w, h.syn)
		require.Equal(t, "learned", learned(w, h.synACK))
		require.Equal(t, "no_ticket", comesOutLate(w, held, former))
		requireUnproved(w, "nothing has answered the SYN-ACK")
		ends(w, segment(h.answer, "R", serverISN+1, 0))

		// The SYN-ACK alone also does so: of this direction no other segment may have been seen, on another path.
		open()
		held = ticket(w, former)
		require.Equal(t, "learned", learned(w, h.synACK))
		require.Equal(t, "no_ticket", comesOutLate(w, held, former))
		requireUnproved(w, "nothing has answered the second SYN-ACK")
	})
}

// TestSYNACKThatComesOutLate: an event that ends or reopens the connection also ends the SYN-ACK's ticket.
func TestSYNACKThatComesOutLate(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		for _, end := range []harness.Packet{segment(h.request, "R", clientISN+1, 0), segment(h.answer, "F", serverISN+1, clientISN+1), segment(h.request, "-S", clientISN+70000, 0)} {
			ends(w, h.syn)
			r, _ := pass(w, h.synACK)
			require.NotZero(t, r.Mark&harness.TicketBits)
			ends(w, end)
			require.Equal(t, "no_ticket", comesOutLate(w, r.Mark, h.synACK), end.Flags)
			require.Empty(t, w.Entries())
		}
	})
}

// TestTicketOfSYNACK: it is the SYN-ACK's, and not another segment's with the same sequence number and identification.
func TestTicketOfSYNACK(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		ends(w, h.syn)
		mark := ticket(w, h.synACK)
		keepalive := h.synACK
		keepalive.Flags = ""
		require.Equal(t, "no_ticket", comesOutLate(w, mark, keepalive))
		require.Equal(t, "learned", comesOutLate(w, mark, h.synACK))
	})
}

// ticket passes a packet that gets a ticket through its first program, and returns its mark.
func ticket(w *harness.World, p harness.Packet) uint32 {
	w.T.Helper()
	r, _ := pass(w, p)
	require.NotZero(w.T, r.Mark&harness.TicketBits)
	return r.Mark
}

// comesOutLate passes a packet of the flow between the Pods that has got this mark through its second program.
func comesOutLate(w *harness.World, mark uint32, p harness.Packet) string {
	w.T.Helper()
	mark |= harness.Epoch << 20
	if p.Src == w.ToPod().Src {
		return w.IngressInit(mark, p.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(w.T)).Reason
	}
	return w.EgressInit(mark, w.ToPeer().Wrap(w.T, p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(w.T))).Reason
}

// TestHandshakeThroughService: the client's Node also learns connections through a Service.
func TestHandshakeThroughService(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewStrangersWorld(t, f)
			e := w.ThroughService(false)
			sent, received := handshakeOf(e.Sent, e.Received), handshakeOf(e.SentOn, e.ReceivedOn)
			synACK := harness.Exchange{Received: sent.synACK, ReceivedOn: received.synACK}
			ack := harness.Exchange{Sent: sent.ack, SentOn: received.ack}
			for range 2 {
				ends(w, sent.syn)
				require.Equal(t, "learned", w.LearnReceived(synACK).Reason)
				require.Equal(t, "learned", w.LearnReceived(synACK).Reason, "again")
				require.Len(t, w.Entries(), 1)
				require.Equal(t, "learned", w.LearnSent(ack).Reason)
				require.Equal(t, "hit", w.Egress(0, sent.request.Bytes(t)).Reason)
				require.Equal(t, w.Decapsulated(), w.Ingress(0, w.FromPeer().Wrap(t, sent.answer.Bytes(t))).Reason)
				ends(w, segment(sent.request, "F", clientISN+101, 0))
				require.Empty(t, w.Entries())
				ends(w, segment(sent.answer, "F", serverISN+201, 0))
			}

			// A Service does not open connections to its clients, so the Pod has nothing to accept.
			ends(w, segment(sent.answer, "-S", serverISN, 0))
			accept := harness.Exchange{Sent: segment(sent.request, "S", clientISN, serverISN+1), SentOn: segment(received.request, "S", clientISN, serverISN+1)}
			require.Equal(t, "tcp_flags", w.LearnSent(accept).Reason)
			require.Empty(t, w.Entries())
		})
	}
}

// TestHandshakeWithinTheNode: so do flows between two Pods of the Node, also through a Service.
func TestHandshakeWithinTheNode(t *testing.T) {
	for _, six := range []bool{false, true} {
		for _, service := range []bool{false, true} {
			t.Run(map[bool]string{false: "IPv4", true: "IPv6"}[six]+map[bool]string{true: " Service"}[service], func(t *testing.T) {
				w := harness.NewStrangersWorld(t, harness.Family{Inner6: six})
				client, server := w.LocalPeer()
				server.Family = w.Family
				there, back := client.To(server, false)
				e := harness.Exchange{Sent: there, SentOn: there, Received: back, ReceivedOn: back}
				if service {
					e = client.ThroughServiceTo(server, false)
				}
				sent, arrives := handshakeOf(e.Sent, e.Received), handshakeOf(e.SentOn, e.ReceivedOn)
				require.Equal(t, "tcp_flags", client.Egress(0, sent.syn.Bytes(t)).Reason)
				require.Equal(t, "learned", server.LearnChanged(client, sent.synACK, arrives.synACK).Reason)
				require.Equal(t, "learned", server.LearnChanged(client, sent.synACK, arrives.synACK).Reason, "again")
				require.Len(t, w.Entries(), 1)
				require.Equal(t, "learned", client.LearnChanged(server, sent.ack, arrives.ack).Reason)
				require.Equal(t, "hit_local", client.Egress(0, sent.request.Bytes(t)).Reason)
				require.Equal(t, "hit_local", server.Egress(0, sent.answer.Bytes(t)).Reason)
				fin := segment(sent.request, "F", clientISN+101, 0)
				require.Equal(t, "tcp_flags", client.Egress(0, fin.Bytes(t)).Reason)
				require.Empty(t, w.Entries())
			})
		}
	}
}

// TestHandshakeIsTold: the agent is told of the handshake once there is an entry for it to find, and not of the SYN-ACK alone.
func TestHandshakeIsTold(t *testing.T) {
	eachRole(t, func(t *testing.T, w *harness.World, h handshake) {
		told := func() []datapath.Connection {
			got, err := harness.Passed(w.Datapath)
			require.NoError(t, err)
			return got
		}
		out := h.request
		if out.Src == w.ToPod().Src {
			out = h.answer
		}
		ends(w, h.syn)
		learned(w, h.synACK)
		require.Empty(t, told())
		learned(w, h.ack)
		require.Equal(t, []datapath.Connection{{Source: netip.AddrPortFrom(out.Src, out.SrcPort), Destination: netip.AddrPortFrom(out.Dst, out.DstPort)}}, told())
	})
}

// TestSYNACKIsSeen: a SYN takes a sequence number.
func TestSYNACKIsSeen(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	h := handshakeOf(w.FromPod(), w.ToPod())
	ends(w, h.syn)
	require.Equal(t, "learned", learned(w, h.synACK))
	require.Equal(t, "learned", learned(w, h.ack))
	requireSeen(w, datapath.Seen{End: clientISN + 1, Ack: serverISN + 1}, datapath.Seen{End: serverISN + 1, Ack: clientISN + 1}, "handshake")
}

// TestFloodOfSYN: whoever sends SYNs without answering the SYN-ACKs takes half of what the Pod may have, and the rest is for its other
// connections. The agent need not make room for them.
func TestFloodOfSYN(t *testing.T) {
	for _, alone := range []bool{false, true} {
		t.Run(map[bool]string{false: "share", true: "alone"}[alone], func(t *testing.T) {
			w := harness.NewStrangersWorld(t, harness.Family{})
			a := w.Pod()
			const full, share = 40, 20
			limit(w, full, share)
			if alone {
				limit(w, full, 0)
			}
			for n := range 200 {
				out, in := a.Packets(n, false)
				h := handshakeOf(in, out)
				ends(w, h.syn)
				learned(w, h.synACK)
			}
			half := full / 2 // of the whole map, as long as it is not half full
			require.Equal(t, [2]int64{int64(half), 0}, a.Counts())
			require.Zero(t, w.CountAt(0, a.Slot).Refused)

			limit(w, full, share)
			require.Len(t, w.Entries(), half)
			out, in := a.Packets(300, false)
			w.Note(t, out.Bytes(t), 14)
			require.Equal(t, []bool{false, true}, misses(w, out, out), "as if there were no handshakes")
			require.Equal(t, "learned", a.LearnEgress(out).Reason)
			require.Equal(t, "learned", a.LearnIngress(in).Reason)
		})
	}
}
