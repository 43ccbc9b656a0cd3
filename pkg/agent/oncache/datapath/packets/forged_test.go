// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// probeIsDue: the next packet of each flow is a probe.
func probeIsDue(w *harness.World) {
	w.T.Helper()
	const lease = 1 << 20
	w.Control().Lease = lease
	now := w.Jiffies(w.T)
	w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) {
		v.Lease, v.Probed = now+lease/8, uint32(now)-lease/16
	})
}

// TestForgedPacketIsNoProbe: a packet with the addresses of a flow, but from another place, does not use up the flow's probe.
func TestForgedPacketIsNoProbe(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			out, in := w.FromPod(), w.ToPod()
			w.Learn(out, in)
			mallory := w.Neighbor(1)
			probeIsDue(w)
			require.Equal(t, "spoof", mallory.Egress(0, out.Bytes(t)).Reason)
			require.Equal(t, "lease", w.Egress(0, out.Bytes(t)).Reason)

			other := w.FromPeer()
			other.Src = other.Src.Next()
			w.SetNode(harness.PeerSlot+1, other.Src)
			probeIsDue(w)
			require.Equal(t, "outer_source", w.Ingress(0, other.Wrap(t, in.Bytes(t))).Reason)
			require.Equal(t, "lease", w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
		})
	}
}

// TestForgedLocalPacketIsNoProbe is the same between two Pods of the Node.
func TestForgedLocalPacketIsNoProbe(t *testing.T) {
	for name, f := range sameVersions {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			own, peer := w.LocalPeer()
			there, back := own.To(peer, false)
			require.Equal(t, "learned", own.LearnTo(peer, there).Reason)
			require.Equal(t, "learned", peer.LearnTo(own, back).Reason)
			mallory := w.Neighbor(2)
			probeIsDue(w)
			require.Equal(t, "spoof", mallory.Egress(0, there.Bytes(t)).Reason)
			require.Equal(t, "lease", own.Egress(0, there.Bytes(t)).Reason)
		})
	}
}

// TestForgedPacketGetsNoTicket: the flow's own packet finds its slot free, in any state of the entry.
func TestForgedPacketGetsNoTicket(t *testing.T) {
	for name, end := range map[string]func(*harness.World){
		"lease over": (*harness.World).EndLeases,
		"evicted":    func(w *harness.World) { w.BumpAll() },
		"not proved": func(w *harness.World) {
			w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) { v.Proved = 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorld(t)
			out, in := harness.FromPod(), harness.ToPod()
			w.Learn(out, in)
			mallory := w.Neighbor(1)
			end(w)
			forged := out
			forged.Seq, forged.ID = 7, 7
			require.Zero(t, mallory.Egress(0, forged.Bytes(t)).Mark&harness.TicketBits)
			require.Contains(t, []string{"renewed", "learned"}, w.LearnEgress(out).Reason)
		})
	}
}
