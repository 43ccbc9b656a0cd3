// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Only returns the key of the map's only entry.
func Only[K any](t *testing.T, m *ebpf.Map) (key K) {
	require.NoError(t, m.NextKey(nil, &key))
	return key
}

// ChangeEntries changes all IPv4 entries.
func (w *World) ChangeEntries(change func(*object.BpfOncValidity)) {
	var key object.BpfOncFlow4
	var egress object.BpfOncEgress4
	for it := w.Maps.EgressFlows4.Iterate(); it.Next(&key, &egress); {
		change(&egress.V)
		require.NoError(w.T, w.Maps.EgressFlows4.Put(key, egress))
	}
	var ingress object.BpfOncIngress4
	for it := w.Maps.IngressFlows4.Iterate(); it.Next(&key, &ingress); {
		change(&ingress.V)
		require.NoError(w.T, w.Maps.IngressFlows4.Put(key, ingress))
	}
}

// Entries returns all entries of the cache.
func (w *World) Entries() (out []datapath.Flow) {
	require.NoError(w.T, w.Flows(func(f datapath.Flow) bool { out = append(out, f); return true }))
	return out
}

// EndLeases ends all leases, for both IP versions and any number of flows.
func (w *World) EndLeases() {
	w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) { v.Lease = 1 })
}

// KeepLeases makes all leases outlast the test: leases of young datagrams cause a probe every 300 ms.
func (w *World) KeepLeases() {
	w.ChangeValidities(func(_ datapath.Direction, v *object.BpfOncValidity) { v.Lease = 1 << 62 })
}

// changeAll changes all entries, after it has read all of them: writing an entry moves it to another place.
func changeAll[K comparable, V any](t testing.TB, m *ebpf.Map, change func(*V)) {
	entries := map[K]V{}
	var key K
	var value V
	all := m.Iterate()
	for all.Next(&key, &value) {
		entries[key] = value
	}
	require.NoError(t, all.Err())
	for k, v := range entries {
		change(&v)
		require.NoError(t, m.Put(k, v))
	}
}

// ChangeValidities changes all entries, by their direction.
func (w *World) ChangeValidities(change func(datapath.Direction, *object.BpfOncValidity)) {
	changeAll[object.BpfOncFlow4](w.T, w.Maps.EgressFlows4, func(e *object.BpfOncEgress4) { change(datapath.DirectionEgress, &e.V) })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.EgressFlows6, func(e *object.BpfOncEgress) { change(datapath.DirectionEgress, &e.V) })
	changeAll[object.BpfOncFlow4](w.T, w.Maps.IngressFlows4, func(e *object.BpfOncIngress4) { change(datapath.DirectionIngress, &e.V) })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.IngressFlows6, func(e *object.BpfOncIngress) { change(datapath.DirectionIngress, &e.V) })
}

// ChangeSeen changes what all entries have recorded of their last packets.
func (w *World) ChangeSeen(change func(*object.BpfOncSeen)) {
	changeAll[object.BpfOncFlow4](w.T, w.Maps.EgressFlows4, func(e *object.BpfOncEgress4) { change(&e.Seen) })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.EgressFlows6, func(e *object.BpfOncEgress) { change(&e.Seen) })
	changeAll[object.BpfOncFlow4](w.T, w.Maps.IngressFlows4, func(e *object.BpfOncIngress4) { change(&e.Seen) })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.IngressFlows6, func(e *object.BpfOncIngress) { change(&e.Seen) })
}
