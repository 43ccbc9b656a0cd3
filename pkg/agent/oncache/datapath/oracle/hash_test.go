// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestHashOfTheFlow: the kernel's hash of a flow, on which the outer source port depends, is kept with the entry if packets come
// without one, so that it need not be computed again. Otherwise it is not kept.
func TestHashOfTheFlow(t *testing.T) {
	const before, kernels, own = 0x11111111, 0x22222222, 0x33333333
	for _, c := range []struct {
		name          string
		six           bool
		before, known uint32
	}{
		{"packets without a hash", false, 0, kernels},
		{"packets with the hash of a socket", false, before, 0},
		{"IPv6, whose flow label counts", true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFuzzWorld(t)
			w.Family.Inner6 = c.six
			w.Control().Lease = 1 << 32 // a young datagram probes after a sixteenth of it, which a busy machine may take between two packets
			out, in := w.FromPod(), w.ToPod()
			out.UDP, in.UDP = true, true
			send := func(r *harness.TestRun, ifindex int, mark, hash uint32, packet []byte) {
				r.Context = harness.SKB{Ifindex: uint32(ifindex), Mark: mark}
				r.Context.CB[cbHash] = hash
				require.NoError(t, r.Run(packet))
			}
			for range 2 {
				send(w.egressRun, w.PodIf, 0, c.before, out.Bytes(t))
			}
			wire := w.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
			send(w.egressInitRun, w.UplinkIf, harness.Unstamped(w.egressRun.ContextOut.Mark)|harness.Epoch<<20, kernels, wire)
			require.Equal(t, "learned", w.LearnIngress(in).Reason)
			require.Equal(t, c.known, knownHash(w.World, t, out))

			for _, hash := range []uint32{0, own} {
				send(w.egressRun, w.PodIf, 0, hash, out.Bytes(t))
				require.Equal(t, harness.Redirect, w.egressRun.Verdict())
				want := hash
				if hash == 0 {
					want = c.known
				}
				folded := want ^ want<<16
				require.Equal(t, 1+uint16(uint64(folded)*(65535-1)>>32), binary.BigEndian.Uint16(w.egressRun.Packet()[14+20:]), "source port")
			}

			if c.six {
				return
			}
			// After the lease, the other kind of packets comes, and the entry follows.
			w.EndLeases()
			send(w.egressRun, w.PodIf, 0, before-c.before, out.Bytes(t))
			send(w.egressInitRun, w.UplinkIf, harness.Unstamped(w.egressRun.ContextOut.Mark)|harness.Epoch<<20, kernels, wire)
			require.Equal(t, kernels-c.known, knownHash(w.World, t, out), "after the entry was renewed")
		})
	}
}

// knownHash returns the hash in the entry of a packet from the Pod.
func knownHash(w *harness.World, t *testing.T, p harness.Packet) uint32 {
	t.Helper()
	if p.Src.Is6() {
		var entry object.BpfOncEgress
		require.NoError(t, w.Maps.EgressFlows6.Lookup(harness.Only[object.BpfOncFlow6](t, w.Maps.EgressFlows6), &entry))
		return entry.V.Hash
	}
	var entry object.BpfOncEgress4
	require.NoError(t, w.Maps.EgressFlows4.Lookup(harness.Only[object.BpfOncFlow4](t, w.Maps.EgressFlows4), &entry))
	return entry.V.Hash
}
