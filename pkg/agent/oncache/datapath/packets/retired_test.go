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

// counted returns what the ring buffer says of entries that are gone: packets and bytes by direction.
func counted(t *testing.T, w *harness.World) (all map[datapath.Direction][2]uint64) {
	t.Helper()
	retired, err := harness.Retired(w.Datapath)
	require.NoError(t, err)
	all = map[datapath.Direction][2]uint64{}
	for _, r := range retired {
		require.NotContains(t, all, r.Direction, "each entry once")
		require.NotZero(t, r.Created)
		all[r.Direction] = [2]uint64{r.Packets, r.Bytes}
	}
	return all
}

// Counts of entries are reported when their connection ends, whichever side ends it; entries without packets are not reported.
func TestRetiredWithTheirConnection(t *testing.T) {
	for _, ending := range []string{"egress", "ingress"} {
		t.Run(ending, func(t *testing.T) {
			w := harness.NewWorld(t)
			w.Learn(harness.FromPod(), harness.ToPod())
			sent, received := harness.FromPod().Bytes(t), harness.ToPod().Bytes(t)
			for range 3 {
				require.Equal(t, "hit", w.Egress(0, sent).Reason)
			}
			require.Equal(t, "hit", w.Ingress(0, harness.FromPeer().Wrap(t, received)).Reason)
			require.Empty(t, counted(t, w), "they continue")
			fin := harness.FromPod()
			if ending == "ingress" {
				fin = harness.ToPod()
			}
			fin.Flags = "F"
			if ending == "egress" {
				require.Equal(t, "tcp_flags", w.Egress(0, fin.Bytes(t)).Reason)
			} else {
				require.Equal(t, "tcp_flags", w.Ingress(0, harness.FromPeer().Wrap(t, fin.Bytes(t))).Reason)
			}
			require.Equal(t, map[datapath.Direction][2]uint64{
				datapath.DirectionEgress: {3, 3 * uint64(len(sent))}, datapath.DirectionIngress: {1, uint64(len(received))},
			}, counted(t, w))
			w.Learn(harness.FromPod(), harness.ToPod())
			if ending == "egress" {
				w.Egress(0, fin.Bytes(t))
			} else {
				w.Ingress(0, harness.FromPeer().Wrap(t, fin.Bytes(t)))
			}
			require.Empty(t, counted(t, w), "no packet was counted")
		})
	}
}

// Counts of entries are reported when the entries are replaced, under the addresses by which conntrack knows the connection.
func TestRetiredWhenReplaced(t *testing.T) {
	eachService(t, func(t *testing.T, w *harness.World, e harness.Exchange) {
		w.LearnExchange(e)
		w.KeepLeases()
		require.Equal(t, "hit", w.Egress(0, e.Sent.Bytes(t)).Reason)
		w.Ingress(0, w.FromPeer().Wrap(t, e.Received.Bytes(t)))
		want := map[datapath.Retired]bool{}
		for _, f := range w.Entries() {
			if f.Packets == 0 {
				continue // this kernel cannot decapsulate the packet
			}
			source, destination := f.Sent()
			want[datapath.Retired{
				Source: source, Destination: destination, Protocol: f.Protocol, Direction: f.Direction, Packets: 1, Bytes: f.Bytes, Created: f.Created,
			}] = true
		}
		require.NotEmpty(t, want)
		w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) { v.EndpointGen-- })
		w.LearnExchange(e)
		retired, err := harness.Retired(w.Datapath)
		require.NoError(t, err)
		for _, r := range retired {
			require.True(t, want[r], "%+v is not in %+v", r, want)
			delete(want, r)
		}
		require.Empty(t, want)
	})
}

// The agent tells of what it removes itself.
func TestRetiredByTheAgent(t *testing.T) {
	w := harness.NewWorld(t)
	var removed []datapath.Retired
	w.Datapath.OnRemoved(func(r datapath.Retired) { removed = append(removed, r) })
	w.Learn(harness.FromPod(), harness.ToPod())
	require.Equal(t, "hit", w.Egress(0, harness.FromPod().Bytes(t)).Reason)
	f := w.Entries()[0]
	source, destination := f.Sent()
	require.NoError(t, w.Datapath.DeleteFlow(f.Protocol, source, destination, destination))
	require.Len(t, removed, 1, "the other direction has counted nothing")
	require.Equal(t, source, removed[0].Source)
	require.Equal(t, destination, removed[0].Destination)
	require.EqualValues(t, 1, removed[0].Packets)
	require.Equal(t, datapath.DirectionEgress, removed[0].Direction)
	require.Empty(t, w.Entries())
}
