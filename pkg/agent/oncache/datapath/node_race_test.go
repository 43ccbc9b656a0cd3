// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNodeGoesWhileItsFlowsAreHit: a hit that has found the Node's generation current must find the Node's address, too. Without
// it the programs would take it for one that is reached by IPv6, and encapsulate for that with an IPv4 header.
func TestNodeGoesWhileItsFlowsAreHit(t *testing.T) {
	w := newWorld(t)
	w.learn(fromPod(), toPod())
	n := &w.nodes.elements[peerSlot]
	generation := atomic.LoadUint32(&n.Generation)
	frame := fromPod().bytes(t)
	run := newTestRun(w.objects.OncacheEgress, len(frame)+256)
	run.context.Ifindex = uint32(w.podIf)

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
			w.ClearNode(peerSlot)
			removals++
			// As it was: a generation that was over becomes current again, which no agent does.
			atomic.StoreUint32(&n.Ip4, wire4(peerIP))
			atomic.StoreUint32(&n.Mtu, 1500)
			atomic.StoreUint32(&n.Generation, generation)
		}
	}()
	corrupt := 0
	for begin := time.Now(); time.Since(begin) < time.Second; {
		require.NoError(t, run.run(frame))
		if int32(run.attr.verdict) != redirect {
			continue
		}
		hits.Add(1)
		out := run.packet()
		if len(out) != len(frame)+50 || binary.NativeEndian.Uint32(out[30:]) != wire4(peerIP) {
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
