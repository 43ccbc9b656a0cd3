// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// superPacket makes a packet one of two segments.
func superPacket(s *harness.SKB) { s.GSOSize, s.GSOSegs = 50, 2 }

// datagrams sends one datagram of a flow, and another one of a second flow.
type datagrams struct {
	own, other func(tweak ...func(*harness.SKB)) harness.Result
	hit        string
}

// requireOrder checks that the datagrams of a flow do not overtake its super-packets.
func requireOrder(t *testing.T, w *harness.World, d datagrams) {
	t.Helper()
	require.Equal(t, d.hit, d.own().Reason)
	require.Equal(t, d.hit, d.other().Reason)
	require.Equal(t, "offload", d.own(superPacket).Reason)
	for range 3 {
		require.Equal(t, "offload", d.own().Reason, "it would overtake the super-packet")
	}
	require.Equal(t, d.hit, d.other().Reason, "of another flow")

	seen := func(change func(s *object.BpfOncSeen)) {
		w.ChangeSeen(func(s *object.BpfOncSeen) {
			if s.Length > 0 {
				change(s)
			}
		})
	}
	seen(func(s *object.BpfOncSeen) {
		require.Positive(t, int32(s.End-uint32(w.Jiffies(t))))
		require.LessOrEqual(t, uint64(s.End-uint32(w.Jiffies(t))), w.Control().Lease/8)
		s.End = uint32(w.Jiffies(t))
	})
	require.Equal(t, d.hit, d.own().Reason, "the time has ended")
	seen(func(*object.BpfOncSeen) {
		t.Error("the end of the time is not recorded: after 2^31 jiffies it would seem to lie in the future")
	})
	w.ChangeSeen(func(s *object.BpfOncSeen) { s.End = uint32(w.Jiffies(t)) + 1<<30 })
	require.Equal(t, d.hit, d.own().Reason, "the time does not count without a super-packet")
}

// TestOrderOfReceivedDatagrams: the kernel divides UDP super-packets for the Pod, behind Open vSwitch.
func TestOrderOfReceivedDatagrams(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			if harness.Decapsulated(t, f) != "hit" {
				t.Skip("this kernel cannot decapsulate it")
			}
			w := harness.NewWorldOf(t, f)
			var d datagrams
			d.hit = "hit"
			for i, send := range []*func(...func(*harness.SKB)) harness.Result{&d.own, &d.other} {
				out, in := w.FromPod(), w.ToPod()
				out.UDP, in.UDP = true, true
				out.SrcPort += uint16(i)
				in.DstPort += uint16(i)
				w.Learn(out, in)
				b := w.FromPeer().Wrap(t, in.Bytes(t))
				*send = func(tweak ...func(*harness.SKB)) harness.Result { return w.Ingress(0, b, tweak...) }
			}
			w.KeepLeases()
			requireOrder(t, w, d)
		})
	}
}

// TestOrderOfLocalDatagrams is the same between two Pods of a Node.
func TestOrderOfLocalDatagrams(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			own, peer := w.LocalPeer()
			var d datagrams
			d.hit = "hit_local"
			for i, send := range []*func(...func(*harness.SKB)) harness.Result{&d.own, &d.other} {
				there, _ := own.To(peer, true)
				there.SrcPort += uint16(i)
				own.LearnTo(peer, there)
				*send = func(tweak ...func(*harness.SKB)) harness.Result { return own.Egress(0, there.Bytes(t), tweak...) }
			}
			w.KeepLeases()
			requireOrder(t, w, d)
		})
	}
}

// TestOrderOfSentDatagrams: the kernel cannot encapsulate some super-packets, such as a super-packet of the Pod's own tunnel.
func TestOrderOfSentDatagrams(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			var d datagrams
			d.hit = "hit"
			for i, send := range []*func(...func(*harness.SKB)) harness.Result{&d.own, &d.other} {
				out := w.FromPod()
				out.UDP = true
				out.SrcPort += uint16(i)
				w.LearnEgress(out)
				*send = func(tweak ...func(*harness.SKB)) harness.Result { return w.Egress(0, out.Bytes(t), tweak...) }
			}
			w.KeepLeases()
			requireOrder(t, w, d)
		})
	}
}

// TestOrderConcernsDatagramsOnly: entries of TCP flows have sequence numbers in the same place.
func TestOrderConcernsDatagramsOnly(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	w.ChangeSeen(func(s *object.BpfOncSeen) { s.End, s.Length = uint32(w.Jiffies(t))+1000, 1 })
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
	require.Equal(t, "hit", w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Reason)
}
