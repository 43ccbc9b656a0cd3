// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// contents prints all entries of a map.
func contents(t *testing.T, m *ebpf.Map) (all []string) {
	if m.Type() == ebpf.PerCPUArray {
		var key uint32
		var values [][]byte
		for entries := m.Iterate(); entries.Next(&key, &values); {
			all = append(all, fmt.Sprint(key, values))
		}
		return all
	}
	var key, value []byte
	entries := m.Iterate()
	for entries.Next(&key, &value) {
		all = append(all, fmt.Sprint(key, value))
	}
	require.NoError(t, entries.Err())
	return all
}

// TestEmptyMapsAreAsNewOnes: the next test would see entries that are left.
func TestEmptyMapsAreAsNewOnes(t *testing.T) {
	sandbox.RequireRoot(t)
	pins := filepath.Join(sandbox.BPFFS, t.Name(), "oncache")
	d, err := datapath.Load(datapath.Options{PinPath: pins, MaxFlows: 4096})
	RequireVerified(t, err)
	in := Look(t, pins)
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, d.Close())
	})
	require.NotZero(t, in.Control().KeysFrom, "new maps give no keys yet")
	require.NotContains(t, in.Control().Secrets, uint64(0), "which flows share places is secret")
	in.Control().KeysFrom, in.Control().Now, in.Control().Secrets = 0, 0, [10]uint64{} // worlds do not wait, and have the same secrets
	before := map[*ebpf.Map][]string{}
	for _, m := range mapsOf(in) {
		before[m] = contents(t, m)
		key := make([]byte, m.KeySize())
		if m.Type() == ebpf.LPMTrie {
			key[0] = 8 // bits
		}
		require.NoError(t, m.Put(key, filled(m, 1)), "%v", m)
		require.NotEqual(t, before[m], contents(t, m), "%v", m)
	}
	require.NoError(t, empty(d, in))
	for m, contentsBefore := range before {
		require.Equal(t, contentsBefore, contents(t, m), "%v", m)
	}
}
