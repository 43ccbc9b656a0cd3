// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
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
	"github.com/antrea-oncache/antrea/test/env/nodepair"
)

// stackInPod moves the other end of the Pod's pair into a namespace of its own, where it gets the Pod's address.
func stackInPod(t *testing.T, p *harness.Pod) netns.NsHandle {
	t.Helper()
	ns := newNetNS(t)
	own, err := netlink.LinkByIndex(p.PodIf)
	require.NoError(t, err)
	l, err := netlink.LinkByIndex(own.Attrs().ParentIndex)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetNsFd(l, int(ns)))
	require.NoError(t, inside(ns, func() error {
		l, err := netlink.LinkByName(l.Attrs().Name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetHardwareAddr(l, p.MAC); err != nil {
			return err
		}
		address := &netlink.Addr{IPNet: &net.IPNet{IP: p.IPv4.AsSlice(), Mask: net.CIDRMask(24, 32)}}
		if err := netlink.AddrAdd(l, address); err != nil {
			return err
		}
		return netlink.LinkSetUp(l)
	}))
	require.NoError(t, waitUp(p.PodIf))
	return ns
}

// markAll does in front of the Pod's Ingress-Init what Open vSwitch does to packets from the other Pod: both epochs, and no stamp.
func markAll(t *testing.T, ifindex int, sender, receiver int32) {
	t.Helper()
	const mark, priority = 8, 32 // in struct __sk_buff
	var keep int32 = ^harness.EpochBits
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, mark, asm.Word),
		asm.And.Imm32(asm.R2, keep),
		asm.Or.Imm32(asm.R2, sender<<20),
		asm.StoreMem(asm.R1, mark, asm.R2, asm.Word),
		asm.Mov.Imm32(asm.R2, harness.QueuePriority+receiver),
		asm.StoreMem(asm.R1, priority, asm.R2, asm.Word),
		asm.Mov.Imm(asm.R0, harness.Next),
		asm.Return(),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { program.Close() })
	l, err := link.AttachTCX(link.TCXOptions{Interface: ifindex, Program: program, Attach: ebpf.AttachTCXEgress, Anchor: link.Head()})
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
}

// takeAll declares, behind Egress, what arrives at the device to be for this host.
func takeAll(t *testing.T, ifindex int) {
	t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R2, unix.PACKET_HOST),
		asm.FnSkbChangeType.Call(),
		asm.Mov.Imm(asm.R0, harness.Next),
		asm.Return(),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { program.Close() })
	l, err := link.AttachTCX(link.TCXOptions{Interface: ifindex, Program: program, Attach: ebpf.AttachTCXIngress, Anchor: link.Tail()})
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
}

// shortLease, in jiffies, ends many times in one run.
const shortLease = 16

// TestLocalTCP: a connection between two Pods moves from the switch, here a bridge of the kernel, to the fast path and back at its end,
// and loses nothing.
func TestLocalTCP(t *testing.T) {
	requireTCX(t)
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Hook: datapath.HookTCX})
	require.NoError(t, w.Attend(time.Hour))
	own, peer := w.LocalPeer()
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br"}}
	require.NoError(t, netlink.LinkAdd(bridge))
	t.Cleanup(func() { require.NoError(t, netlink.LinkDel(bridge)) })
	require.NoError(t, netlink.LinkSetUp(bridge))
	for i, p := range []*harness.Pod{own, peer} {
		l, err := netlink.LinkByIndex(p.PodIf)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetHardwareAddr(l, net.HardwareAddr{2, 0, 0, 0, 9, byte(i)}), "not the Pod's")
		require.NoError(t, netlink.LinkSetMaster(l, bridge))
		require.NoError(t, w.Attach(p.PodIf, datapath.RolePod))
	}
	client, server := stackInPod(t, own), stackInPod(t, peer)
	markAll(t, peer.PodIf, harness.Epoch, harness.LocalEpoch)
	markAll(t, own.PodIf, harness.LocalEpoch, harness.Epoch)

	transfer(t, w, client, server, netip.AddrPortFrom(peer.IPv4, 5001), netip.AddrPortFrom(peer.IPv4, 5001))
}

// transfer sends from the client to the address dialed, which leads to the server, and fails if the fast path did not carry most of it:
// first with leases that end all the time, then with one that does not end, so that only hits can carry the data.
func transfer(t *testing.T, w *harness.World, client, server netns.NsHandle, dialed, at netip.AddrPort) {
	t.Helper()
	const bytes = 256 << 20
	listener := listenIn(t, server, at)
	for _, lease := range []uint64{shortLease, 1 << 32} {
		w.Control().Lease = lease
		before := nonZeros(t, w)
		received := make(chan error, 1)
		go func() { received <- receive(listener, bytes) }()
		began := time.Now()
		require.NoError(t, inside(client, func() error { return send(dialed, bytes) }))
		require.NoError(t, <-received)
		reasons := nonZeros(t, w)
		t.Logf("%d MB in %v; packets of Egress and of Ingress-Init so far: %v", bytes>>20, time.Since(began), reasons)
		require.Greater(t, reasons["egress hit_local"], before["egress hit_local"]+1000)
		// Renewals alone prove nothing: a packet that was in the switch when both directions were learned also renews.
		require.Equal(t, lease == shortLease, reasons["egress lease"] > before["egress lease"], "packets whose lease has ended")
		if lease == shortLease {
			require.Greater(t, reasons["ingress_init renewed"], before["ingress_init renewed"])
		}
		require.Empty(t, w.Entries(), "the end of the connection deletes both entries")
	}
}

// TestLocalTCPThroughService is TestLocalTCP for a connection to a Service. In place of Open vSwitch, the kernel's NAT translates and its
// router routes.
func TestLocalTCPThroughService(t *testing.T) {
	requireTCX(t)
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Hook: datapath.HookTCX})
	require.NoError(t, w.Attend(time.Hour))
	own, peer := w.LocalPeer()
	own.AnnounceService()
	for _, p := range []*harness.Pod{own, peer} {
		l, err := netlink.LinkByIndex(p.PodIf)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetHardwareAddr(l, harness.GatewayMAC))
		require.NoError(t, w.Attach(p.PodIf, datapath.RolePod))
	}
	client, server := stackInPod(t, own), stackInPod(t, peer)
	// The server sends its answers to the client's MAC address, and the router takes them nevertheless.
	takeAll(t, peer.PodIf)
	require.NoError(t, inside(server, func() error {
		l, err := netlink.LinkByName("pod1p")
		if err != nil {
			return err
		}
		return netlink.NeighSet(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: own.IPv4.AsSlice(), HardwareAddr: own.MAC, State: netlink.NUD_PERMANENT})
	}))
	const endpointPort = 5002
	shell(t, strings.NewReplacer("CLIENT", own.IPv4.String(), "SERVER", peer.IPv4.String(), "SERVICE", harness.ServiceIP.String(), "FIREWALL", nodepair.Firewall(false)).Replace(`
		ip link set lo up
		ip address add 10.10.1.1/32 dev pod0
		ip route add CLIENT dev pod0
		ip route add SERVER dev pod1
		for d in all default pod0 pod1; do echo 0 >/proc/sys/net/ipv4/conf/$d/rp_filter; done
		echo 1 >/proc/sys/net/ipv4/ip_forward
		echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects
		FIREWALL -w -t nat -A PREROUTING -i pod0 -d SERVICE -p tcp -j DNAT --to-destination SERVER:5002
		echo 1 >/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal`))
	require.NoError(t, inside(client, func() error {
		_, any, _ := net.ParseCIDR("0.0.0.0/0")
		return netlink.RouteAdd(&netlink.Route{Dst: any, Gw: net.IPv4(10, 10, 1, 1)})
	}))
	markAll(t, peer.PodIf, harness.Epoch, harness.LocalEpoch)
	markAll(t, own.PodIf, harness.LocalEpoch, harness.Epoch)
	transfer(t, w, client, server, own.Service(), netip.AddrPortFrom(peer.IPv4, endpointPort))
}

func shell(t *testing.T, script string) {
	t.Helper()
	out, err := exec.Command("sh", "-ec", script).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// nonZeros are counters of packets by program and reason.
func nonZeros(t *testing.T, w *harness.World) map[string]uint64 {
	t.Helper()
	all, err := w.Counters()
	require.NoError(t, err)
	out := map[string]uint64{}
	for program, reasons := range all {
		for reason, n := range reasons {
			if n > 0 {
				out[program+" "+reason] = n
			}
		}
	}
	return out
}

func listenIn(t *testing.T, ns netns.NsHandle, at netip.AddrPort) (l net.Listener) {
	t.Helper()
	require.NoError(t, inside(ns, func() (err error) {
		l, err = net.Listen("tcp", at.String())
		return err
	}))
	t.Cleanup(func() { l.Close() })
	return l
}

// receive accepts a connection and reads that many bytes and its end.
func receive(l net.Listener, bytes int64) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, conn)
	if err != nil || n != bytes {
		return fmt.Errorf("received %d bytes of %d: %w", n, bytes, err)
	}
	return nil
}

func send(to netip.AddrPort, bytes int) error {
	conn, err := net.DialTimeout("tcp", to.String(), time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	for block := make([]byte, 1<<16); bytes > 0; bytes -= len(block) {
		if _, err := conn.Write(block); err != nil {
			return fmt.Errorf("%d bytes are left: %w", bytes, err)
		}
	}
	return nil
}
