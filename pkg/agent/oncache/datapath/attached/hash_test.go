// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// TestHashStaysWithThePacket: a packet that Egress has sent still has its hash, by which the kernel chooses the device's queue.
func TestHashStaysWithThePacket(t *testing.T) {
	const known = 0x22222222
	if harness.Minor(t, harness.KernelRelease(t)) < 6006 {
		t.Skip("the program that reads the hash is attached with TCX, which came with Linux 6.6")
	}
	w, pod, _ := newLiveWorld(t)
	out := harness.FromPod()
	w.Learn(out, harness.ToPod())
	w.ChangeEntries(func(v *object.BpfOncValidity) { v.Hash = known })

	seen, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	require.NoError(t, err)
	t.Cleanup(func() { seen.Close() })
	const hash = 68 // offset in struct __sk_buff
	reader, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "reader", Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R3, asm.R1, hash, asm.Word),
		asm.LoadMapValue(asm.R2, seen.FD(), 0),
		asm.StoreMem(asm.R2, 0, asm.R3, asm.Word),
		asm.Mov.Imm(asm.R0, harness.Next),
		asm.Return(),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { reader.Close() })
	attachTCX(t, w.UplinkIf, reader, ebpf.AttachTCXEgress)

	require.NoError(t, unix.Send(pod, append(make([]byte, virtioHeader), out.Bytes(t)...), 0))
	require.Eventually(t, func() bool {
		var got uint32
		err := seen.Lookup(uint32(0), &got)
		return err == nil && got == known
	}, 10*time.Second, 10*time.Millisecond, "no packet with the hash has left")
}
