// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"net"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

const (
	// pauseType is an EtherType for experiments (IEEE Std 802, Local Experimental EtherType 1), which no protocol takes.
	pauseType = 0x88b5
	// pauseTicks is the number of kernel ticks that begin during a pause: at least one is complete.
	pauseTicks = 2
	// pauseLimit is more often than the clock can be read during a pause, and the most that bpf_loop does (BPF_MAX_LOOPS).
	pauseLimit = 1 << 23
)

// pauseFrame is a frame behind which a device stands still.
func pauseFrame() []byte { return append(make([]byte, 12), pauseType>>8, pauseType&0xff) }

// standStill makes a device stand still after each pauseFrame that it receives, for pauseTicks. The packets that follow are of a later time,
// although they have arrived with the others. It is the filter of a packet socket, which runs before Ingress.
func standStill(t testing.TB, in *proc.Thread, device string) {
	t.Helper()
	number := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	function := func(name string, linkage btf.FuncLinkage, parameters ...btf.FuncParam) *btf.Func {
		return &btf.Func{Name: name, Linkage: linkage, Type: &btf.FuncProto{Return: number, Params: parameters}}
	}
	pointer := &btf.Pointer{Target: (*btf.Void)(nil)}
	filter := function("pause", btf.GlobalFunc, btf.FuncParam{Name: "skb", Type: pointer})
	wait := function("wait", btf.StaticFunc, btf.FuncParam{Name: "i", Type: number}, btf.FuncParam{Name: "end", Type: pointer})
	const packetProtocol = 16 // offset in struct __sk_buff
	packetFilter(t, in, device, asm.Instructions{
		btf.WithFuncMetadata(asm.LoadMem(asm.R2, asm.R1, packetProtocol, asm.Word), filter).WithSymbol(filter.Name),
		asm.JNE.Imm(asm.R2, int32(object.WirePort(pauseType)), "out"),
		asm.FnJiffies64.Call(),
		asm.Add.Imm(asm.R0, pauseTicks),
		asm.StoreMem(asm.RFP, -8, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R1, pauseLimit),
		asm.Instruction{OpCode: asm.LoadImmOp(asm.DWord), Dst: asm.R2, Src: asm.PseudoFunc, Constant: -1}.WithReference(wait.Name),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -8),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnLoop.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
		// Whether the end has come.
		btf.WithFuncMetadata(asm.Mov.Reg(asm.R6, asm.R2), wait).WithSymbol(wait.Name),
		asm.FnJiffies64.Call(),
		asm.LoadMem(asm.R1, asm.R6, 0, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.R0),
		asm.Mov.Imm(asm.R0, 1),
		asm.JGE.Reg(asm.R2, asm.R1, "over"),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return().WithSymbol("over"),
	})
}

// packetFilter runs a program on the packets of a device, as the filter of a packet socket that lives as long as the test. It must take none.
func packetFilter(t testing.TB, in *proc.Thread, device string, instructions asm.Instructions) {
	t.Helper()
	filter, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "filter", Type: ebpf.SocketFilter, License: "GPL", Instructions: instructions})
	require.NoError(t, err)
	t.Cleanup(func() { filter.Close() })
	require.NoError(t, in.Do(func() error {
		i, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ATTACH_BPF, filter.FD()); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: i.Index, Protocol: object.WirePort(unix.ETH_P_ALL)})
	}))
}
