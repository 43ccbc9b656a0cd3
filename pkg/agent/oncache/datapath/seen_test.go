// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
)

// lastSeen is what the cache has noted of each direction.
func (w *world) lastSeen() map[Direction]Seen {
	seen := map[Direction]Seen{}
	for _, f := range w.flows() {
		seen[f.Direction] = f.Seen
	}
	return seen
}

func (w *world) requireSeen(egress, ingress Seen, what string) {
	w.t.Helper()
	want := map[Direction]Seen{DirectionEgress: egress, DirectionIngress: ingress}
	require.Empty(w.t, cmp.Diff(want, w.lastSeen(), cmpopts.IgnoreFields(Seen{}, "At", "Ago")), what)
}

// TestSeen: an entry has what conntrack would know of the last segment, whether that took the fast path or was a probe.
func TestSeen(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			out, in := w.fromPod(), w.toPod()
			out.seq, out.ack, out.payload = 0xfffffff0, 5000, 100
			in.seq, in.ack, in.payload = 5000, 0xfffffff0, 200
			w.learn(out, in)
			w.requireSeen(Seen{End: 84, Ack: 5000, Data: true}, Seen{End: 5200, Ack: 0xfffffff0, Data: true}, "learned")

			out.seq, out.ack, out.payload = 84, 5200, 0
			in.seq, in.ack, in.payload, in.closedWindow = 5200, 84, 0, true
			require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
			require.Equal(t, w.decapsulated(), w.ingress(0, w.fromPeer().wrap(t, in.bytes(t))).reason)
			w.requireSeen(Seen{End: 84, Ack: 5200}, Seen{End: 5200, Ack: 84, ZeroWindow: true}, "acknowledged, the acknowledgement has wrapped around")

			late := in
			late.ack, late.closedWindow = 0xfffffff0, false
			require.Equal(t, w.decapsulated(), w.ingress(0, w.fromPeer().wrap(t, late.bytes(t))).reason)
			w.requireSeen(Seen{End: 84, Ack: 5200}, Seen{End: 5200, Ack: 84}, "an acknowledgement out of order takes nothing back")

			if f.inner6 {
				return // expire changes IPv4 entries
			}
			w.expire()
			out.ack, out.payload = 5200, 1
			in.seq, in.ack = 5200, 85
			require.Equal(t, "lease", w.egress(0, out.bytes(t)).reason)
			require.Equal(t, "lease", w.ingress(0, w.fromPeer().wrap(t, in.bytes(t))).reason)
			w.requireSeen(Seen{End: 85, Ack: 5200, Data: true}, Seen{End: 5200, Ack: 85, ZeroWindow: true}, "probes")
		})
	}
}

// TestSeenIsNotForged: packets that are not let through say nothing about the connection.
func TestSeenIsNotForged(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	before := w.lastSeen()
	forged := out
	forged.srcMAC, forged.seq, forged.ack = peerMAC, 77, 88
	require.Equal(t, "spoof", w.egress(0, forged.bytes(t)).reason)
	injected := in
	injected.seq, injected.ack = 77, 88
	o := fromPeer()
	o.src = netip.MustParseAddr("192.168.77.99")
	require.Equal(t, "outer_source", w.ingress(0, o.wrap(t, injected.bytes(t))).reason)
	require.Empty(t, cmp.Diff(before, w.lastSeen(), cmpopts.IgnoreFields(Seen{}, "Ago")))
}

// TestPassed: the agent is told of each TCP segment that has passed conntrack and taught the cache, and of nothing else.
func TestPassed(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			out, in := w.fromPod(), w.toPod()
			from, to := netip.AddrPortFrom(out.src, out.sport), netip.AddrPortFrom(out.dst, out.dport)
			w.learn(out, in)
			got, err := passed(w.Datapath)
			require.NoError(t, err)
			require.Equal(t, []Connection{{to, from}}, got, "both directions are known with the second one")
			if !f.inner6 {
				w.expireDirection(DirectionEgress)
				require.Equal(t, "renewed", w.learnEgress(out).reason)
				got, err = passed(w.Datapath)
				require.NoError(t, err)
				require.Equal(t, []Connection{{from, to}}, got)
			}
			require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)

			out.udp, in.udp = true, true
			w.learn(out, in)
			got, err = passed(w.Datapath)
			require.NoError(t, err)
			require.Empty(t, got, "neither hits nor datagrams")
		})
	}
}

// TestYoungDatagrams: as long as the kernel has not decided that a UDP connection is a stream, it sees a datagram every sixteenth of
// a lease.
func TestYoungDatagrams(t *testing.T) {
	w := newWorld(t)
	out := fromPod()
	out.udp = true
	lease := uint32(w.control.elements[0].Lease)
	probed := func(ago uint32) {
		now, err := w.now()
		require.NoError(t, err)
		w.changeEntries(func(v *bpfOncValidity) { v.Probed = uint32(now.jiffies) - ago })
	}
	require.Equal(t, "learned", w.learnEgress(out).reason)
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason, "learning was a probe")
	for range 3 {
		probed(lease/16 + 1)
		require.Equal(t, "renewed", w.learnEgress(out).reason, "a probe")
		require.Less(t, w.flows()[0].LeaseLeft, 5*time.Second/4)
		probed(0)
		require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)
	}
	// Two seconds later it is old.
	var key bpfOncFlow4
	var e bpfOncEgress
	for it := w.objects.EgressFlows4.Iterate(); it.Next(&key, &e); {
		e.Created -= 2020 * uint64(time.Millisecond)
		require.NoError(t, w.objects.EgressFlows4.Put(key, e))
	}
	probed(lease/16 + 1)
	require.Equal(t, "renewed", w.learnEgress(out).reason)
	require.Greater(t, w.flows()[0].LeaseLeft, 4*time.Second, "a full lease")
	probed(lease)
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason)

	tcp := fromPod()
	tcp.sport++
	require.Equal(t, "learned", w.learnEgress(tcp).reason)
	for _, f := range w.flows() {
		require.Greater(t, f.LeaseLeft, 4*time.Second, "TCP has full leases from the beginning")
	}
}

// TestBothDirectionsAsk: when one direction asks Open vSwitch, so does the next packet of the other one.
func TestBothDirectionsAsk(t *testing.T) {
	for _, first := range []string{"egress", "ingress"} {
		t.Run(first, func(t *testing.T) {
			w := newWorld(t)
			out, in := fromPod(), toPod()
			w.learn(out, in)
			egress := func() string { return w.egress(0, out.bytes(t)).reason }
			ingress := func() string { return w.ingress(0, fromPeer().wrap(t, in.bytes(t))).reason }
			begin, other := egress, ingress
			if first == "ingress" {
				begin, other = ingress, egress
			}
			require.Equal(t, "hit", begin())
			require.Equal(t, "hit", other())
			w.expireDirection(Direction(first))
			require.Equal(t, "lease", begin())
			require.Equal(t, "hit", other(), "it has asked a moment ago")

			w.changeEntries(func(v *bpfOncValidity) { v.Probed -= uint32(w.control.elements[0].Lease / 2) })
			w.expireDirection(Direction(first))
			require.Equal(t, "lease", begin())
			require.Equal(t, "lease", other(), "its own lease has just begun")
			require.Equal(t, "hit", other(), "one is enough")
			// Both are renewed, and neither asks again because the other one does.
			again := func() {
				w.changeEntries(func(v *bpfOncValidity) { v.Probed -= uint32(w.control.elements[0].Lease/16) + 1 })
			}
			again()
			require.Equal(t, "renewed", w.learnEgress(out).reason)
			again()
			require.Equal(t, "renewed", w.learnIngress(in).reason)
			for range 3 {
				require.Equal(t, "hit", begin())
				require.Equal(t, "hit", other())
			}
		})
	}
}

// expireDirection ends the leases of one direction.
func (w *world) expireDirection(d Direction) {
	w.t.Helper()
	if d == DirectionEgress {
		var key bpfOncFlow4
		var e bpfOncEgress
		for it := w.objects.EgressFlows4.Iterate(); it.Next(&key, &e); {
			e.V.Lease = 1
			require.NoError(w.t, w.objects.EgressFlows4.Put(key, e))
		}
		return
	}
	var key bpfOncFlow4
	var i bpfOncIngress
	for it := w.objects.IngressFlows4.Iterate(); it.Next(&key, &i); {
		i.V.Lease = 1
		require.NoError(w.t, w.objects.IngressFlows4.Put(key, i))
	}
}

// TestNoAgent: without an agent that looks after conntrack nothing is learned, and no lease is renewed.
func TestNoAgent(t *testing.T) {
	w := newWorld(t)
	out, in := fromPod(), toPod()
	w.learn(out, in)
	require.NoError(t, w.Attend(-time.Second))
	require.Equal(t, "hit", w.egress(0, out.bytes(t)).reason, "until the lease is over")
	w.expire()
	require.Equal(t, "no_agent", w.learnEgress(out).reason)
	require.Equal(t, "no_agent", w.learnIngress(in).reason)
	require.Equal(t, "lease", w.egress(0, out.bytes(t)).reason)
	out.sport++
	require.Equal(t, "no_agent", w.learnEgress(out).reason)
	require.Len(t, w.flows(), 2)
	require.NoError(t, w.Attend(time.Minute))
	require.Equal(t, "learned", w.learnEgress(out).reason)
}

// TestFlow looks single entries up.
func TestFlow(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, f)
			out, in := w.fromPod(), w.toPod()
			w.learn(out, in)
			from, to := netip.AddrPortFrom(out.src, out.sport), netip.AddrPortFrom(out.dst, out.dport)
			for _, want := range w.flows() {
				source, destination := from, to
				if want.Direction == DirectionIngress {
					source, destination = to, from
				}
				got, err := w.Flow(want.Direction, 6, source, destination)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(&want, got, cmpopts.EquateComparable(netip.AddrPort{}), cmpopts.EquateApproxTime(time.Minute),
					cmpopts.IgnoreFields(Flow{}, "Age", "LeaseLeft"), cmpopts.IgnoreFields(Seen{}, "Ago")))
				got, err = w.Flow(want.Direction, 17, source, destination)
				require.NoError(t, err)
				require.Nil(t, got)
			}
		})
	}
}
