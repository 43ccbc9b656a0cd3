// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// TestRun runs a program on single packets (BPF_PROG_TEST_RUN). Unlike ebpf.Program.Run it reports how long the program ran, and does
// not allocate.
type TestRun struct {
	// The part of union bpf_attr (include/uapi/linux/bpf.h) that the kernel reads and writes.
	attr struct {
		program, verdict                uint32
		packetSize, packetOutSize       uint32
		packet, packetOut               uint64
		repeat, duration                uint32 // duration: of one run, in ns
		contextSize, contextOutSize     uint32
		context, contextOut             uint64
		flags, cpu, batchSize, reserved uint32
	}
	// Context is the program's context before the run, ContextOut after it.
	Context, ContextOut SKB
	out                 []byte
}

// NewTestRun makes a TestRun for packets that have at most room bytes after the program; with 0 they are not returned. It must
// not be inlined: the kernel gets addresses within the TestRun as numbers, so it must not be on a stack, which can move.
//
//go:noinline
func NewTestRun(program *ebpf.Program, room int) *TestRun {
	r := &TestRun{out: make([]byte, room)}
	r.attr.program, r.attr.repeat = uint32(program.FD()), 1
	r.attr.context, r.attr.contextSize = address(&r.Context), uint32(unsafe.Sizeof(r.Context))
	if room > 0 {
		r.attr.contextOut = address(&r.ContextOut)
	}
	return r
}

func address[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// Run runs the program on one packet, which must be on the heap. It tries again when a signal of the Go runtime interrupts the
// kernel.
func (r *TestRun) Run(packet []byte) error {
	r.attr.packet, r.attr.packetSize = address(unsafe.SliceData(packet)), uint32(len(packet))
	for {
		// The kernel has written the previous packet's length there, and would take it for the size of the buffer.
		r.attr.packetOutSize, r.attr.contextOutSize = 0, 0
		if len(r.out) > 0 {
			r.attr.packetOut, r.attr.packetOutSize = address(unsafe.SliceData(r.out)), uint32(len(r.out))
			r.attr.contextOutSize = uint32(unsafe.Sizeof(r.ContextOut))
		}
		_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&r.attr)), unsafe.Sizeof(r.attr))
		runtime.KeepAlive(packet)
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
			continue
		}
		return errno
	}
}

// Verdict returns the program's return value.
func (r *TestRun) Verdict() int { return int(int32(r.attr.verdict)) }

// Duration returns how long the program ran, in ns by the kernel's own clock.
func (r *TestRun) Duration() uint32 { return r.attr.duration }

// Packet returns the packet after the program.
func (r *TestRun) Packet() []byte { return r.out[:r.attr.packetOutSize] }

// Repeat sets how often Run runs the program on the packet. Prototype.
func (r *TestRun) Repeat(n uint32) { r.attr.repeat = n }
