// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// limit sets the same limits for all maps.
func limit(w *harness.World, full, share int64) {
	for m := range object.FlowMaps {
		w.LimitOf(m).Full, w.LimitOf(m).Share = full, share
	}
}

// TestEntriesAreCounted: each entry is counted once when it is made and once when it ends.
func TestEntriesAreCounted(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			a, b := w.Pod(), w.Neighbor(1)
			out, in := a.Packets(0, false)
			otherOut, _ := b.Packets(0, true)
			require.Equal(t, "learned", a.LearnEgress(out).Reason)
			require.Equal(t, [2]int64{1, 0}, a.Counts())
			require.Equal(t, "learned", a.LearnIngress(in).Reason)
			require.Equal(t, "learned", b.LearnEgress(otherOut).Reason)
			require.Equal(t, [2]int64{1, 1}, a.Counts())
			require.Equal(t, [2]int64{1, 0}, b.Counts())
			require.Equal(t, [2]int64{2, 1}, a.Totals())
			require.Equal(t, 2, a.FlowCount(a.Slot))

			w.EndLeases()
			require.Equal(t, "renewed", a.LearnEgress(out).Reason)
			require.Equal(t, "renewed", a.LearnIngress(in).Reason)
			require.Equal(t, [2]int64{1, 1}, a.Counts(), "renewed")
			w.BumpAll()
			require.Equal(t, "learned", a.LearnEgress(out).Reason)
			require.Equal(t, "learned", a.LearnIngress(in).Reason)
			require.Equal(t, [2]int64{1, 1}, a.Counts(), "written again")

			fin := out
			fin.Flags = "F"
			for range 2 {
				require.Equal(t, "tcp_flags", a.Egress(0, fin.Bytes(t)).Reason)
				require.Equal(t, [2]int64{0, 0}, a.Counts(), "ended")
				require.Equal(t, [2]int64{1, 0}, a.Totals())
			}
		})
	}
}

// TestEntryOfAFormerOwner: the address now belongs to another Pod, in another slot.
func TestEntryOfAFormerOwner(t *testing.T) {
	w := harness.NewWorld(t)
	a, b := w.Pod(), w.Neighbor(1)
	out, _ := a.Packets(0, true)
	require.Equal(t, "learned", a.LearnEgress(out).Reason)
	generation, _ := a.EndpointState(a.Slot)
	a.PublishEndpoint(a.Slot, generation+1, 0)
	b.IPv4 = a.IPv4
	b.Announce()
	limit(w, 1, 1)
	require.Equal(t, "learned", b.LearnEgress(out).Reason)
	require.Equal(t, [2]int64{0, 0}, a.Counts())
	require.Equal(t, [2]int64{1, 0}, b.Counts())
	require.Equal(t, [2]int64{1, 0}, b.Totals())
}

// TestShareIsUsedUp lists what a Pod that has used up its share of a nearly full map may still do.
func TestShareIsUsedUp(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			a, b := w.Pod(), w.Neighbor(1)
			for n := range 3 {
				out, in := a.Packets(n, false)
				a.Learn(out, in)
			}
			const full, share = 3, 3
			limit(w, full, share)
			newOut, newIn := a.Packets(3, false)
			require.Equal(t, "share", a.LearnEgress(newOut).Reason)
			require.Equal(t, "share", a.LearnIngress(newIn).Reason)
			require.True(t, a.ShareUsedUp(a.Slot))
			require.False(t, a.ShareUsedUp(b.Slot))
			require.Equal(t, [2]int64{3, 3}, a.Counts(), "nothing was stored")
			require.Len(t, w.Entries(), 6)

			oldOut, oldIn := a.Packets(0, false)
			require.Equal(t, "hit", a.Egress(0, oldOut.Bytes(t)).Reason)
			w.EndLeases()
			require.Equal(t, "renewed", a.LearnEgress(oldOut).Reason)
			w.BumpAll()
			require.Equal(t, "learned", a.LearnEgress(oldOut).Reason, "it replaces its void entry")
			require.Equal(t, "learned", a.LearnIngress(oldIn).Reason)

			otherOut, otherIn := b.Packets(0, false)
			require.Equal(t, "learned", b.LearnEgress(otherOut).Reason, "another Pod has its share")
			require.Equal(t, "learned", b.LearnIngress(otherIn).Reason)

			limit(w, full+2, share)
			require.False(t, a.ShareUsedUp(a.Slot), "the map is no longer nearly full")
			require.Equal(t, "learned", a.LearnEgress(newOut).Reason, "the map is no longer nearly full")
			limit(w, full, share+2)
			require.Equal(t, "learned", a.LearnIngress(newIn).Reason, "the share has grown")
		})
	}
}

// TestHalfOfARefusedConnection: TCP takes the fast path in both directions or in none.
func TestHalfOfARefusedConnection(t *testing.T) {
	w := harness.NewWorld(t)
	a := w.Pod()
	out, in := a.Packets(0, false)
	require.Equal(t, "learned", a.LearnEgress(out).Reason)
	limit(w, 1, 1)
	otherOut, otherIn := a.Packets(1, false)
	w.LimitOf(object.Egress4).Share = 2
	a.LearnIngress(in) // takes the share of ingress
	require.Equal(t, "learned", a.LearnEgress(otherOut).Reason)
	require.Equal(t, "share", a.LearnIngress(otherIn).Reason)
	require.Equal(t, "not_proved", a.Egress(0, otherOut.Bytes(t)).Reason, "its answers take the slow path")
}

// TestLostHalfNeedsNoRoom: a half that was evicted comes back to the one that is there, or TCP would stay on the fast path in one
// direction. Datagrams need no other half.
func TestLostHalfNeedsNoRoom(t *testing.T) {
	for name, c := range map[string]struct {
		udp  bool
		want string
	}{"TCP": {false, "learned"}, "UDP": {true, "share"}} {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorld(t)
			a := w.Pod()
			out, in := a.Packets(0, c.udp)
			a.Learn(out, in)
			limit(w, 1, 1)
			require.NoError(t, w.Maps.EgressFlows4.Delete(harness.Only[object.BpfOncFlow4](t, w.Maps.EgressFlows4)))
			require.Equal(t, c.want, a.LearnEgress(out).Reason)
			w.EndLeases()
			require.Equal(t, "renewed", a.LearnIngress(in).Reason)
			a.BumpAll()
			require.NoError(t, w.Maps.IngressFlows4.Delete(harness.Only[object.BpfOncFlow4](t, w.Maps.IngressFlows4)))
			require.Equal(t, "share", a.LearnIngress(in).Reason, "a void entry of the other half does not count")
		})
	}
}
