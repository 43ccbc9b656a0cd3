// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// foreign returns a foreign program that passes everything on.
func foreign(t *testing.T) *ebpf.Program {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "foreign", Type: ebpf.SchedCLS, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()}})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

const drop = 2 // TC_ACT_SHOT

// foreignVerdict returns a foreign program that gives every packet the same verdict.
func foreignVerdict(t *testing.T, verdict int32) *ebpf.Program {
	t.Helper()
	return foreignProgram(t, asm.Mov.Imm(asm.R0, verdict))
}

// foreignRedirect returns a foreign program that redirects every packet to a device.
func foreignRedirect(t *testing.T, ifindex int) *ebpf.Program {
	t.Helper()
	return foreignProgram(t, asm.Mov.Imm(asm.R1, int32(ifindex)), asm.Mov.Imm(asm.R2, 0), asm.FnRedirect.Call())
}

func foreignProgram(t *testing.T, instructions ...asm.Instruction) *ebpf.Program {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "foreign", Type: ebpf.SchedCLS, License: "GPL",
		Instructions: append(instructions, asm.Return())})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// attachTCX attaches a foreign program at the end of a hook.
func attachTCX(t *testing.T, ifindex int, p *ebpf.Program, attach ebpf.AttachType) link.Link {
	t.Helper()
	l, err := link.AttachTCX(link.TCXOptions{Interface: ifindex, Program: p, Attach: attach})
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// addFilter attaches a foreign program as a clsact filter.
func addFilter(t *testing.T, ifindex int, p *ebpf.Program, attach ebpf.AttachType, priority uint16) netlink.Filter {
	t.Helper()
	device, err := netlink.LinkByIndex(ifindex)
	require.NoError(t, err)
	addClsact(t, device)
	f := &netlink.BpfFilter{Fd: p.FD(), Name: "foreign", DirectAction: true, FilterAttrs: netlink.FilterAttrs{
		LinkIndex: ifindex, Parent: parentOf(attach), Handle: 1, Protocol: unix.ETH_P_ALL, Priority: priority}}
	require.NoError(t, netlink.FilterAdd(f))
	return f
}

// addClsact adds a clsact qdisc to a device that may have one.
func addClsact(t *testing.T, device netlink.Link) {
	t.Helper()
	err := netlink.QdiscAdd(&netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: device.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}})
	if !errors.Is(err, unix.EEXIST) {
		require.NoError(t, err)
	}
}

// parentOf returns the parent of the clsact filters that see the packets of a TCX hook.
func parentOf(attach ebpf.AttachType) uint32 {
	if attach == ebpf.AttachTCXIngress {
		return netlink.HANDLE_MIN_INGRESS
	}
	return netlink.HANDLE_MIN_EGRESS
}

func mirrorTo(at ebpf.AttachType) func(*testing.T, int) {
	return func(t *testing.T, ifindex int) {
		dev, err := netlink.LinkByIndex(ifindex)
		require.NoError(t, err)
		addClsact(t, dev)
		const loopback = 1
		mirror := netlink.NewMirredAction(loopback)
		mirror.MirredAction = netlink.TCA_EGRESS_MIRROR
		err = netlink.FilterAdd(&netlink.MatchAll{Actions: []netlink.Action{mirror}, FilterAttrs: netlink.FilterAttrs{
			LinkIndex: ifindex, Parent: parentOf(at), Priority: 5, Protocol: unix.ETH_P_ALL}})
		if errors.Is(err, unix.ENOENT) {
			t.Skip("this kernel has no cls_matchall or act_mirred")
		}
		require.NoError(t, err)
	}
}

func addShaper(t *testing.T, ifindex int) {
	addQdisc(t, &netlink.Tbf{Rate: 1e6, Limit: 1e5, Buffer: 1e5,
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: ifindex, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}})
}

func addQdisc(t *testing.T, q netlink.Qdisc) {
	t.Helper()
	require.NoError(t, netlink.QdiscAdd(q))
}
