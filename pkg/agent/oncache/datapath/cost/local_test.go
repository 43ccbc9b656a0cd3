// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestLocalHitIsCheaper: a hit from one Pod of the Node to another costs less than one to another Node, which needs room for the outer
// header. The kernel times the runs, which take turns, so that the load on the machine is the same for both; medians are compared.
func TestLocalHitIsCheaper(t *testing.T) {
	w := harness.NewWorld(t)
	own, peer := w.LocalPeer()
	there, back := own.To(peer, false)
	own.LearnTo(peer, there)
	peer.LearnTo(own, back)
	w.Learn(w.FromPod(), w.ToPod())
	w.Control().Lease = 1 << 32
	w.KeepLeases()
	empty, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	require.NoError(t, err)
	defer empty.Close()
	runs := []*harness.TestRun{harness.NewTestRun(empty, 0), harness.NewTestRun(w.Programs.OncacheEgress, 0), harness.NewTestRun(w.Programs.OncacheEgress, 0)}
	packets := [][]byte{there.Bytes(t), there.Bytes(t), w.FromPod().Bytes(t)}
	times := make([][]uint32, len(runs))
	for range 3000 {
		for i, r := range runs {
			r.Context = harness.SKB{Ifindex: uint32(w.PodIf)}
			require.NoError(t, r.Run(packets[i]))
			require.Equal(t, i > 0, r.Verdict() == harness.Redirect)
			times[i] = append(times[i], r.Duration())
		}
	}
	var median [3]int
	for i := range times {
		slices.Sort(times[i])
		median[i] = int(times[i][len(times[i])/2])
	}
	local, remote := median[1]-median[0], median[2]-median[0]
	t.Logf("beyond an empty program: %d ns to a Pod of this Node, %d ns to another Node", local, remote)
	require.Less(t, local, remote)
}
