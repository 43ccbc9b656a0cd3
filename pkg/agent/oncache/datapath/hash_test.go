// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHashOfTheFlow: the kernel's hash of a flow, on which the outer source port depends, is kept with the entry when packets come
// without one, so that it need not be computed again; and only then.
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
			w.family.inner6 = c.six
			out, in := w.fromPod(), w.toPod()
			out.udp, in.udp = true, true
			send := func(r *testRun, ifindex int, mark, hash uint32, packet []byte) {
				r.context = skb{Ifindex: uint32(ifindex), Mark: mark}
				r.context.CB[cbHash] = hash
				require.NoError(t, r.run(packet))
			}
			for range 2 {
				send(w.egressRun, w.podIf, 0, c.before, out.bytes(t))
			}
			wire := w.toPeer().wrap(t, out.behindOVS(gatewayMAC, virtualMAC).bytes(t))
			send(w.egressInitRun, w.upIf, w.egressRun.contextOut.Mark|epoch<<20, kernels, wire)
			require.Equal(t, "learned", w.learnIngress(in).reason)
			require.Equal(t, c.known, w.knownHash(t, out))

			for _, hash := range []uint32{0, own} {
				send(w.egressRun, w.podIf, 0, hash, out.bytes(t))
				require.Equal(t, redirect, int(int32(w.egressRun.attr.verdict)))
				want := hash
				if hash == 0 {
					want = c.known
				}
				folded := want ^ want<<16
				require.Equal(t, 1+uint16(uint64(folded)*(65535-1)>>32), binary.BigEndian.Uint16(w.egressRun.packet()[14+20:]), "source port")
			}
		})
	}
}

// knownHash reads the hash that the entry of a packet sent by the Pod has.
func (w *world) knownHash(t *testing.T, p packet) uint32 {
	t.Helper()
	var entry bpfOncEgress
	if p.src.Is6() {
		require.NoError(t, w.objects.EgressFlows6.Lookup(only[bpfOncFlow6](t, w.objects.EgressFlows6), &entry))
	} else {
		require.NoError(t, w.objects.EgressFlows4.Lookup(only[bpfOncFlow4](t, w.objects.EgressFlows4), &entry))
	}
	return entry.V.Hash
}
