// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// TestRun runs a program on single packets (BPF_PROG_TEST_RUN). It is here for what ebpf.Program.Run does not do: it
// reports how long the program ran, and it does not allocate.
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
	// Context is what the program gets beside the packet, ContextOut what it leaves.
	Context, ContextOut SKB
	out                 []byte
}

// NewTestRun makes a TestRun for packets that the program leaves with at most room bytes; 0 if nobody wants to know. It is
// not inlined because the kernel is given addresses in it as numbers: it must not be on a stack, which can move.
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

// Run runs the program on one packet, which must be on the heap. The kernel breaks off when the Go runtime signals the
// thread.
func (r *TestRun) Run(packet []byte) error {
	r.attr.packet, r.attr.packetSize = address(unsafe.SliceData(packet)), uint32(len(packet))
	for {
		// The kernel has written there how long the packet before was, and would take it for the room that there is.
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

// Verdict is what the program returned.
func (r *TestRun) Verdict() int { return int(int32(r.attr.verdict)) }

// Duration is how long the program ran, in ns by the kernel's own clock.
func (r *TestRun) Duration() uint32 { return r.attr.duration }

// Packet is what the program left.
func (r *TestRun) Packet() []byte { return r.out[:r.attr.packetOutSize] }
