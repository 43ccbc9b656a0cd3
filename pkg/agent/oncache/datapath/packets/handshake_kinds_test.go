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

			// The packet expected from the host belongs to a connection that has ended.
			opens(segment(h.request, "R", clientISN+1, 0))
			opens(h.syn)
			require.Equal(t, "not_proved", g.LearnIngress(h.synACK).Reason)
			g.Ingress(0, g.FromPeer().Wrap(t, segment(h.answer, "-S", serverISN, 0).Bytes(t)))
			require.Zero(t, g.Egress(0, h.ack.Bytes(t)).Mark&harness.TicketBits)
		})
	}
}

// TestEntryThatComesBack: a packet that came out of Open vSwitch while the SYN-ACK passed the first program has made the entry again
// that the SYN-ACK has ended. An entry of the SYN-ACK's direction is replaced, and the SYN-ACK must still be answered. An entry of the
// opposite direction does not count as the answer.
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

// localHandshake is the handshake of a connection between two Pods of the Node, perhaps through a Service.
type localHandshake struct {
	*harness.World
	client, server *harness.Pod
	// sent are the segments before Open vSwitch, arrives those behind it.
	sent, arrives handshake
}

// eachLocalHandshake runs a test for both IP versions, with a Service and without.
func eachLocalHandshake(t *testing.T, test func(t *testing.T, l *localHandshake, service bool)) {
	for _, six := range []bool{false, true} {
		for _, service := range []bool{false, true} {
			t.Run(map[bool]string{false: "IPv4", true: "IPv6"}[six]+map[bool]string{true: " Service"}[service], func(t *testing.T) {
				l := &localHandshake{World: harness.NewStrangersWorld(t, harness.Family{Inner6: six})}
				l.client, l.server = l.LocalPeer()
				l.server.Family = l.Family
				there, back := l.client.To(l.server, false)
				e := harness.Exchange{Sent: there, SentOn: there, Received: back, ReceivedOn: back}
				if service {
					e = l.client.ThroughServiceTo(l.server, false)
				}
				l.sent, l.arrives = handshakeOf(e.Sent, e.Received), handshakeOf(e.SentOn, e.ReceivedOn)
				test(t, l, service)
			})
		}
	}
}

// ends passes a segment that gets no ticket through Egress of its sender.
func (l *localHandshake) ends(from *harness.Pod, p harness.Packet) {
	l.T.Helper()
	r := from.Egress(0, p.Bytes(l.T))
	require.Equal(l.T, "tcp_flags", r.Reason)
	require.Zero(l.T, r.Mark&harness.TicketBits)
}

// accept passes the SYN-ACK of the server through both programs.
func (l *localHandshake) accept() string {
	l.T.Helper()
	return l.server.LearnChanged(l.client, l.sent.synACK, l.arrives.synACK).Reason
}

func (l *localHandshake) open() {
	l.T.Helper()
	l.ends(l.client, l.sent.syn)
	require.Equal(l.T, "learned", l.accept())
}

func (l *localHandshake) answer() {
	l.T.Helper()
	require.Equal(l.T, "learned", l.client.LearnChanged(l.server, l.sent.ack, l.arrives.ack).Reason)
}

// arrive passes a packet with this mark through Ingress-Init.
func (l *localHandshake) arrive(from, to *harness.Pod, mark uint32, p harness.Packet) string {
	l.T.Helper()
	_, sender := from.EndpointState(from.Slot)
	_, receiver := to.EndpointState(to.Slot)
	return to.IngressInit(mark|sender<<20, p.Bytes(l.T), harness.WithQueue(receiver)).Reason
}

// TestRepeatedHandshakeWithinTheNode: a SYN-ACK that is repeated because its answer was lost ends both directions. A SYN ends the ticket of a
// segment that Open vSwitch still holds.
func TestRepeatedHandshakeWithinTheNode(t *testing.T) {
	eachLocalHandshake(t, func(t *testing.T, l *localHandshake, _ bool) {
		l.open()
		l.answer()
		require.Equal(t, "learned", l.accept())
		require.Len(t, l.Entries(), 1)
		requireUnproved(l.World, "the SYN-ACK has not been answered since")

		held := l.client.Egress(0, l.sent.ack.Bytes(t)).Mark
		require.NotZero(t, held&harness.TicketBits)
		l.open()
		require.Equal(t, "no_ticket", l.arrive(l.client, l.server, held, l.arrives.ack))
		requireUnproved(l.World, "nothing has answered the SYN-ACK")
	})
}

// TestSYNACKWithinTheNode: a SYN-ACK teaches nothing without a request, if its sender has also opened the connection, or if it goes to
// a Service.
func TestSYNACKWithinTheNode(t *testing.T) {
	eachLocalHandshake(t, func(t *testing.T, l *localHandshake, service bool) {
		require.Equal(t, "tcp_flags", l.accept(), "no SYN")
		crossed := segment(l.sent.answer, "-S", serverISN, 0)
		l.ends(l.server, crossed)
		reverse := l.client.LearnChanged(l.server, segment(l.sent.request, "S", clientISN, serverISN+1), segment(l.arrives.request, "S", clientISN, serverISN+1)).Reason
		if service {
			require.Equal(t, "tcp_flags", reverse, "to a Service")
		} else {
			require.Equal(t, "learned", reverse, "the server has opened it")
		}
		l.ends(l.client, l.sent.syn)
		require.Equal(t, "tcp_flags", l.accept(), "both have")
		require.Empty(t, l.Entries())
		l.ends(l.server, segment(l.sent.answer, "R", serverISN+1, 0))
		l.open()
	})
}

// TestEntryThatComesBackWithinTheNode is TestEntryThatComesBack for a connection within the Node.
func TestEntryThatComesBackWithinTheNode(t *testing.T) {
	eachLocalHandshake(t, func(t *testing.T, l *localHandshake, _ bool) {
		flows := l.Maps.EgressFlows4
		if l.Family.Inner6 {
			flows = l.Maps.EgressFlows6
		}
		l.open()
		key, entry := make([]byte, flows.KeySize()), make([]byte, flows.ValueSize())
		require.NoError(t, flows.NextKey(nil, &key))
		l.answer()
		require.NoError(t, flows.Lookup(key, &entry))
		mark := l.server.Egress(0, l.sent.synACK.Bytes(t)).Mark
		require.Empty(t, l.Entries())
		require.NoError(t, flows.Put(key, entry))
		require.Equal(t, "learned", l.arrive(l.server, l.client, mark, l.arrives.synACK))
		require.Len(t, l.Entries(), 1)
		requireUnproved(l.World, "the SYN-ACK has not been answered")
	})
}

// TestFloodOfSYNSparesOtherPods: a Pod that has less than half its share learns from SYN-ACKs, however many another Pod has sent.
func TestFloodOfSYNSparesOtherPods(t *testing.T) {
	w := harness.NewStrangersWorld(t, harness.Family{})
	flooded, other := w.Pod(), w.Neighbor(1)
	const full, share = 40, 20
	limit(w, full, share)
	accept := func(p *harness.Pod, n int) string {
		out, in := p.Packets(n, false)
		h := handshakeOf(in, out)
		require.Equal(t, "tcp_flags", p.Ingress(0, w.FromPeer().Wrap(t, h.syn.Bytes(t))).Reason)
		return p.LearnEgress(h.synACK).Reason
	}
	for n := range full / 2 {
		require.Equal(t, "learned", accept(flooded, n))
	}
	require.Equal(t, "share", accept(flooded, full))
	for n := range share / 2 {
		require.Equal(t, "learned", accept(other, n))
	}
	require.Equal(t, "share", accept(other, share))
}
