// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestNodeGoesWhileItsFlowsAreHit: a hit that has found the Node's generation current must also find the Node's address. Without an IPv4
// address the programs would consider the Node one with IPv6, and encapsulate for that with an IPv4 header.
func TestNodeGoesWhileItsFlowsAreHit(t *testing.T) {
	w := harness.NewWorld(t)
	w.Learn(harness.FromPod(), harness.ToPod())
	n := w.NodeAt(harness.PeerSlot)
	generation := atomic.LoadUint32(&n.Generation)
	frame := harness.FromPod().Bytes(t)
	run := harness.NewTestRun(w.Programs.OncacheEgress, len(frame)+256)
	run.Context.Ifindex = uint32(w.PodIf)

	var hits atomic.Uint32
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		removals := 0
		defer func() { stopped <- removals }()
		for {
			for seen := hits.Load(); hits.Load() == seen; { // until hits are being made
				select {
				case <-stop:
					return
				default:
				}
			}
			w.ClearNode(harness.PeerSlot)
			removals++
			// Restore the Node: a void generation becomes current again, which no agent does.
			atomic.StoreUint32(&n.Ip4, object.Wire4(harness.PeerIP))
			atomic.StoreUint32(&n.Mtu, 1500)
			atomic.StoreUint32(&n.Generation, generation)
		}
	}()
	corrupt := 0
	for begin := time.Now(); time.Since(begin) < time.Second; {
		require.NoError(t, run.Run(frame))
		if run.Verdict() != harness.Redirect {
			continue
		}
		hits.Add(1)
		out := run.Packet()
		if len(out) != len(frame)+50 || binary.NativeEndian.Uint32(out[30:]) != object.Wire4(harness.PeerIP) {
			corrupt++
		}
	}
	close(stop)
	removals := <-stopped
	t.Logf("%d hits, %d removals, %d corrupt packets", hits.Load(), removals, corrupt)
	require.NotZero(t, hits.Load())
	require.Positive(t, removals)
	require.Zero(t, corrupt)
}
