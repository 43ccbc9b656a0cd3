// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Packets that the host forwards have the number of their ticket in skb->tc_index, which BPF_PROG_TEST_RUN neither takes nor returns.

// withTCIndex returns a program that moves a number from the first word of skb->cb to skb->tc_index, is prog, and moves the number back. It is
// prog in a function of its own, to which the other program returns; the kernel wants the type of such functions.
func withTCIndex(t testing.TB, prog *ebpf.Program) *ebpf.Program {
	t.Helper()
	next, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, next.Close()) })
	require.NoError(t, next.Put(uint32(0), uint32(prog.FD())))
	cb, index := int16(unsafe.Offsetof(SKB{}.CB)), int16(unsafe.Offsetof(SKB{}.TCIndex))
	function := func(name string, instructions ...asm.Instruction) asm.Instructions {
		returns := &btf.FuncProto{Return: &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}}
		instructions[0] = btf.WithFuncMetadata(instructions[0].WithSymbol(name), &btf.Func{Name: name, Type: returns, Linkage: btf.StaticFunc})
		return instructions
	}
	first, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: append(function("numbered",
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R6, cb, asm.Word),
		asm.StoreMem(asm.R6, index, asm.R2, asm.Word),
		asm.Call.Label("prog"),
		asm.LoadMem(asm.R2, asm.R6, index, asm.Word),
		asm.StoreMem(asm.R6, cb, asm.R2, asm.Word),
		asm.Return(),
	), function("prog",
		asm.LoadMapPtr(asm.R2, next.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	)...)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	return first
}

// RunWithTCIndex is Run for a packet with this number in skb->tc_index.
func (w *World) RunWithTCIndex(prog *ebpf.Program, ifindex int, number, mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	w.T.Helper()
	return w.Run(withTCIndex(w.T, prog), ifindex, mark, packet, append(tweak, func(s *SKB) { s.CB[0] = number })...)
}

// NumberAfter passes a packet with this number in skb->tc_index through a program, and returns the number after it.
func (w *World) NumberAfter(prog *ebpf.Program, ifindex int, number uint32, packet []byte) uint32 {
	w.T.Helper()
	var out SKB
	_, err := withTCIndex(w.T, prog).Run(&ebpf.RunOptions{
		Data: packet, DataOut: make([]byte, len(packet)+256), Context: SKB{Ifindex: uint32(ifindex), CB: [5]uint32{number}}, ContextOut: &out,
	})
	require.NoError(w.T, err)
	return out.CB[0]
}

// ReceivedOn says on which device the kernel has received a packet. In these worlds the uplink is also the gateway's interface.
func ReceivedOn(ifindex int) func(*SKB) { return func(s *SKB) { s.IngressIfindex = uint32(ifindex) } }

// TicketOf returns the number of the ticket in a mark, 0 for none.
func TicketOf(mark uint32) uint32 { return mark>>8&0x3f | mark>>16&0xf<<6 }

// EnterHost passes a packet with the mark of Open vSwitch through the gateway's Ingress-Init, and returns the number with which it continues
// through the host, the ticket's and the low bits of the epoch, 0 for none. Its mark then has no bit of ours.
func (d *Direct) EnterHost(mark uint32, packet []byte) (number uint32) {
	d.T.Helper()
	r := d.Run(d.Programs.OncacheGatewayIngressInit, d.UplinkIf, mark, packet)
	require.Equal(d.T, Next, r.Verdict)
	require.Equal(d.T, packet, r.Packet)
	require.Equal(d.T, mark&^OwnBits, r.Mark, "rules of others match marks")
	if mark&TicketBits == 0 || r.Reason != "" {
		return 0 // counted as a packet to the host
	}
	slot, epoch := TicketOf(mark), mark>>20&0x3ff
	require.Equal(d.T, uint16(epoch), d.ticket(slot).Epoch)
	return slot | epoch&0x3f<<10
}

// LeaveHost passes a packet that the host forwards with this number through Egress-Init.
func (d *Direct) LeaveHost(number, mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	d.T.Helper()
	return d.RunWithTCIndex(d.Programs.OncacheEgressInit, d.UplinkIf, number, mark, packet, append([]func(*SKB){ReceivedOn(d.UplinkIf)}, tweak...)...)
}

// ReachOVS passes a packet that the host forwards with this number through the gateway's Egress, and returns the mark with which it enters
// Open vSwitch.
func (d *Direct) ReachOVS(number uint32, packet []byte, tweak ...func(*SKB)) (mark uint32) {
	d.T.Helper()
	r := d.RunWithTCIndex(d.Programs.OncacheGatewayEgress, d.UplinkIf, number, 0, packet, append([]func(*SKB){ReceivedOn(d.UplinkIf)}, tweak...)...)
	require.Equal(d.T, Next, r.Verdict)
	return r.Mark
}

// Issued returns the number of the ticket that Ingress has issued and that no program has redeemed, or 0.
func (d *Direct) Issued() (number uint32) {
	d.T.Helper()
	for slot := range d.Maps.Tickets.MaxEntries() {
		if t := d.ticket(slot); t.Issued > 1 && t.Program == uint32(object.BpfOncProgramONC_INGRESS) {
			require.Zero(d.T, number, "two tickets")
			number = slot
		}
	}
	return number
}

func (w *World) ticket(number uint32) (t object.BpfOncTicket) {
	w.T.Helper()
	require.NoError(w.T, w.Maps.Tickets.Lookup(number, &t))
	return t
}
