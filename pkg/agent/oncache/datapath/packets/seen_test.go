// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestSeenIsNotForgedWhenTheLeaseEnds: a packet with the addresses of another Pod's idle connection does not change the connection's
// entry either when the lease has ended.
func TestSeenIsNotForgedWhenTheLeaseEnds(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.SetLease(0) // it ends at once
	w.Learn(out, in)
	require.Eventually(t, func() bool {
		idle := true
		err := w.Flows(func(f datapath.Flow) bool { idle = idle && f.LeaseLeft < 0; return true })
		return err == nil && idle
	}, 20*time.Second, time.Millisecond)
	before := lastSeen(w)

	forged := out
	forged.SrcMAC, forged.Seq, forged.Ack = harness.PeerMAC, 77, 88
	w.Egress(0, forged.Bytes(t))
	injected := in
	injected.Seq, injected.Ack = 77, 88
	o := harness.FromPeer()
	o.Src = netip.MustParseAddr("192.168.77.99")
	w.Ingress(0, o.Wrap(t, injected.Bytes(t)))
	require.Empty(t, cmp.Diff(before, lastSeen(w), cmpopts.IgnoreFields(datapath.Seen{}, "Ago")))
}

// lastSeen returns what the cache has noted for each direction.
func lastSeen(w *harness.World) map[datapath.Direction]datapath.Seen {
	seen := map[datapath.Direction]datapath.Seen{}
	for _, f := range w.Entries() {
		seen[f.Direction] = f.Seen
	}
	return seen
}

func requireSeen(w *harness.World, egress, ingress datapath.Seen, what string) {
	w.T.Helper()
	want := map[datapath.Direction]datapath.Seen{datapath.DirectionEgress: egress, datapath.DirectionIngress: ingress}
	require.Empty(w.T, cmp.Diff(want, lastSeen(w), cmpopts.IgnoreFields(datapath.Seen{}, "At", "Ago")), what)
}

// TestSeen: an entry has what conntrack would know from the last segment, whether that took the fast path or was a probe.
func TestSeen(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			out, in := w.FromPod(), w.ToPod()
			out.Seq, out.Ack, out.Payload = 0xfffffff0, 5000, 100
			in.Seq, in.Ack, in.Payload = 5000, 0xfffffff0, 200
			w.Learn(out, in)
			requireSeen(w, datapath.Seen{End: 84, Ack: 5000, Data: true}, datapath.Seen{End: 5200, Ack: 0xfffffff0, Data: true}, "learned")

			out.Seq, out.Ack, out.Payload = 84, 5200, 0
			in.Seq, in.Ack, in.Payload, in.ClosedWindow = 5200, 84, 0, true
			require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
			require.Equal(t, w.Decapsulated(), w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
			requireSeen(w, datapath.Seen{End: 84, Ack: 5200}, datapath.Seen{End: 5200, Ack: 84, ZeroWindow: true}, "acknowledged, the acknowledgment has wrapped around")

			late := in
			late.Ack, late.ClosedWindow = 0xfffffff0, false
			require.Equal(t, w.Decapsulated(), w.Ingress(0, w.FromPeer().Wrap(t, late.Bytes(t))).Reason)
			requireSeen(w, datapath.Seen{End: 84, Ack: 5200}, datapath.Seen{End: 5200, Ack: 84}, "an acknowledgment out of order changes nothing")

			w.EndLeases()
			out.Ack, out.Payload = 5200, 1
			in.Seq, in.Ack = 5200, 85
			require.Equal(t, "lease", w.Egress(0, out.Bytes(t)).Reason)
			require.Equal(t, "lease", w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
			requireSeen(w, datapath.Seen{End: 85, Ack: 5200, Data: true}, datapath.Seen{End: 5200, Ack: 85, ZeroWindow: true}, "probes")
		})
	}
}

// TestSeenIsNotForged: packets that are not let through do not change the connection's entry.
func TestSeenIsNotForged(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	before := lastSeen(w)
	forged := out
	forged.SrcMAC, forged.Seq, forged.Ack = harness.PeerMAC, 77, 88
	require.Equal(t, "spoof", w.Egress(0, forged.Bytes(t)).Reason)
	injected := in
	injected.Seq, injected.Ack = 77, 88
	o := harness.FromPeer()
	o.Src = netip.MustParseAddr("192.168.77.99")
	require.Equal(t, "outer_source", w.Ingress(0, o.Wrap(t, injected.Bytes(t))).Reason)
	require.Empty(t, cmp.Diff(before, lastSeen(w), cmpopts.IgnoreFields(datapath.Seen{}, "Ago")))
}

// TestPassed: the agent is told of each TCP segment that has passed conntrack and taught the cache, and of nothing else.
func TestPassed(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			out, in := w.FromPod(), w.ToPod()
			from, to := netip.AddrPortFrom(out.Src, out.SrcPort), netip.AddrPortFrom(out.Dst, out.DstPort)
			w.Learn(out, in)
			got, err := harness.Passed(w.Datapath)
			require.NoError(t, err)
			require.Equal(t, []datapath.Connection{{Source: from, Destination: to}}, got, "both directions are known with the second one")
			if !f.Inner6 {
				expireDirection(w, datapath.DirectionEgress)
				require.Equal(t, "renewed", w.LearnEgress(out).Reason)
				got, err = harness.Passed(w.Datapath)
				require.NoError(t, err)
				require.Equal(t, []datapath.Connection{{Source: from, Destination: to}}, got)
			}
			require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)

			out.UDP, in.UDP = true, true
			w.Learn(out, in)
			got, err = harness.Passed(w.Datapath)
			require.NoError(t, err)
			require.Empty(t, got, "neither hits nor datagrams")
		})
	}
}

// TestOver: the agent is told that a connection is over of which it was told a moment ago, before a new one with the same addresses and
// ports is told of, and of no other end.
func TestOver(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			out, in := w.FromPod(), w.ToPod()
			told := datapath.Connection{Source: netip.AddrPortFrom(out.Src, out.SrcPort), Destination: netip.AddrPortFrom(out.Dst, out.DstPort)}
			reports := func() []datapath.Passed {
				t.Helper()
				got, err := harness.PassedReports(w.Datapath)
				require.NoError(t, err)
				return got
			}
			fin := func(p harness.Packet) harness.Packet {
				p.Flags = "F"
				return p
			}
			ends := map[string]func(){
				"egress":  func() { require.Equal(t, "tcp_flags", w.Egress(0, fin(out).Bytes(t)).Reason) },
				"ingress": func() { require.Equal(t, "tcp_flags", w.Ingress(0, w.FromPeer().Wrap(t, fin(in).Bytes(t))).Reason) },
			}
			for _, end := range ends {
				w.Learn(out, in)
				end()
				w.Learn(out, in)
				require.Equal(t, []datapath.Passed{{Connection: told}, {Connection: told, Over: true}, {Connection: told}}, reports())
				end()
				require.Equal(t, []datapath.Passed{{Connection: told, Over: true}}, reports())
				end()
				require.Empty(t, reports(), "there is nothing to end")
			}

			require.Equal(t, "learned", w.LearnEgress(out).Reason)
			ends["egress"]()
			require.Empty(t, reports(), "only one direction was known, so the agent was not told of it")

			if f.Inner6 {
				return
			}
			w.Learn(out, in)
			reports()
			age(w, 100*time.Millisecond)
			ends["egress"]()
			require.Empty(t, reports(), "the agent has looked for it by now")
		})
	}
}
