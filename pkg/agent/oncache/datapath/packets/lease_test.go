// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestProbe: in the last quarter of a lease single packets take the slow path to renew it, and all others stay on the fast path.
func TestProbe(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	// So long that not even a sixteenth of it passes during the test.
	const lease = 1 << 20
	w.Control().Lease = lease
	now := w.Jiffies(t)
	w.ChangeEntries(func(v *object.BpfOncValidity) { v.Lease, v.Probed = now+lease/8, uint32(now)-lease/16 })
	tunnelled := harness.FromPeer().Wrap(t, in.Bytes(t))

	require.Equal(t, "lease", w.Egress(0, out.Bytes(t)).Reason)
	require.Equal(t, "lease", w.Ingress(0, tunnelled).Reason)
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason, "the probe is in flight")
	require.Equal(t, "hit", w.Ingress(0, tunnelled).Reason)

	// The probe was lost: a sixteenth of the lease later there is another one.
	w.ChangeEntries(func(v *object.BpfOncValidity) { v.Probed -= lease / 16 })
	require.Equal(t, "renewed", w.LearnEgress(out).Reason)
	require.Equal(t, "renewed", w.LearnIngress(in).Reason)
	for _, f := range w.Entries() {
		require.InDelta(t, lease*harness.JiffyLength(t), f.LeaseLeft, float64(time.Minute))
	}
	w.ChangeEntries(func(v *object.BpfOncValidity) { v.Probed = 0 })
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason, "the new lease has just begun")
	require.Equal(t, "hit", w.Ingress(0, tunnelled).Reason)
}

// TestLeaseIsRenewed: the probe goes through Open vSwitch, and after its confirmation the flow takes the fast path again.
func TestLeaseIsRenewed(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.SetLease(time.Minute)
	w.Learn(out, in)
	w.EndLeases()
	began := time.Now()
	require.Equal(t, "renewed", w.LearnEgress(out).Reason)
	require.Equal(t, "renewed", w.LearnIngress(in).Reason)
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
	require.Equal(t, "hit", w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Reason)
	for _, f := range w.Entries() {
		requireLease(t, time.Minute, f.LeaseLeft, began)
		require.True(t, f.Active())
		require.EqualValues(t, 1, f.Packets)
	}
}

// requireLease checks how much is left of a lease that began now or at most as long ago as the time began.
func requireLease(t *testing.T, lease, left time.Duration, began time.Time) {
	t.Helper()
	require.LessOrEqual(t, left, lease)
	require.GreaterOrEqual(t, left, lease-time.Since(began)-time.Second)
}

// TestEvictedHalfRecovers: see the paper's appendix D. Whichever half the LRU map evicts, the flow is complete again after one more
// packet of that half.
func TestEvictedHalfRecovers(t *testing.T) {
	for _, half := range []string{"egress", "ingress"} {
		t.Run(half, func(t *testing.T) {
			w := harness.NewWorld(t)
			out, in := harness.FromPod(), harness.ToPod()
			w.Learn(out, in)
			m := w.Maps.EgressFlows4
			if half == "ingress" {
				m = w.Maps.IngressFlows4
			}
			require.NoError(t, m.Delete(harness.Only[object.BpfOncFlow4](t, m)))
			if half == "egress" {
				require.Equal(t, "learned", w.LearnEgress(out).Reason)
			} else {
				require.Equal(t, "learned", w.LearnIngress(in).Reason)
			}
			require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
			require.Equal(t, "hit", w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Reason)
		})
	}
}

// TestEvictedFlowIsRelearned: a flow that any generation has voided is usable again after packets of both directions, and not before.
func TestEvictedFlowIsRelearned(t *testing.T) {
	for name, evict := range map[string]func(*harness.World){
		"Pod":  func(w *harness.World) { w.PublishEndpoint(harness.PodSlot, 99, harness.Epoch) },
		"Node": func(w *harness.World) { w.BumpNode(harness.PeerSlot) },
		"all":  func(w *harness.World) { w.BumpAll() },
	} {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorld(t)
			out, in := harness.FromPod(), harness.ToPod()
			w.Learn(out, in)
			evict(w)
			require.Equal(t, "learned", w.LearnEgress(out).Reason)
			require.Equal(t, "not_proved", w.Egress(0, out.Bytes(t)).Reason)
			require.Equal(t, "learned", w.LearnIngress(in).Reason)
			require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
			require.Equal(t, "hit", w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Reason)
		})
	}
}

// TestYoungDatagrams: until the kernel has decided that a UDP connection is a stream, it sees a datagram every sixteenth of a lease.
func TestYoungDatagrams(t *testing.T) {
	w := harness.NewWorld(t)
	out := harness.FromPod()
	out.UDP = true
	// So long that not even a sixteenth of it passes between two packets.
	const long = 10 * time.Minute
	w.SetLease(long)
	lease := uint32(w.Control().Lease)
	probed := func(ago uint32) {
		now := w.Jiffies(t)
		w.ChangeEntries(func(v *object.BpfOncValidity) { v.Probed = uint32(now) - ago })
	}
	require.Equal(t, "learned", w.LearnEgress(out).Reason)
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason, "learning was a probe")
	for range 3 {
		probed(lease/16 + 1)
		age(w, 100*time.Millisecond-w.Entries()[0].Age)
		require.Equal(t, "renewed", w.LearnEgress(out).Reason, "a probe")
		require.Less(t, w.Entries()[0].LeaseLeft, long/4)
		probed(0)
		require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
	}
	// Two seconds later it is old.
	age(w, 2020*time.Millisecond)
	probed(lease/16 + 1)
	began := time.Now()
	require.Equal(t, "renewed", w.LearnEgress(out).Reason)
	requireLease(t, long, w.Entries()[0].LeaseLeft, began)
	probed(lease)
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)

	tcp := harness.FromPod()
	tcp.SrcPort++
	require.Equal(t, "learned", w.LearnEgress(tcp).Reason)
	for _, f := range w.Entries() {
		requireLease(t, long, f.LeaseLeft, began) // TCP has full leases from the beginning
	}
}

// TestBothDirectionsAsk: after a probe of one direction, the next packet of the opposite direction is also a probe.
func TestBothDirectionsAsk(t *testing.T) {
	for _, first := range []string{"egress", "ingress"} {
		t.Run(first, func(t *testing.T) {
			w := harness.NewWorld(t)
			out, in := harness.FromPod(), harness.ToPod()
			w.Learn(out, in)
			egress := func() string { return w.Egress(0, out.Bytes(t)).Reason }
			ingress := func() string { return w.Ingress(0, harness.FromPeer().Wrap(t, in.Bytes(t))).Reason }
			begin, other := egress, ingress
			if first == "ingress" {
				begin, other = ingress, egress
			}
			require.Equal(t, "hit", begin())
			require.Equal(t, "hit", other())
			expireDirection(w, datapath.Direction(first))
			require.Equal(t, "lease", begin())
			require.Equal(t, "hit", other(), "it was probed a moment ago")

			w.ChangeEntries(func(v *object.BpfOncValidity) { v.Probed -= uint32(w.Control().Lease / 2) })
			expireDirection(w, datapath.Direction(first))
			require.Equal(t, "lease", begin())
			require.Equal(t, "lease", other(), "its own lease has just begun")
			require.Equal(t, "hit", other(), "one is enough")
			// Both are renewed, and neither asks again because its opposite does.
			again := func() {
				w.ChangeEntries(func(v *object.BpfOncValidity) { v.Probed -= uint32(w.Control().Lease/16) + 1 })
			}
			again()
			require.Equal(t, "renewed", w.LearnEgress(out).Reason)
			again()
			require.Equal(t, "renewed", w.LearnIngress(in).Reason)
			for range 3 {
				require.Equal(t, "hit", begin())
				require.Equal(t, "hit", other())
			}
		})
	}
}

// age makes the egress entries of IPv4 older.
func age(w *harness.World, by time.Duration) {
	w.T.Helper()
	var key object.BpfOncFlow4
	var e object.BpfOncEgress4
	for it := w.Maps.EgressFlows4.Iterate(); it.Next(&key, &e); {
		e.Created -= uint64(by)
		require.NoError(w.T, w.Maps.EgressFlows4.Put(key, e))
	}
}

// expireDirection ends the leases of one direction.
func expireDirection(w *harness.World, d datapath.Direction) {
	w.T.Helper()
	if d == datapath.DirectionEgress {
		var key object.BpfOncFlow4
		var e object.BpfOncEgress4
		for it := w.Maps.EgressFlows4.Iterate(); it.Next(&key, &e); {
			e.V.Lease = 1
			require.NoError(w.T, w.Maps.EgressFlows4.Put(key, e))
		}
		return
	}
	var key object.BpfOncFlow4
	var i object.BpfOncIngress4
	for it := w.Maps.IngressFlows4.Iterate(); it.Next(&key, &i); {
		i.V.Lease = 1
		require.NoError(w.T, w.Maps.IngressFlows4.Put(key, i))
	}
}

// TestNoAgent: without an agent that maintains conntrack nothing is learned, and no lease is renewed.
func TestNoAgent(t *testing.T) {
	w := harness.NewWorld(t)
	out, in := harness.FromPod(), harness.ToPod()
	w.Learn(out, in)
	require.NoError(t, w.Attend(-time.Second))
	require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason, "until the lease ends")
	w.EndLeases()
	require.Equal(t, "no_agent", w.LearnEgress(out).Reason)
	require.Equal(t, "no_agent", w.LearnIngress(in).Reason)
	require.Equal(t, "lease", w.Egress(0, out.Bytes(t)).Reason)
	out.SrcPort++
	require.Equal(t, "no_agent", w.LearnEgress(out).Reason)
	require.Len(t, w.Entries(), 2)
	require.NoError(t, w.Attend(time.Minute))
	require.Equal(t, "learned", w.LearnEgress(out).Reason)
}
