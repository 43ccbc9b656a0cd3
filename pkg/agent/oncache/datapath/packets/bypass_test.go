// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestPodsOwnTunnel: the kernel encapsulates a packet only once.
func TestPodsOwnTunnel(t *testing.T) {
	w := harness.NewWorld(t)
	out := harness.FromPod()
	w.Learn(out, harness.ToPod())
	jumps, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	require.NoError(t, err)
	defer jumps.Close()
	require.NoError(t, jumps.Put(uint32(0), w.Programs.OncacheEgress))
	const fixedGSO, ipv4, udp, mac = 1, 1 << 1, 1 << 4, 1
	adjust := func(by, flags int32) asm.Instructions {
		return asm.Instructions{
			asm.Mov.Reg(asm.R1, asm.R6), asm.Mov.Imm(asm.R2, by), asm.Mov.Imm(asm.R3, mac), asm.Mov.Imm(asm.R4, flags), asm.FnSkbAdjustRoom.Call(),
		}
	}
	instructions := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	instructions = append(instructions, adjust(28, fixedGSO|ipv4|udp)...) // the state that a tunnel device leaves
	instructions = append(instructions, adjust(-28, fixedGSO)...)
	tunnel, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "own_tunnel", Type: ebpf.SchedCLS, License: "GPL", Instructions: append(instructions,
		asm.Mov.Reg(asm.R1, asm.R6), asm.LoadMapPtr(asm.R2, jumps.FD()), asm.Mov.Imm(asm.R3, 0), asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0), asm.Return())})
	require.NoError(t, err)
	defer tunnel.Close()
	r := w.Run(tunnel, w.PodIf, 0, out.Bytes(t))
	require.Equal(t, harness.Result{Verdict: harness.Next, Stamp: r.Stamp, Packet: out.Bytes(t), Reason: "offload"}, r)
}

// TestByteCounts: an entry counts frames as the Pod sends and receives them.
func TestByteCounts(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			if reason := w.Decapsulated(); reason != "hit" {
				t.Skipf("this kernel does not decapsulate %s: %s", name, reason)
			}
			out, in := w.FromPod(), w.ToPod()
			w.Learn(out, in)
			want := map[datapath.Direction]uint64{}
			for _, payload := range []int{6, 100, 500, 1300} {
				out.Payload, in.Payload = payload, payload
				require.Equal(t, "hit", w.Egress(0, out.Bytes(t)).Reason)
				require.Equal(t, w.Decapsulated(), w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t))).Reason)
				want[datapath.DirectionEgress] += uint64(len(out.Bytes(t)))
				want[datapath.DirectionIngress] += uint64(len(in.Bytes(t)))
			}
			flows := w.Entries()
			require.Len(t, flows, 2)
			for _, f := range flows {
				if f.Direction == datapath.DirectionIngress && w.Decapsulated() != "hit" {
					continue
				}
				require.EqualValues(t, 4, f.Packets, f.Direction)
				require.Equal(t, want[f.Direction], f.Bytes, f.Direction)
			}
		})
	}
}

// TestLearnThenHit walks one connection from the first packet to the fast path, in both directions.
func TestLearnThenHit(t *testing.T) {
	for name, f := range harness.Families {
		for _, udp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s udp=%v", name, udp), func(t *testing.T) { learnThenHit(t, harness.NewWorldOf(t, f), udp) })
		}
	}
}

func learnThenHit(t *testing.T, w *harness.World, udp bool) {
	out, in := w.FromPod(), w.ToPod()
	out.UDP, in.UDP = udp, udp
	out.FlowLabel, in.FlowLabel = 0x12345, 0x54321

	r := w.Egress(0, out.Bytes(t))
	require.Equal(t, "no_entry", r.Reason)
	require.NotZero(t, r.Mark&harness.TicketBits, "ticket")
	require.Zero(t, r.Mark&^harness.TicketBits, "nothing but the ticket")
	require.Empty(t, cmp.Diff(out.Bytes(t), r.Packet), "untouched")

	wire := w.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t))
	r = w.EgressInit(r.Mark|harness.Epoch<<20|1<<31, wire)
	require.Equal(t, "learned", r.Reason)
	require.Equal(t, uint32(1<<31), r.Mark, "our bits are cleared, others kept")
	require.Empty(t, cmp.Diff(wire, r.Packet), "untouched")

	if !udp {
		require.Equal(t, "not_proved", w.Egress(0, out.Bytes(t)).Reason)
	}
	require.Equal(t, "learned", w.LearnIngress(in).Reason)

	// Ingress has seen the entry of Egress, and told it.
	r = w.Egress(0, out.Bytes(t))
	require.Equal(t, "hit", r.Reason)
	require.Equal(t, harness.Redirect, r.Verdict)
	w.RequireEncapsulated(t, out, r.Packet)

	r = w.Ingress(0, w.FromPeer().Wrap(t, in.Bytes(t)))
	require.Equal(t, w.Decapsulated(), r.Reason)
	if r.Reason != "hit" {
		require.Equal(t, harness.Next, r.Verdict)
		require.Empty(t, cmp.Diff(w.FromPeer().Wrap(t, in.Bytes(t)), r.Packet), "untouched")
		return
	}
	require.Equal(t, harness.Redirect, r.Verdict)
	require.Zero(t, r.Mark)
	require.Empty(t, cmp.Diff(in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t), r.Packet), "as Open vSwitch would have delivered it")

	flows := w.Entries()
	require.Len(t, flows, 2)
	for _, f := range flows {
		require.True(t, f.Active())
		require.EqualValues(t, 1, f.Packets)
		if f.Direction == datapath.DirectionEgress {
			require.Equal(t, netip.AddrPortFrom(out.Src, out.SrcPort), f.Source)
			require.Equal(t, netip.AddrPortFrom(out.Dst, out.DstPort), f.Destination)
		}
	}
}

// TestECN compares both directions with RFC 6040 as the kernel's tunnels implement it; DSCP stays the Pod's.
func TestECN(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) { ecn(t, harness.NewWorldOf(t, f)) })
	}
}

func ecn(t *testing.T, w *harness.World) {
	for tos := range 256 {
		out, in := w.FromPod(), w.ToPod()
		out.ToS, in.ToS = uint8(tos), uint8(tos)
		out.SrcPort, in.DstPort = uint16(1000+tos), uint16(1000+tos)
		w.Learn(out, in)
		r := w.Egress(0, out.Bytes(t))
		require.Equal(t, "hit", r.Reason)
		w.RequireEncapsulated(t, out, r.Packet)
		for ecn := range uint8(4) {
			o := w.FromPeer()
			o.ToS = ecn
			r := w.Ingress(0, o.Wrap(t, in.Bytes(t)))
			want := in.BehindOVS(harness.GatewayMAC, harness.PodMAC)
			switch inner := uint8(tos) & 3; {
			case inner == 0 && ecn != 0, ecn == 1 && inner == 2:
				require.Equal(t, "ecn", r.Reason, "tos %#x outer %d", tos, ecn)
				continue
			case ecn == 3:
				want.ToS |= 3
			}
			require.Equal(t, w.Decapsulated(), r.Reason, "tos %#x outer %d", tos, ecn)
			if r.Reason != "hit" {
				continue
			}
			require.Empty(t, cmp.Diff(want.Bytes(t), r.Packet), "tos %#x outer %d", tos, ecn)
		}
	}
}
