// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestDropped: no packet can be counted as dropped, so the test counts some itself, in each program under the number of its name.
func TestDropped(t *testing.T) {
	w := harness.NewWorld(t)
	reasons, err := datapath.Reasons()
	require.NoError(t, err)
	programs, err := datapath.Programs()
	require.NoError(t, err)
	cpus, err := ebpf.PossibleCPU()
	require.NoError(t, err)
	for i := range len(programs) * len(reasons) {
		counts := make([]uint64, cpus)
		counts[cpus-1] = 1000
		if reasons[i%len(reasons)] == "dropped" {
			counts[cpus-1] = 1
		}
		require.NoError(t, w.Maps.Counters.Put(uint32(i), counts))
	}
	dropped, err := w.Dropped()
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{"egress": 1, "ingress": 1}, dropped, "Egress and Ingress alone change packets")
}
