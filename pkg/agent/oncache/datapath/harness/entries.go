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
	var egress object.BpfOncEgress
	for it := w.Maps.EgressFlows4.Iterate(); it.Next(&key, &egress); {
		change(&egress.V)
		require.NoError(w.T, w.Maps.EgressFlows4.Put(key, egress))
	}
	var ingress object.BpfOncIngress
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
	changeAll[object.BpfOncFlow4](w.T, w.Maps.EgressFlows4, func(e *object.BpfOncEgress) { e.V.Lease = 1 })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.EgressFlows6, func(e *object.BpfOncEgress) { e.V.Lease = 1 })
	changeAll[object.BpfOncFlow4](w.T, w.Maps.IngressFlows4, func(e *object.BpfOncIngress) { e.V.Lease = 1 })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.IngressFlows6, func(e *object.BpfOncIngress) { e.V.Lease = 1 })
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

// KeepLeases makes all leases last until a time in ticks.
func (w *World) KeepLeases(until uint64) {
	changeAll[object.BpfOncFlow4](w.T, w.Maps.EgressFlows4, func(e *object.BpfOncEgress) { e.V.Lease = until })
	changeAll[object.BpfOncFlow4](w.T, w.Maps.IngressFlows4, func(e *object.BpfOncIngress) { e.V.Lease = until })
}
