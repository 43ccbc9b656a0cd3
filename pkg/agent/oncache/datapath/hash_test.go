// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
			send(w.egressInitRun, w.upIf, unstamped(w.egressRun.contextOut.Mark)|epoch<<20, kernels, wire)
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

			if c.six {
				return
			}
			// A lease later packets come the other way, and the entry follows.
			w.expire()
			send(w.egressRun, w.podIf, 0, before-c.before, out.bytes(t))
			send(w.egressInitRun, w.upIf, unstamped(w.egressRun.contextOut.Mark)|epoch<<20, kernels, wire)
			require.Equal(t, kernels-c.known, w.knownHash(t, out), "after the entry was renewed")
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

// TestHashStaysWithThePacket: the kernel, which chooses the device's queue by it, finds the hash in a packet that Egress has sent.
func TestHashStaysWithThePacket(t *testing.T) {
	const known = 0x22222222
	if minor(t, kernelRelease(t)) < 6006 {
		t.Skip("the program that reads the hash is attached with TCX, which came with Linux 6.6")
	}
	w, pod, _ := newLiveWorld(t)
	out := fromPod()
	w.learn(out, toPod())
	w.changeEntries(func(v *bpfOncValidity) { v.Hash = known })

	seen, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	require.NoError(t, err)
	t.Cleanup(func() { seen.Close() })
	const hash = 68 // offset in struct __sk_buff
	reader, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "reader", Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R3, asm.R1, hash, asm.Word),
		asm.LoadMapValue(asm.R2, seen.FD(), 0),
		asm.StoreMem(asm.R2, 0, asm.R3, asm.Word),
		asm.Mov.Imm(asm.R0, next),
		asm.Return(),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { reader.Close() })
	attachTCX(t, w.upIf, reader, ebpf.AttachTCXEgress)

	require.NoError(t, unix.Send(pod, append(make([]byte, virtioHeader), out.bytes(t)...), 0))
	require.Eventually(t, func() bool {
		var got uint32
		require.NoError(t, seen.Lookup(uint32(0), &got))
		return got == known
	}, 10*time.Second, 10*time.Millisecond, "no packet with the hash has left")
}
