// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
)

const (
	// pollWeight is the number of frames that a device passes to the stack in one turn (NAPI_POLL_WEIGHT in include/linux/netdevice.h).
	pollWeight = 64
	// maxBurst is less than a veth device takes before it drops, which is 256 (VETH_RING_SIZE in drivers/net/veth.c) or a little less: the ring
	// frees places that have become empty only several at a time (__ptr_ring_discard_one in include/linux/ptr_ring.h).
	maxBurst = 3 * pollWeight

	maxBurstFrame = 256
	liveFrames    = 1 << 1 // BPF_F_TEST_XDP_LIVE_FRAMES
	xdpDrop       = 1
)

// bursts sends frames to a Node at once: softirqs wait until all of them are in the queue of the Node's uplink, as when a network card
// has received them.
type bursts struct {
	from *nodepair.Node
	// program is an XDP program that the kernel runs on a blank frame for each frame to send. It overwrites the frame by the next one of
	// frames and redirects it to the uplink of the sending Node, so that the other Node receives it.
	program      *ebpf.Program
	frames, next *ebpf.Map
	uplink       uint32
}

// burstFrame is an element of frames: how much shorter than a blank frame the frame is, as a number of at most 0, and the frame.
type burstFrame struct {
	Delta int32
	Data  [maxBurstFrame]byte
}

// newBursts makes bursts from a Node to its peer, whose uplink queues frames only while it has GRO (veth_xdp_xmit in drivers/net/veth.c).
func newBursts(t testing.TB, from, to *routerNode) *bursts {
	t.Helper()
	if harness.Minor(t, harness.KernelRelease(t)) < 5018 {
		t.Skip("the kernel lets XDP programs send frames that do not come from a device from Linux 5.18 on")
	}
	require.NoError(t, nodepair.Run(to.Host, "ethtool -K up0 gro on"))
	standStill(t, to.Host, nodepair.Uplink)
	b := &bursts{from: from.Node}
	var err error
	b.frames, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(binary.Size(burstFrame{})), MaxEntries: maxBurst})
	require.NoError(t, err)
	t.Cleanup(func() { b.frames.Close() })
	b.next, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	require.NoError(t, err)
	t.Cleanup(func() { b.next.Close() })
	require.NoError(t, from.Host.Do(func() error {
		i, err := net.InterfaceByName(nodepair.Uplink)
		if err == nil {
			b.uplink = uint32(i.Index)
		}
		return err
	}))
	b.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "burst", Type: ebpf.XDP, License: "GPL", Instructions: b.instructions()})
	require.NoError(t, err)
	t.Cleanup(func() { b.program.Close() })
	return b
}

func (b *bursts) instructions() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		// The number of the frame, which is counted up.
		asm.LoadMapValue(asm.R1, b.next.FD(), 0),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word),
		asm.StoreMem(asm.RFP, -4, asm.R2, asm.Word),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.Word),
		asm.LoadMapPtr(asm.R1, b.frames.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "drop"),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Reg(asm.R3, asm.R7),
		asm.Add.Imm(asm.R3, 4),
		asm.Mov.Imm(asm.R4, maxBurstFrame),
		asm.FnXdpStoreBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "drop"),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMem(asm.R2, asm.R7, 0, asm.Word),
		asm.FnXdpAdjustTail.Call(),
		asm.JNE.Imm(asm.R0, 0, "drop"),
		asm.Mov.Imm(asm.R1, int32(b.uplink)),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
		asm.Mov.Imm(asm.R0, xdpDrop).WithSymbol("drop"),
		asm.Return(),
	}
}

// send sends frames, in order, as one burst.
func (b *bursts) send(t testing.TB, frames [][]byte) {
	t.Helper()
	require.LessOrEqual(t, len(frames), maxBurst)
	keys, values := make([]uint32, len(frames)), make([]burstFrame, len(frames))
	for i, f := range frames {
		require.LessOrEqual(t, len(f), maxBurstFrame)
		keys[i], values[i].Delta = uint32(i), int32(len(f)-maxBurstFrame)
		copy(values[i].Data[:], f)
	}
	_, err := b.frames.BatchUpdate(keys, values, nil)
	require.NoError(t, err)
	require.NoError(t, b.next.Put(uint32(0), uint32(0)))
	// struct xdp_md: data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex.
	blank := make([]byte, 24)
	binary.NativeEndian.PutUint32(blank[4:], maxBurstFrame)
	binary.NativeEndian.PutUint32(blank[12:], b.uplink)
	require.NoError(t, b.from.Host.Do(func() error {
		_, err := b.program.Run(&ebpf.RunOptions{
			Data: make([]byte, maxBurstFrame), Context: blank, Repeat: uint32(len(frames)), BatchSize: maxBurst, Flags: liveFrames,
		})
		return err
	}))
}
