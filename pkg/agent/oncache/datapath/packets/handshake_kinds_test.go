// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestHandshakeOfTheHost: the SYN-ACK that the host gets does not tell whether a socket has asked for it, so it teaches nothing but that
// the host's next packet is worth a ticket. The one that the host sends gets none.
func TestHandshakeOfTheHost(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			g := harness.NewStrangersWorld(t, f).AddGateway()
			h := handshakeOf(g.FromHost(), g.ToHost())
			opens := func(p harness.Packet) {
				r := g.Egress(0, p.Bytes(t))
				require.Equal(t, "tcp_flags", r.Reason)
				require.Zero(t, r.Mark&harness.TicketBits)
			}
			require.Equal(t, "tcp_flags", g.LearnIngress(h.synACK).Reason, "no SYN")
			require.Zero(t, g.Egress(0, h.ack.Bytes(t)).Mark&harness.TicketBits)
			opens(h.syn)
			for range 2 {
				require.Equal(t, "not_proved", g.LearnIngress(h.synACK).Reason)
				require.Empty(t, g.Entries())
				require.Equal(t, "learned", g.LearnEgress(h.ack).Reason)
				requireUnproved(&g.World, "the Pod has sent nothing but its SYN-ACK")
			}
			require.Equal(t, "learned", g.LearnIngress(h.answer).Reason)
			require.Equal(t, "hit", g.Egress(0, h.request.Bytes(t)).Reason)
			require.Equal(t, g.Decapsulated(), g.Ingress(0, g.FromPeer().Wrap(t, h.answer.Bytes(t))).Reason)

			// The Pod opens it.
			opens(segment(h.request, "R", clientISN+101, 0))
			require.Empty(t, g.Entries())
			require.Equal(t, "tcp_flags", g.Ingress(0, g.FromPeer().Wrap(t, segment(h.answer, "-S", serverISN, 0).Bytes(t))).Reason)
			opens(segment(h.request, "S", clientISN, serverISN+1))
			require.Empty(t, g.Entries())

			// What the host was expected to send belongs to a connection that is over.
			opens(segment(h.request, "R", clientISN+1, 0))
			opens(h.syn)
			require.Equal(t, "not_proved", g.LearnIngress(h.synACK).Reason)
			g.Ingress(0, g.FromPeer().Wrap(t, segment(h.answer, "-S", serverISN, 0).Bytes(t)))
			require.Zero(t, g.Egress(0, h.ack.Bytes(t)).Mark&harness.TicketBits)
		})
	}
}

// TestEntryThatComesBack: a packet that came out of Open vSwitch while the SYN-ACK passed the first program has made the entry again that
// the SYN-ACK has ended. If it is of the SYN-ACK's direction, it is replaced, and the SYN-ACK must be answered all the same. If it is of the
// other one, it does not count as the answer.
func TestEntryThatComesBack(t *testing.T) {
	for _, server := range []bool{false, true} {
		t.Run(map[bool]string{false: "client", true: "server"}[server], func(t *testing.T) {
			w := harness.NewStrangersWorld(t, harness.Family{})
			out, in := w.FromPod(), w.ToPod()
			h := handshakeOf(out, in)
			own, other := w.Maps.IngressFlows4, w.Maps.EgressFlows4
			if server {
				out.SrcPort, out.DstPort, in.SrcPort, in.DstPort = in.SrcPort, in.DstPort, out.SrcPort, out.DstPort
				h, own, other = handshakeOf(in, out), other, own
			}
			for comesBack, want := range map[*ebpf.Map]string{own: "learned", other: "tcp_flags"} {
				ends(w, h.syn)
				require.Equal(t, "learned", learned(w, h.synACK))
				require.Equal(t, "learned", learned(w, h.ack))
				key := harness.Only[object.BpfOncFlow4](t, comesBack)
				entry := make([]byte, comesBack.ValueSize())
				require.NoError(t, comesBack.Lookup(key, entry))
				mark := ticket(w, h.synACK)
				require.Empty(t, w.Entries())
				require.NoError(t, comesBack.Put(key, entry))
				require.Equal(t, want, comesOutLate(w, mark, h.synACK))
				if comesBack == own {
					requireUnproved(w, "the SYN-ACK has not been answered")
				}
				require.Len(t, w.Entries(), 1)
			}
		})
	}
}

// TestRepeatedHandshakeWithinTheNode: the SYN-ACK of a Service's Endpoint on the Node, repeated because its answer was lost, ends both
// directions, and the ticket of a segment that Open vSwitch still holds.
func TestRepeatedHandshakeWithinTheNode(t *testing.T) {
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
				accept := func() string { return server.LearnChanged(client, sent.synACK, arrives.synACK).Reason }
				open := func() {
					require.Equal(t, "tcp_flags", client.Egress(0, sent.syn.Bytes(t)).Reason)
					require.Equal(t, "learned", accept())
				}
				late := func(mark uint32) string {
					_, sender := client.EndpointState(client.Slot)
					_, receiver := server.EndpointState(server.Slot)
					return server.IngressInit(mark|sender<<20, arrives.ack.Bytes(t), harness.WithQueue(receiver)).Reason
				}
				open()
				require.Equal(t, "learned", client.LearnChanged(server, sent.ack, arrives.ack).Reason)
				require.Equal(t, "learned", accept())
				require.Len(t, w.Entries(), 1)
				requireUnproved(w, "the SYN-ACK has not been answered since")

				held := client.Egress(0, sent.ack.Bytes(t)).Mark
				require.NotZero(t, held&harness.TicketBits)
				open()
				require.Equal(t, "no_ticket", late(held))
				requireUnproved(w, "nothing has answered the SYN-ACK")
			})
		}
	}
}
