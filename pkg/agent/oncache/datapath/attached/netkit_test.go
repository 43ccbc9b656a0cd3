// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// netkitPod is a Pod with netkit devices: one in a namespace of its own, the other here.
type netkitPod struct {
	t       *testing.T
	netns   netns.NsHandle
	primary int // interface index on the host side
	peer    int // in the Pod
}

// newNetkitPod skips the test on kernels without netkit; one kernel of `make test-kernels` has it. The devices are up.
func newNetkitPod(t *testing.T, name string) *netkitPod {
	t.Helper()
	sandbox.RequireRoot(t)
	p := &netkitPod{t: t, netns: newNetNS(t)}
	require.NoError(t, harness.NoIPv6())
	attrs, peer := netlink.NewLinkAttrs(), netlink.NewLinkAttrs()
	attrs.Name = name
	peer.Name, peer.HardwareAddr, peer.Namespace = "eth0", harness.PodMAC, netlink.NsFd(p.netns)
	pair := &netlink.Netkit{LinkAttrs: attrs, Mode: netlink.NETKIT_MODE_L2, Scrub: netlink.NETKIT_SCRUB_DEFAULT, PeerScrub: netlink.NETKIT_SCRUB_DEFAULT}
	pair.SetPeerAttrs(&peer)
	if err := netlink.LinkAdd(pair); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this kernel has no netkit")
	} else {
		require.NoError(t, err)
	}
	t.Cleanup(func() { _ = netlink.LinkDel(pair) })
	primary, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(primary))
	handle, err := netlink.NewHandleAt(p.netns)
	require.NoError(t, err)
	defer handle.Close()
	eth0, err := handle.LinkByName("eth0")
	require.NoError(t, err)
	require.NoError(t, handle.LinkSetUp(eth0))
	p.primary, p.peer = primary.Attrs().Index, eth0.Attrs().Index
	require.NoError(t, waitUp(p.primary))
	require.NoError(t, p.inside(func() error { return waitUp(p.peer) }))
	return p
}

// inside runs f in the Pod's namespace.
func (p *netkitPod) inside(f func() error) error { return inside(p.netns, f) }

// transmit sends a frame out of the Pod as a packet socket of the given protocol does, with a mark.
func (p *netkitPod) transmit(frame []byte, protocol uint16, mark int) {
	p.t.Helper()
	require.NoError(p.t, p.inside(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, mark); err != nil {
			return err
		}
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: p.peer, Protocol: object.WirePort(protocol), Halen: 6})
	}))
}

// newNetkitWorld is NewWorldWith with a Pod that has netkit devices and its programs attached.
func newNetkitWorld(t *testing.T) (*harness.World, *netkitPod) {
	p := newNetkitPod(t, "nk0")
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096})
	w.PodIf = p.primary
	require.NoError(t, w.SetEndpoint(harness.PodSlot, datapath.Endpoint{IfIndex: p.primary, IPv4: harness.PodIP, IPv6: harness.PodIP6, MAC: harness.PodMAC, GatewayMAC: harness.GatewayMAC}))
	require.NoError(t, w.Attach(p.primary, datapath.RoleNetkitPod))
	return w, p
}

// waitCounted waits until egress has counted a packet under reason.
func waitCounted(w *harness.World, reason string, before uint64) {
	w.T.Helper()
	require.Eventually(w.T, func() bool { return egressCount(w, reason) > before }, 30*time.Second, 5*time.Millisecond, "reason %s", reason)
}

func egressCount(w *harness.World, reason string) uint64 {
	w.T.Helper()
	counters, err := w.Counters()
	require.NoError(w.T, err)
	return counters["egress"][reason]
}

// TestNetkitEgress: a hit leaves by the uplink as part of the Pod's transmission, a miss arrives on the host side with its
// ticket, and without the Pod's own mark.
func TestNetkitEgress(t *testing.T) {
	w, p := newNetkitWorld(t)
	out := harness.FromPod()
	peerOf(t, "up0p")
	host := newReceiver(t, p.primary, false)
	wire := newReceiver(t, w.UplinkIf, true)

	before := egressCount(w, "no_entry")
	p.transmit(out.Bytes(t), unix.ETH_P_IP, 0x7ff00000)
	waitCounted(w, "no_entry", before)
	require.Equal(t, out.Bytes(t), host.next(isFrom(harness.PodMAC)), "a miss is not touched")

	w.Learn(out, harness.ToPod())
	p.transmit(out.Bytes(t), unix.ETH_P_IP, 0)
	got := wire.next(isTo(harness.PeerMAC))
	w.RequireEncapsulated(t, out, got)
}

// TestNetkitFrameThatLies: the kernel has not parsed a frame from the Pod's packet socket, so its protocol is the one that the Pod chose.
func TestNetkitFrameThatLies(t *testing.T) {
	w, p := newNetkitWorld(t)
	out := harness.FromPod()
	w.Learn(out, harness.ToPod())
	for name, tc := range map[string]struct {
		frame    func([]byte)
		protocol uint16
	}{
		"says IPv4, sends another EtherType": {func(b []byte) { b[12], b[13] = 0x88, 0xb5 }, unix.ETH_P_IP},
		"says IPv4, sends a VLAN tag":        {func(b []byte) { b[12], b[13] = 0x81, 0 }, unix.ETH_P_IP},
		"says another protocol, sends IPv4":  {func([]byte) {}, 0x88b5},
	} {
		t.Run(name, func(t *testing.T) {
			frame := out.Bytes(t)
			tc.frame(frame)
			hits, before := egressCount(w, "hit"), egressCount(w, "not_ip")
			p.transmit(frame, tc.protocol, 0)
			waitCounted(w, "not_ip", before)
			require.Equal(t, hits, egressCount(w, "hit"))
		})
	}
}

// TestNetkitForgedMark: a ticket that the Pod itself writes into its packets' marks never reaches the host.
func TestNetkitForgedMark(t *testing.T) {
	w, p := newNetkitWorld(t)
	w.SetMode(datapath.ModeOff) // Egress does not touch packets
	seen, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	require.NoError(t, err)
	defer seen.Close()
	require.NoError(t, seen.Put(uint32(0), uint32(0xffffffff)))
	l, err := link.AttachTCX(link.TCXOptions{Interface: p.primary, Program: markRecorder(t, seen), Attach: ebpf.AttachTCXIngress})
	require.NoError(t, err)
	defer l.Close()
	p.transmit(harness.FromPod().Bytes(t), unix.ETH_P_IP, -1)
	require.Eventually(t, func() bool {
		var mark uint32
		err := seen.Lookup(uint32(0), &mark)
		return err == nil && mark == 0
	}, 30*time.Second, 5*time.Millisecond, "the mark on the host side must be 0")
}

// TestNetkitIngress: a hit is delivered to the Pod's side of the pair.
func TestNetkitIngress(t *testing.T) {
	w, p := newNetkitWorld(t)
	in := harness.ToPod()
	w.Learn(harness.FromPod(), in)
	var pod *receiver
	require.NoError(t, p.inside(func() error { pod = newReceiver(t, p.peer, false); return nil }))
	// The other end of the uplink's pair is the wire.
	require.NoError(t, w.Attach(w.UplinkIf, datapath.RoleUplink))
	transmit(t, peerOf(t, "up0p"), harness.FromPeer().Wrap(t, in.Bytes(t)))
	got := pod.next(isTo(harness.PodMAC))
	require.Equal(t, in.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(t), got)
}

// TestNetkitAttachReplaceDetach: like TestAttachReplaceDetach; in addition, nothing can be removed from inside the Pod.
func TestNetkitAttachReplaceDetach(t *testing.T) {
	p := newNetkitPod(t, "nk0")
	pins := filepath.Join(sandbox.BPFFS, "netkit")
	d := load(t, pins, datapath.HookAuto)
	t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
	want := map[string]int{object.BpfProgOncacheEgress: 1, object.BpfProgOncacheIngressInit: 1}
	require.NoError(t, d.Attach(p.primary, datapath.RoleNetkitPod))
	require.Equal(t, want, attached(t, p.primary))

	looked := harness.Look(t, pins)
	t.Cleanup(func() { require.NoError(t, looked.Close()) })
	egress := looked.Programs.OncacheEgress
	err := p.inside(func() error {
		return link.RawDetachProgram(link.RawDetachProgramOptions{Target: p.peer, Program: egress, Attach: ebpf.AttachNetkitPeer})
	})
	require.ErrorIs(t, err, unix.EACCES)
	err = p.inside(func() error {
		l, err := link.AttachNetkit(link.NetkitOptions{Interface: p.peer, Program: egress, Attach: ebpf.AttachNetkitPeer})
		if err == nil {
			l.Close()
		}
		return err
	})
	require.ErrorIs(t, err, unix.EACCES)
	require.Equal(t, want, attached(t, p.primary))

	again := load(t, pins, datapath.HookAuto)
	before := pinnedLinkID(t, pins, p.primary)
	require.NoError(t, again.Attach(p.primary, datapath.RoleNetkitPod))
	require.Equal(t, want, attached(t, p.primary))
	require.Equal(t, before, pinnedLinkID(t, pins, p.primary), "the program is replaced without a gap")
	require.NoError(t, again.Detach(p.primary))
	require.Empty(t, attached(t, p.primary))

	// The index belonged to a device of the other kind before.
	require.NoError(t, again.Attach(p.primary, datapath.RoleNetkitPod))
	device, err := netlink.LinkByIndex(p.primary)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkDel(device))
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "nk0", Index: p.primary}, PeerName: "nk0p"}
	require.NoError(t, netlink.LinkAdd(veth))
	t.Cleanup(func() { _ = netlink.LinkDel(veth) })
	require.NoError(t, again.Attach(p.primary, datapath.RolePod))
	require.Equal(t, want, attached(t, p.primary))
}

// pinnedLinkID identifies the link of Egress.
func pinnedLinkID(t *testing.T, pins string, ifindex int) link.ID {
	t.Helper()
	l, err := link.LoadPinnedLink(filepath.Join(pins, "links", fmt.Sprintf("%d-%s", ifindex, object.BpfProgOncacheEgress)), nil)
	require.NoError(t, err)
	defer l.Close()
	info, err := l.Info()
	require.NoError(t, err)
	return info.ID
}

// markRecorder writes the mark of each packet into a map and passes it on.
func markRecorder(t *testing.T, to *ebpf.Map) *ebpf.Program {
	t.Helper()
	const markOffset = 8 // in struct __sk_buff
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "recorder", Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, markOffset, asm.Word),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, to.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.StoreMem(asm.R0, 0, asm.R6, asm.Word),
		asm.Mov.Imm(asm.R0, harness.Next).WithSymbol("pass"),
		asm.Return(),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { program.Close() })
	return program
}
