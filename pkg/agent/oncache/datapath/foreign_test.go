// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/sandbox"
)

const drop = 2 // TC_ACT_SHOT

// foreignVerdict is a program of somebody else that gives every packet the same verdict.
func foreignVerdict(t *testing.T, verdict int32) *ebpf.Program {
	t.Helper()
	return foreignProgram(t, asm.Mov.Imm(asm.R0, verdict))
}

// foreignRedirect is a program of somebody else that sends every packet out of a device.
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

// attachTCX attaches somebody else's program at the end of a hook.
func attachTCX(t *testing.T, ifindex int, p *ebpf.Program, attach ebpf.AttachType) link.Link {
	t.Helper()
	l, err := link.AttachTCX(link.TCXOptions{Interface: ifindex, Program: p, Attach: attach})
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// addFilter attaches somebody else's program as a clsact filter.
func addFilter(t *testing.T, ifindex int, p *ebpf.Program, attach ebpf.AttachType, priority uint16) netlink.Filter {
	t.Helper()
	device, err := netlink.LinkByIndex(ifindex)
	require.NoError(t, err)
	require.NoError(t, ensureClsact(device))
	f := &netlink.BpfFilter{Fd: p.FD(), Name: "foreign", DirectAction: true, FilterAttrs: netlink.FilterAttrs{
		LinkIndex: ifindex, Parent: clsactParent(attach), Handle: 1, Protocol: unix.ETH_P_ALL, Priority: priority}}
	require.NoError(t, netlink.FilterAdd(f))
	return f
}

// hooks runs a test with both kinds of hook.
func hooks(t *testing.T, test func(t *testing.T, hook Hook)) {
	t.Helper()
	for _, hook := range []Hook{HookTCX, HookClsact} {
		t.Run(string(hook), func(t *testing.T) {
			if hook == HookTCX {
				requireTCX(t)
			}
			test(t, hook)
		})
	}
}

// TestForeignProgramFirst: what somebody else's program in front of ours drops or takes elsewhere stays dropped or taken.
func TestForeignProgramFirst(t *testing.T) {
	hooks(t, func(t *testing.T, hook Hook) {
		w := newWorldWith(t, family{}, Options{MaxFlows: 4096, Hook: hook})
		out := fromPod()
		w.learn(out, toPod())
		elsewhere := device(t, "else0", peerGWMAC)
		peerOf(t, "else0p")
		peerOf(t, "up0p")
		require.NoError(t, w.Attach(w.podIf, RolePod))
		pod := peerOf(t, "pod0p")
		place := func(p *ebpf.Program) (remove func()) {
			if hook == HookTCX {
				l := attachTCX(t, w.podIf, p, ebpf.AttachTCXIngress)
				// Ours were attached later.
				require.NoError(t, w.Attach(w.podIf, RolePod))
				return func() { require.NoError(t, l.Close()) }
			}
			f := addFilter(t, w.podIf, p, ebpf.AttachTCXIngress, 1)
			return func() { require.NoError(t, netlink.FilterDel(f)) }
		}
		wire := newReceiver(t, w.upIf, true)
		other := newReceiver(t, elsewhere, true)
		hits := func() uint64 { return w.egressCount("hit") }

		require.Zero(t, hits()) // packets of the test's own, which learn has sent, were no hits
		transmit(t, pod, out.bytes(t))
		wire.next(isTo(peerMAC))
		require.EqualValues(t, 1, hits(), "without the other program")

		remove := place(foreignRedirect(t, elsewhere))
		transmit(t, pod, out.bytes(t))
		other.next(isFrom(podMAC))
		require.EqualValues(t, 1, hits(), "taken elsewhere")
		remove()

		remove = place(foreignVerdict(t, drop))
		transmit(t, pod, out.bytes(t))
		remove()
		transmit(t, pod, out.bytes(t))
		wire.next(isTo(peerMAC))
		require.EqualValues(t, 2, hits(), "the packet that was dropped is not among them")
	})
}

// TestForeignThingsStay: whatever we do, programs and qdiscs of others are left alone.
func TestForeignThingsStay(t *testing.T) {
	hooks(t, func(t *testing.T, hook Hook) {
		pins := filepath.Join(sandbox.BPFFS, "stay-"+string(hook))
		pod := device(t, "pod0", podMAC)
		for _, at := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
			addFilter(t, pod, foreign(t), at, 1)
			addFilter(t, pod, foreign(t), at, 0x7000)
			if hook == HookTCX {
				attachTCX(t, pod, foreign(t), at)
			}
		}
		before := attached(t, pod)
		d := load(t, pins, hook)
		require.NoError(t, d.Attach(pod, RolePod))
		require.NoError(t, d.Attach(pod, RolePod), "twice")
		require.NoError(t, d.Detach(pod))
		require.NoError(t, d.Attach(pod, RolePod))
		require.NoError(t, RemoveAll(pins))
		require.Equal(t, before, attached(t, pod))
		dev, err := netlink.LinkByIndex(pod)
		require.NoError(t, err)
		qdiscs, err := netlink.QdiscList(dev)
		require.NoError(t, err)
		clsact := 0
		for _, q := range qdiscs {
			if q.Type() == "clsact" {
				clsact++
			}
		}
		require.Equal(t, 1, clsact)
	})
}

// TestBypassed: everything of others that accelerated packets do not meet is named, and nothing else.
func TestBypassed(t *testing.T) {
	type place struct {
		name string
		// on puts something on an interface.
		on func(t *testing.T, ifindex int)
		// want is what Bypassed names, by hook and role; absent: nothing.
		tcxPod, tcxUplink, clsactPod, clsactUplink string
		// tcx needs TCX on the kernel.
		tcx bool
	}
	filter := func(at ebpf.AttachType, priority uint16) func(*testing.T, int) {
		return func(t *testing.T, ifindex int) { addFilter(t, ifindex, foreign(t), at, priority) }
	}
	for _, tc := range []place{
		{name: "nothing", on: func(*testing.T, int) {}},
		{name: "early ingress filter", on: filter(ebpf.AttachTCXIngress, 1), tcxPod: "TC filter bpf, priority 1 on ingress", tcxUplink: "TC filter bpf, priority 1 on ingress"},
		{name: "late ingress filter", on: filter(ebpf.AttachTCXIngress, 0x7000),
			tcxPod: "priority 28672 on ingress", tcxUplink: "priority 28672 on ingress", clsactPod: "priority 28672 on ingress", clsactUplink: "priority 28672 on ingress"},
		{name: "egress filter", on: filter(ebpf.AttachTCXEgress, 1), tcxPod: "TC filter bpf, priority 1 on egress", clsactPod: "TC filter bpf, priority 1 on egress"},
		{name: "mirred filter", on: mirrorTo(ebpf.AttachTCXEgress), tcxPod: "TC filter matchall, priority 5 on egress", clsactPod: "TC filter matchall, priority 5 on egress"},
		{name: "shaper", on: addShaper, tcxPod: "qdisc tbf", clsactPod: "qdisc tbf"},
		{name: "ordinary qdisc", on: func(t *testing.T, ifindex int) {
			addQdisc(t, &netlink.GenericQdisc{QdiscType: "pfifo", QdiscAttrs: netlink.QdiscAttrs{LinkIndex: ifindex, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}})
		}},
		{name: "TCX program on egress", tcx: true, on: func(t *testing.T, ifindex int) { attachTCX(t, ifindex, foreign(t), ebpf.AttachTCXEgress) }, tcxPod: "TCX program foreign"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hooks(t, func(t *testing.T, hook Hook) {
				if tc.tcx && hook != HookTCX {
					t.Skip("a kernel on which clsact is used has no TCX")
				}
				pins := filepath.Join(sandbox.BPFFS, "passed")
				d := load(t, pins, hook)
				t.Cleanup(func() { require.NoError(t, RemoveAll(pins)) })
				pod, up := device(t, "pod0", podMAC), device(t, "up0", uplinkMAC)
				require.NoError(t, d.Attach(pod, RolePod))
				require.NoError(t, d.Attach(up, RoleUplink))
				tc.on(t, pod)
				tc.on(t, up)
				onPod, onUplink := tc.tcxPod, tc.tcxUplink
				if hook == HookClsact {
					onPod, onUplink = tc.clsactPod, tc.clsactUplink
				}
				requireBypassed(t, d, pod, RolePod, onPod)
				requireBypassed(t, d, up, RoleUplink, onUplink)
			})
		})
	}
}

// TestBypassedOnNetkit: Egress runs before the host side sees a packet at all.
func TestBypassedOnNetkit(t *testing.T) {
	p := newNetkitPod(t, "nk0")
	pins := filepath.Join(sandbox.BPFFS, "passed")
	d := load(t, pins, HookAuto)
	t.Cleanup(func() { require.NoError(t, RemoveAll(pins)) })
	require.NoError(t, d.Attach(p.primary, RoleNetkitPod))
	requireBypassed(t, d, p.primary, RoleNetkitPod, "")
	l := attachTCX(t, p.primary, foreign(t), ebpf.AttachTCXIngress)
	requireBypassed(t, d, p.primary, RoleNetkitPod, "TCX program foreign")
	require.NoError(t, l.Close())
	f := addFilter(t, p.primary, foreign(t), ebpf.AttachTCXIngress, 1)
	requireBypassed(t, d, p.primary, RoleNetkitPod, "TC filter bpf, priority 1 on ingress")
	require.NoError(t, netlink.FilterDel(f))

	other, err := link.AttachNetkit(link.NetkitOptions{Interface: p.primary, Program: foreign(t), Attach: ebpf.AttachNetkitPeer})
	require.NoError(t, err)
	defer other.Close()
	requireTakesTheLastPlace(t, d, p.primary, RoleNetkitPod, ebpf.AttachNetkitPeer)
}

// TestLastPlace: a program that somebody attaches behind ours sees hits again after the next look.
func TestLastPlace(t *testing.T) {
	pins := filepath.Join(sandbox.BPFFS, "last")
	d := load(t, pins, HookTCX)
	t.Cleanup(func() { require.NoError(t, RemoveAll(pins)) })
	for name, role := range map[string]Role{"pod0": RolePod, "up0": RoleUplink} {
		index := device(t, name, podMAC)
		ok, err := d.InPlace(index, role)
		require.NoError(t, err)
		require.False(t, ok, "nothing is attached")
		require.NoError(t, d.Attach(index, role))
		ok, err = d.InPlace(index, role)
		require.NoError(t, err)
		require.True(t, ok)
		attachTCX(t, index, foreign(t), ebpf.AttachTCXIngress)
		attachTCX(t, index, foreign(t), ebpf.AttachTCXEgress)
		requireTakesTheLastPlace(t, d, index, role, ebpf.AttachTCXIngress)
	}
}

func requireTakesTheLastPlace(t *testing.T, d *Datapath, ifindex int, role Role, attach ebpf.AttachType) {
	t.Helper()
	ok, err := d.InPlace(ifindex, role)
	require.NoError(t, err)
	require.False(t, ok, "somebody is behind us")
	require.NoError(t, d.Attach(ifindex, role))
	ok, err = d.InPlace(ifindex, role)
	require.NoError(t, err)
	require.True(t, ok)
	last, err := lastAt(ifindex, attach)
	require.NoError(t, err)
	require.Contains(t, programName(last), clsactPrefix)
	require.Equal(t, 1, attached(t, ifindex)[d.programs(role)[0].name], "once")
}

func requireBypassed(t *testing.T, d *Datapath, ifindex int, role Role, want string) {
	t.Helper()
	found, err := d.Bypassed(ifindex, role)
	require.NoError(t, err)
	if want == "" {
		require.Empty(t, found)
		return
	}
	require.Len(t, found, 1)
	require.Contains(t, found[0], want)
}

func mirrorTo(at ebpf.AttachType) func(*testing.T, int) {
	return func(t *testing.T, ifindex int) {
		dev, err := netlink.LinkByIndex(ifindex)
		require.NoError(t, err)
		require.NoError(t, ensureClsact(dev))
		const loopback = 1
		mirror := netlink.NewMirredAction(loopback)
		mirror.MirredAction = netlink.TCA_EGRESS_MIRROR
		err = netlink.FilterAdd(&netlink.MatchAll{Actions: []netlink.Action{mirror}, FilterAttrs: netlink.FilterAttrs{
			LinkIndex: ifindex, Parent: clsactParent(at), Priority: 5, Protocol: unix.ETH_P_ALL}})
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

// peerOf sets the other end of a pair up, from which the test sends as the Pod or the network does, and returns its index.
func peerOf(t *testing.T, name string) int {
	t.Helper()
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(l))
	require.NoError(t, waitUp(l.Attrs().Index))
	require.NoError(t, waitUp(l.Attrs().ParentIndex))
	return l.Attrs().Index
}

// waitUp waits until a device of this thread's namespace sends: the kernel drops everything until it has worked off that the
// carrier is there.
func waitUp(ifindex int) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l, err := netlink.LinkByIndex(ifindex)
		if err != nil || l.Attrs().OperState == netlink.OperUp {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("interface index %d is %s, want up", ifindex, l.Attrs().OperState)
		}
	}
}

// transmit sends an IPv4 frame out of a device.
func transmit(t *testing.T, ifindex int, frame []byte) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: ifindex, Protocol: port(unix.ETH_P_IP), Halen: 6}))
}

func isTo(mac net.HardwareAddr) func([]byte) bool {
	return func(frame []byte) bool { return net.HardwareAddr(frame[0:6]).String() == mac.String() }
}

func isFrom(mac net.HardwareAddr) func([]byte) bool {
	return func(frame []byte) bool { return net.HardwareAddr(frame[6:12]).String() == mac.String() }
}
