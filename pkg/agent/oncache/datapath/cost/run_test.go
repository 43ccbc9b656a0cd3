// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// subject is a program whose cost is measured, with the packets that it gets.
type subject struct {
	name   string
	run    *harness.TestRun
	packet []byte
	// flow turns packet into one of flow n.
	flow func(packet []byte, n uint32)
	// runs[i] is the median of a batch in round i, in ns by the kernel's own clock. It includes reading the clock and the prelude, but
	// not the system call and the copying of the packet.
	runs []float64
}

// scenario says how subjects are run.
type scenario struct {
	// flows is the number of flows; each run draws one of them.
	flows uint32
	// batch is the number of runs of a subject before the next one's turn; the first warmUp runs are not counted.
	batch, warmUp int
	// rounds is the number of turns of each subject.
	rounds int
}

func (sc *scenario) measure(t *testing.T, subjects []*subject) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	draw := rand.New(rand.NewPCG(1, 2))
	samples := make([]float64, sc.batch)
	for range sc.rounds {
		for _, s := range subjects {
			for i := range samples {
				if s.flow != nil {
					s.flow(s.packet, draw.Uint32N(sc.flows))
				}
				require.NoError(t, s.run.Run(s.packet))
				samples[i] = float64(s.run.Duration())
			}
			s.runs = append(s.runs, median(samples[sc.warmUp:]))
		}
	}
}

func median(x []float64) float64 { return quantile(x, 0.5) }

func quantile(x []float64, q float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[int(q*float64(len(x)-1))]
}

// instrument makes subjects.
type instrument struct {
	t     *testing.T
	jumps *ebpf.Map
	n     uint32
}

func newInstrument(t *testing.T) *instrument {
	jumps, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 16})
	require.NoError(t, err)
	t.Cleanup(func() { jumps.Close() })
	return &instrument{t: t, jumps: jumps}
}

func (in *instrument) load(name string, instructions asm.Instructions) *ebpf.Program {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: name, Type: ebpf.SchedCLS, Instructions: instructions, License: "GPL"})
	require.NoError(in.t, err)
	in.t.Cleanup(func() { p.Close() })
	return p
}

// subject runs p as a hook of the interface would, behind a prelude.
func (in *instrument) subject(name string, p *ebpf.Program, ifindex int, packet []byte, flow func([]byte, uint32)) *subject {
	s := &subject{name: name, run: harness.NewTestRun(in.prelude(p), 0), packet: slices.Clone(packet), flow: flow}
	s.run.Context.Ifindex = uint32(ifindex)
	return s
}

// prelude returns a program that gives a packet a flow hash, and passes it to p. A packet from a Pod's socket has one. A packet from
// BPF_PROG_TEST_RUN has none, and the cost of Egress would include the kernel's flow dissector.
func (in *instrument) prelude(p *ebpf.Program) *ebpf.Program {
	n := in.n
	in.n++
	require.NoError(in.t, in.jumps.Put(n, p))
	return in.load("prelude", asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Imm(asm.R2, 0x12345),
		asm.FnSetHash.Call(),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMapPtr(asm.R2, in.jumps.FD()),
		asm.Mov.Imm(asm.R3, int32(n)),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	})
}

// empty is the yardstick for the cost of every run: entry, prelude, clock.
func (in *instrument) empty() *ebpf.Program {
	return in.load("empty", asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()})
}

// lookup is the yardstick for a hash lookup: it takes the addresses and ports at offset off of the packet, n bytes together, adds the
// protocol as in the keys of m, and looks that up. Apart from rest it does nothing else.
func (in *instrument) lookup(m *ebpf.Map, off, n int16, rest ...asm.Instruction) *ebpf.Program {
	const dataOffset, dataEndOffset = 76, 80 // of struct __sk_buff
	instructions := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R1, dataOffset, asm.Word),
		asm.LoadMem(asm.R3, asm.R1, dataEndOffset, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(off+n)),
		asm.JGT.Reg(asm.R4, asm.R3, "out"),
		asm.StoreImm(asm.RFP, -4, unix.IPPROTO_TCP, asm.Word),
	}
	for i := int16(0); i < n; i += 4 {
		instructions = append(instructions,
			asm.LoadMem(asm.R0, asm.R2, off+i, asm.Word),
			asm.StoreMem(asm.RFP, i-n-4, asm.R0, asm.Word))
	}
	instructions = append(instructions,
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, int32(-n-4)),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
	)
	return in.load("lookup", append(append(instructions, rest...),
		asm.Mov.Imm(asm.R0, 1),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	))
}

// room calls bpf_skb_adjust_room as grow and shrink of bpf/oncache/tunnel.h do, for a packet in R6. Every hit needs it.
func room(bytes int, flags int64) []asm.Instruction {
	const fixed = unix.BPF_F_ADJ_ROOM_FIXED_GSO | unix.BPF_F_ADJ_ROOM_NO_CSUM_RESET
	return []asm.Instruction{
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, int32(bytes)),
		asm.Mov.Imm(asm.R3, unix.BPF_ADJ_ROOM_MAC),
		asm.LoadImm(asm.R4, fixed|flags, asm.DWord),
		asm.FnSkbAdjustRoom.Call(),
		asm.JNE.Imm(asm.R0, 0, "out"),
	}
}
